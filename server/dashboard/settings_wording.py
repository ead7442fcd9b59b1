"""What each setting of a namespace means, and what happens when it is changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memory.tenancy.entities import PolicyName

Field = Literal["share", "count", "dollars", "flag", "taxonomy", "rerank", "models"]


@dataclass(frozen=True, slots=True)
class SettingText:
    """One setting in plain words."""

    name: str
    title: str
    kind: Field
    meaning: str
    change: str
    """What changes, from the next retrieval or job on, if the value does."""
    otherwise: str = ""
    """What holds where it is left empty; empty where it has a value always."""


POLICY_TEXTS: Mapping[PolicyName, str] = {
    "belief": "A memory gains or loses by what it added beyond what the rest of its set explains, "
    "in larger steps while little is known of it. It learns from single runs too.",
    "paper": "Every served memory gains or loses the whole difference between the two runs of a "
    "pair, as in the paper Live-Evo. One pair can take a weight to its limit.",
    "paper-strict": "As paper, and this server adds nothing of its own when it selects memories, "
    "tries them or retires them.",
    "steps": "Every served memory gains 0.3 where the run with memory did better, and loses 0.2 "
    "where it did worse.",
    "delta": "As belief, but each outcome counts as much as any other: easy to check by hand.",
}
"""How each policy makes weights of outcomes."""


SETTINGS = (
    SettingText(
        "raw_gate",
        "Raw gate",
        "share",
        "The least similarity (cosine) at which a memory is considered at all.",
        "Raised, fewer memories are served, and only nearer ones; lowered, more and looser ones. "
        "0 switches the gate off.",
        "measured for the embedding model",
    ),
    SettingText(
        "score_floor",
        "Score floor",
        "share",
        "The least weight times relevance at which a memory is served.",
        "Raised, memories that fell are served less and retrievals come back empty more often; 0 "
        "serves them whatever they weigh.",
        "measured for the embedding model",
    ),
    SettingText(
        "control_rate",
        "Control rate",
        "share",
        "The share of retrievals that get no memory at random, so that lift can be measured.",
        "Raised, lift is known sooner, and more tasks go without advice; at 0 nothing is measured "
        "at random, and lift comes from pairs alone.",
        "higher while a cell is young, lower afterwards",
    ),
    SettingText(
        "slot_rate",
        "Exploration rate",
        "share",
        "The chance that the last place of a guideline goes to a memory with few outcomes.",
        "Raised, new memories are tried sooner, at the cost of a proven one; at 0 they come in by "
        "their own relevance alone.",
    ),
    SettingText(
        "coins",
        "Coins",
        "flag",
        "Whether a memory may be left out now and then, so that it is seen what it adds.",
        "Off, every memory that earned its place is served always, and what each one adds is told "
        "apart more slowly.",
    ),
    SettingText(
        "categories",
        "New categories",
        "taxonomy",
        "Whether a category that nobody named before is made at first use, or refused.",
        "Closed, a task or memory with an unknown category is refused with an error; what is there "
        "stays.",
    ),
    SettingText(
        "max_memories",
        "Quota of memories",
        "count",
        "How many living memories the namespace may hold.",
        "Lowered below what is there, nothing is deleted, but no new memory is taken in.",
    ),
    SettingText(
        "daily_credits",
        "Daily credits",
        "count",
        "How many outcomes of one agent's key count for one memory in a day.",
        "Lowered, one busy or careless reporter moves a memory less; raised, weights follow a "
        "single key faster.",
    ),
    SettingText(
        "verification_trials",
        "Trials of a candidate",
        "count",
        "How often a candidate is tried before it is decided on (1 to 16).",
        "Raised, fewer candidates are let in by luck, and each takes longer.",
    ),
    SettingText(
        "verification_days",
        "Days for verification",
        "count",
        "After so many days without a decision a candidate goes on probation (1 to 365).",
        "Lowered, candidates that nobody tries are served sooner, at half weight.",
    ),
    SettingText(
        "meta_guidelines",
        "Meta-guidelines",
        "flag",
        "Whether guidelines are compiled under meta-guidelines, and the job reflect makes them.",
        "Off, advice is compiled as it stands, and no language model is asked to reflect.",
    ),
    SettingText(
        "active_queries",
        "Queries by a language model",
        "flag",
        "Whether a language model may write queries to search for beside the task's own text.",
        "Off, retrievals search for the text alone and spend no tokens on it.",
    ),
    SettingText(
        "identifiers",
        "Identifiers",
        "flag",
        "Whether a memory is also found by an identifier that the task names, such as an error "
        "code or a path.",
        "Off, memories are found by likeness of meaning alone.",
    ),
    SettingText(
        "llm_daily_tokens",
        "Daily token limit",
        "count",
        "How many tokens of the language model the namespace may take in a UTC day, at most as "
        "many as the server allows each. 0: the model is never asked.",
        "Lowered, questions beyond it are not asked until 00:00 UTC: guidelines are compiled "
        "without a model, and runs of jobs say what they went without.",
        otherwise="as many as the server allows each namespace",
    ),
    SettingText(
        "llm_daily_cost",
        "Daily cost limit",
        "dollars",
        "How many US dollars the language model may cost the namespace in a UTC day, by the price "
        "list of the server, at most as many as the server allows each.",
        "Lowered, questions beyond it are not asked until 00:00 UTC. Where the price of the model "
        "is not known, none is asked: nothing could hold the limit.",
        otherwise="as many as the server allows each namespace",
    ),
    SettingText(
        "llm_models",
        "Models by role",
        "models",
        "Which language model is asked for what, among those that the operator of this server has "
        "named.",
        "The next question in that role goes to the model that is chosen; the daily limits stay. "
        "Where the server has it no longer, nothing is asked in that role.",
        otherwise="as the server has it for each role",
    ),
    SettingText(
        "rerank",
        "Rerank",
        "rerank",
        "Whether near memories are ordered by relevance alone (none), or also by the words that "
        "they share with the task (fused), which needs no model.",
        "Fused, a memory that shares rare words with the task is found and moves up, and one that "
        "is only alike moves down; what may be served at all, the gates, stays.",
        otherwise="fused from 300 to 20,000 memories, else none",
    ),
    SettingText(
        "retention_days",
        "Days of retention",
        "count",
        "How many days receipts, outcomes, texts of runs and calls of the language model are kept "
        "(31 to 36,500).",
        "Lowered, the next daily run removes what is older, and it cannot be had again; what was "
        "learned of it stays.",
        otherwise="kept for ever",
    ),
)
