"""One line per term, shown where a page uses the word.

Words of docs/reference/glossary.md are explained as they are there; a test compares the two, since
that page is not installed with the server. The others are names of columns and figures.
"""

GLOSSARY: dict[str, str] = {
    "agent": (
        "a program that attempts tasks and asks for guidelines; known by a name within its "
        "namespace"
    ),
    "namespace": "the unit of isolation: no data crosses it; has a clock, a policy and settings",
    "key": (
        "the secret a caller authenticates with; it has a role, a namespace and perhaps the "
        "agents it may speak for"
    ),
    "role": "what a key may do: agent, evaluator, reader, admin or operator",
    "party": (
        "agent keys that count as one voice because they may speak for the same agent; named by "
        "the id of the oldest"
    ),
    "task": (
        "what an agent is about to attempt, in its own words; the same `key` means the same "
        "task again"
    ),
    "category": (
        "the kind of task, in two levels; baselines, effects and the metric are kept by the first"
    ),
    "memory": "one stored item: an experience, a constraint or a meta-guideline",
    "experience": "a memory of what a past task taught: a situation and a lesson",
    "constraint": (
        "a memory of what separates success from failure for any agent: when (the trigger), "
        "enforce, avoid; it serves others once it is proven"
    ),
    "meta-guideline": (
        "a memory of how memories should be used: a reason for failure and an instruction"
    ),
    "situation": "when a memory applies; the text that a task is compared with",
    "lesson": "what to do in that situation",
    "bank": "all memories of a namespace",
    "bank version": (
        "a number that grows with every change a retrieval can see; it orders all changes"
    ),
    "status": (
        "active, suspended or retired; a candidate is proposed, verifying, on probation or rejected"
    ),
    "trust": (
        "whether the source is believed: trusted, unverified or quarantined; independent of weight"
    ),
    "visibility": (
        "who may be served the memory: the whole namespace, or only keys bound to its agent"
    ),
    "candidate": "an experience that is tried before it is used",
    "ticket": "a request to try a candidate, leased to one agent at a time",
    "probation": "being served at half weight until enough outcomes have arrived",
    "erasure": "deleting texts and vectors wherever they are kept; ids and numbers stay",
    "trajectory": "the ordered steps of one run of a task, with its result and its verdict",
    "contrast": "two runs of one task, compared to find out why one succeeded and the other failed",
    "window": (
        "something that will be decided, and a task that asks about it until a closing time"
    ),
    "prediction": (
        "an agent's forecast for a window, tied to a receipt; it may be revised until the window "
        "closes"
    ),
    "settlement": "the decided outcomes of an event; they turn its predictions into outcomes",
    "receipt": (
        "the record of a retrieval, under which its outcome is reported; named by `retrieval_id`"
    ),
    "guideline": "the advice compiled for one task in one retrieval",
    "arm": (
        "how a retrieval was served: on, control, forced on, forced off, paired, empty, "
        "suspended or retest"
    ),
    "control": (
        "the arm that gets no memory, chosen at random, so that there is something to compare with"
    ),
    "propensity": ("the probability that the random draw had of coming out as it did"),
    "outcome": "the reported result of an attempt; one per retrieval is in effect",
    "verifier": "who judged the result: human, test, judge or self, in falling order of precedence",
    "reward": "the result as a number from 0 to 1; larger is better",
    "evidence": "the kind of comparison an outcome allows: paired, control, single or none",
    "pair": "two runs of one task that differ only in memory",
    "event": "something that will be decided, and a task that asks about it until a closing time",
    "policy": (
        "how outcomes change states and states become weights: `belief`, `paper`, `paper-strict`, "
        "`steps` or `delta`"
    ),
    "belief": (
        "how much a memory is thought to add to the reward, and how sure that is: mean and variance"
    ),
    "effective weight": (
        "what belief, this agent's deviation from the others and age amount to; 1 is "
        "neutral, 0.1 the lowest, 2 the highest"
    ),
    "influence": (
        "how far one party's word alone moved a memory, and what of that counts for everybody"
    ),
    "ranker": (
        "one way to order the most similar memories: with or without weights, with one of "
        "four half-lives or none"
    ),
    "guard": "the record of how well each ranker did; it decides how often each one is used",
    "cell": "one agent in one category; baselines, strength and effects are kept per cell",
    "strength": "how far, from 0 to 1, memory should be followed in a cell",
    "lift": (
        "the mean reward with memory minus the mean without, from pairs or from random "
        "assignment, never from both together"
    ),
    "interval": (
        "the range that contains the true value with 95 % confidence, however often one looks"
    ),
    "feedback date": (
        "a UTC day on which outcomes of a cell became known; the unit that intervals count"
    ),
    "ledger": (
        "every change of every state, in order, with its reason; all weights can be "
        "refolded from it"
    ),
    "rollback": "withdrawing everything that an agent or a key reported and wrote",
    "known at": (
        "when a fact could be known: the server's clock, or what the caller says in a replay"
    ),
    "as of": "the moment from which a retrieval looks at the bank",
    "clock": "`wall` or `replay`: who sets `known_at`, the server or the caller",
    "frozen": "of a namespace: outcomes are stored, and nothing is learned",
}

