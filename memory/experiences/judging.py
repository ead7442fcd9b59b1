"""Whether memories that are alike say the same, by a language model: pairs that no rule keeps apart
→ two questions, the pair in either order → those of which both answers say so.

A twin that is kept costs a second memory, a fact that is lost is lost: where the two answers
differ, or one does not come, the pair stays two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.experiences.store import MergeMember, NearPair
from memory.kernel.engine import Engine
from memory.kernel.likeness import says_the_same, signature
from memory.llm import prompts
from memory.llm.client import ask_in_background
from memory.llm.entities import LlmSubject
from memory.llm.replies import Malformed, read_object
from memory.llm.roles import SMALL_ANSWER, LlmRole, prompt_of, said
from memory.tenancy.entities import Namespace

MOST_ASKED = 20
"""Pairs that one run asks about; it is asked about each one twice."""

Version = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PairJudgement:
    """Which pairs a language model calls the same, as the texts were then; `asked`: about how many
    it answered, `unasked`: how many it was not asked about, or did not answer.
    """

    same: frozenset[frozenset[Version]] = frozenset()
    asked: int = 0
    unasked: int = 0

    def calls_the_same(self, pair: NearPair) -> bool:
        """Never where a text was edited since."""
        return _key(pair) in self.same


async def judge_pairs(
    engine: Engine, namespace: Namespace, pairs: Sequence[NearPair], now: datetime
) -> PairJudgement:
    """Ask about the nearest of these pairs; no transaction is open."""
    open_ones = [pair for pair in pairs if is_open(pair)]
    same: set[frozenset[Version]] = set()
    answered = 0
    for pair in open_ones[:MOST_ASKED]:
        answer = await _say_the_same(engine, namespace, pair, now)
        answered += answer is not None
        if answer:
            same.add(_key(pair))
    return PairJudgement(frozenset(same), answered, len(open_ones) - answered)


def is_open(pair: NearPair) -> bool:
    """Whether neither text nor rule has decided: not the same by their words, and without another
    number, name or negation, which no answer may talk away.
    """
    one, other = pair.one, pair.other
    if says_the_same(one.text, other.text, pair.cosine) or stays_two(pair):
        return False
    return _signs(one) == _signs(other)


def stays_two(pair: NearPair) -> bool:
    """Whether both are pinned, or somebody took the two apart again by restoring one."""
    one, other = pair.one, pair.other
    apart = one.merged_into == str(other.id) or other.merged_into == str(one.id)
    return apart or (one.pinned and other.pinned)


def judge_role(first: MergeMember, second: MergeMember) -> LlmRole[bool]:
    """Two notes → whether they say the same."""
    parts = [("First note", said(first.text)), ("Second note", said(second.text))]
    prompt = prompt_of("judge", prompts.JUDGE, parts, prompts.JUDGE_SCHEMA, room=SMALL_ANSWER)
    return LlmRole("judge", prompt, read_judgement)


def read_judgement(answer: str) -> bool:
    """Raises Malformed where it is neither yes nor no, or contradicts itself."""
    found = read_object(answer, ("missing", "same"))
    missing, same = found["missing"], found["same"]
    if not isinstance(same, bool) or not isinstance(missing, str):
        raise Malformed("`same` is neither true nor false, or `missing` is no text")
    # What one of the two lacks would be lost.
    return same and missing.strip(" .").casefold() in ("", "none", "nothing")


async def _say_the_same(
    engine: Engine, namespace: Namespace, pair: NearPair, now: datetime
) -> bool | None:
    subject = LlmSubject(memory_ids=(pair.one.id, pair.other.id))
    for first, second in ((pair.one, pair.other), (pair.other, pair.one)):
        role = judge_role(first, second)
        found = await ask_in_background(engine, namespace.id, role, subject=subject, now=now)
        if found is None:
            return None
        if not found.value:
            return False
    return True


def _signs(member: MergeMember) -> tuple[list[str], list[str], int]:
    numbers, names, negations = signature(member.text)
    return sorted(numbers), sorted(names), negations


def _key(pair: NearPair) -> frozenset[Version]:
    return frozenset((str(one.id), one.version) for one in (pair.one, pair.other))