COLUMNS: dict[str, str] = {
    "version": "one text of a memory; editing the words makes the next version",
    "retirement": "the memory is no longer served; its record stays, and it can be restored",
    "competence": (
        "how an agent fares in a category by its verified runs; few runs cannot move it far from "
        "the mean of all agents"
    ),
    "Brier score": (
        "the mean squared distance between probability and result, 1 for what came true and 0 for "
        "what did not: 0 is perfect, 0.25 is what always saying one half has"
    ),
    "skill": "the crowd's Brier score less the agent's: positive is better than the crowd",
    "calibration": "whether what is said to be likely comes true as often as it is said",
    "cited": (
        "in the compiled text, and therefore credited; with `format: memories`, everything "
        "that was served"
    ),
    "eligible": (
        "similarity alone would have served something, so that comparing with a run without "
        "memory is meaningful"
    ),
    "purpose": "what the caller will do: act, run a pair, replay, or only look (preview)",
    "retest arm": (
        "a retrieval in a suspended cell that is served all the same, chosen at random, "
        "to see whether memory helps again"
    ),
    "score": "effective weight \N{MULTIPLICATION SIGN} relevance",
    "coin": (
        "a chance, as good as the memory is believed to help, that it keeps its place in one "
        "retrieval"
    ),
    "worth of its place": (
        "the mean reward, beyond the baseline, where a coin kept a memory, minus that where it "
        "left it out and another took its place; an audit that moves nothing"
    ),
    "episode": "a retrieval that served this memory, with its outcome",
    "exposure": (
        "how far a memory could have acted on an outcome, from 0 to 1: by what is named as used, or"
        " by similarity; so far the outcome moves it. Of a meta-guideline, whether it was followed "
        "(1 or 0) less the probability of its coin"
    ),
    "verdict": "an agent's word that a memory was helpful or harmful",
    "coverage": "the share of the receipts of the last 30 days that have an outcome in effect",
    "withdrawn": "taken out of all weights after it had been applied",
    "trial": "a run that a ticket asks for",
    "self-verified": "tried by the author of the candidate",
    "state": "the numbers that the policy keeps for a memory, a deviation, a cell or a noise",
    "deviation": "how one agent's belief about a memory differs from everyone's",
    "residual": "the part of a reward that neither the baseline nor the other memories explain",
    "ranking weight": (
        "what candidates are ordered by: the weight, with half a standard deviation of doubt in the"
        " memory's favour, so that one of which little is known is tried again. So it may lie above"
        " 1 while the weight lies below; the two meet as outcomes come"
    ),
    "at a bound": "an effective weight of at most .12, or at least 1.95",
    "suspended": "served without memory, because strength fell below .05",
    "ageing": "a belief returns to its start value while no evidence arrives",
    "near-twins": "two memories that say the same in other words; a job merges them",
    "weight event": "one change of a state in the ledger",
    "similarity": "the largest cosine between a query and the text it is compared with, at least 0",
    "relevance": (
        "how well a memory fits the task, from 0 to 1: the reranker's score, or else similarity"
    ),
    "head": (
        "the 4 k most similar memories that may be seen, and where words count the best by shared "
        "words; weights reorder only these"
    ),
    "neighbour": "a memory with a similar situation, whatever its status",
    "gates": (
        "the lowest similarity and the lowest score that are served, measured for the model "
        "unless set"
    ),
    "confidence": "how clearly the nearest category is the nearest",
    "recorded at": "when it was written down, by the server's clock",
    "learned at": "when the memory became known",
    "moment": "a time, or a bank version, at which the bank is looked at; without either, now",
    "leader": "the process that applies outcomes and runs the scheduled jobs",
    "job": "a task that the server runs on a schedule",
    "period": "the time span, usually a day, in which a job runs once by itself",
    "dry run": "a run that changes nothing and says what it would change",
    "llm call": "one call of a language model, with its prompt, answer, tokens and fault",
}

TERMS = GLOSSARY | COLUMNS

EXPLAINED = frozenset(
    {
        "agent",
        "arm",
        "bank version",
        "category",
        "clock",
        "coin",
        "constraint",
        "control",
        "effective weight",
        "evidence",
        "experience",
        "interval",
        "key",
        "known at",
        "lift",
        "memory",
        "meta-guideline",
        "outcome",
        "pair",
        "receipt",
        "reward",
        "strength",
        "trust",
        "verifier",
        "worth of its place",
    }
)
"""What a page marks and explains on hover and focus: what somebody has to know to read any of them.
Other words of TERMS have a plain title, so that they do not stand in the way of the keyboard.
"""
