"""One line per term, shown where a page uses the word: the glossary's, word for word.

A test holds them against docs/reference/glossary.md, which is not installed with the server.
"""

TERMS: dict[str, str] = {
    "agent": "whoever attempts tasks and asks for guidelines; known by a name within its namespace",
    "namespace": "the boundary that no data crosses; has a clock, a policy and settings",
    "key": "what a caller shows: a role, a namespace, perhaps the agents it may speak for",
    "role": "what a key is for: agent, evaluator, reader, admin, operator",
    "task": (
        "what an agent is about to attempt, in its own words; a caller's `key` makes it the "
        "same task again"
    ),
    "category": (
        "the kind of task, in two levels; the first is the coarse key for baselines and effects"
    ),
    "memory": "one remembered thing, of kind experience, constraint or meta-guideline",
    "experience": "a memory of what a past task taught: situation and lesson",
    "meta-guideline": (
        "a memory of how memories are to be used: a failure reason and an instruction"
    ),
    "situation": "when a memory applies; what a task is held against",
    "lesson": "what to do then",
    "version": "a text of a memory as it was served; an edit of the words makes the next one",
    "status": (
        "active, suspended or retired; before that proposed, verifying, probation or rejected"
    ),
    "retirement": "a memory is no longer served; its record stays and can return",
    "trust": "whether the source is believed: trusted, unverified, quarantined; apart from weight",
    "visibility": "who may be served it: the agent's bound keys, or the namespace",
    "erasure": "texts and vectors go wherever they are kept; ids and numbers stay",
    "receipt": "its record, by which an outcome finds what was served; named by `retrieval_id`",
    "guideline": "the advice compiled for one task in one retrieval",
    "cited": "in the compiled text, hence credited; with `format: memories` all that was served",
    "eligible": (
        "something would be served by similarity alone, so that a comparison with none says "
        "something"
    ),
    "arm": (
        "how a retrieval was served: on, control, forced on, forced off, paired, empty, "
        "suspended, probe"
    ),
    "control": "the arm that goes without memory by lot, so that a comparison exists",
    "propensity": "the probability that chance gave to what happened",
    "slot": "the last place, now and then given to a memory that was rarely credited",
    "purpose": "what the caller will do: act, run a pair, replay, or only look (preview)",
    "outcome": "what became of an attempt; one is effective a retrieval",
    "episode": "a retrieval that served a memory, with what came of it",
    "prediction": (
        "an agent's forecast for a window, tied to a receipt; how it stood from a moment on"
    ),
    "settlement": (
        "which outcomes of an event came true, whereby its predictions become outcomes; one "
        "that takes another's place"
    ),
    "verifier": "who found out: human, test, judge, self, in falling order of belief",
    "reward": "the outcome as a number in [0, 1], larger is better",
    "evidence": "what comparison an outcome offers: paired, control, single, none",
    "cell": "agent \N{MULTIPLICATION SIGN} category: where a baseline is kept",
    "baseline": "the usual reward in a cell",
    "verdict": "an agent's word that a memory was helpful or harmful",
    "effect": (
        "what memory did in a cell: means by arm, and the paired and the randomised "
        "difference with intervals"
    ),
    "lift": (
        "by how much the mean reward with memory is above the one without, of pairs or by "
        "lot; never of both together"
    ),
    "interval": (
        "between its ends the true number lies, with 95 % confidence, however often one looks"
    ),
    "coverage": "the share of the last 30 days' receipts that an effective outcome came for",
    "pair": "two runs of one task that differ in memory alone; either of them",
    "superseded": "out of effect: another took its place, or its source was rolled back",
    "withdrawn": "superseded after it was applied, and taken out of the states by a refold",
    "candidate": "a memory under consideration, with its numbers",
    "ticket": "a request to try a candidate, leased to one agent at a time",
    "trial": "a run that a ticket asks for",
    "self-verified": "tried by the candidate's own author",
    "probation": "serving at half weight until outcomes have spoken",
    "policy": (
        "how outcomes become states and states become weights: `belief`, `paper`, `steps` or "
        "`delta`"
    ),
    "state": "the policy's numbers of a memory, a deviation, a cell or a noise",
    "belief": (
        "what a memory is thought to add to the reward beyond the rest of the served set: "
        "mean and variance"
    ),
    "deviation": "how one agent's belief about a memory differs",
    "noise": "how much of a reward nothing explains",
    "residual": "the part of a reward that neither baseline nor served set had led to expect",
    "effective weight": (
        "the weight that belief, deviation and age amount to; 1 is neutral, floor .1, ceiling 2"
    ),
    "ranking weight": "the same with half a standard deviation of optimism; it orders the head",
    "at a bound": "of an effective weight: at most .12, or at least 1.95",
    "score": "effective weight \N{MULTIPLICATION SIGN} relevance",
    "ranker": "one way to order the head",
    "guard": "the record of rankers that decides which one serves",
    "strength": "how far, from 0 to 1, memory is to be followed in a cell",
    "suspended": "served without memory, because strength fell below .05",
    "probe": "a retrieval that a suspended cell serves by lot, to see whether memory helps again",
    "feedback date": (
        "a UTC day on which outcomes of a cell became known; the unit of effect, strength and guard"
    ),
    "ageing": "a belief returns to its prior while no evidence comes; acts whenever it is read",
    "decay": "the job that writes ageing down",
    "near-twins": "two memories that say the same in other words; a job merges them",
    "echo": "a text that only repeats what its key was served; no evidence",
    "health": (
        "what is counted of learning: coverage, shares at the bounds, pending, duplicates, signal"
    ),
    "weight event": "one learning step or setting of a state, in the ledger",
    "ledger": "all weight events; every state is a fold of what it records",
    "correction": (
        "which outcomes of an event came true, whereby its predictions become outcomes; one "
        "that takes another's place"
    ),
    "rollback": "taking back all that an agent or a key said and wrote",
    "rebuild": "the fold of the whole ledger, held against the live states",
    "bank version": "the number that grows with every change a retrieval can see; the only order",
    "similarity": "the largest cosine of a query and the text it aims at, clamped at 0",
    "relevance": "how well a memory fits the task, in [0, 1]: the reranker's word, else similarity",
    "head": (
        "the 4 k most similar memories that may be seen; weights re-rank these and nothing else"
    ),
    "neighbour": "a memory whose situation has a similar vector, whatever its status",
    "gates": "floors under similarity (raw) and score, measured for the model unless set",
    "confidence": "how clearly the nearest category is the nearest",
    "known at": "when a fact could be known; the server's clock, or the caller's word in a replay",
    "recorded at": "when it was written down, by the server's clock",
    "learned at": "the `known_at` of a memory",
    "as of": "the one moment a retrieval looks from",
    "moment": (
        "where the bank is looked at: by what was known, or by a bank version; neither is now"
    ),
    "clock": "`wall` or `replay`: who sets `known_at`",
    "frozen": "a namespace that stores outcomes and learns nothing",
    "leader": "the process that applies outcomes and keeps the timetable; its numbered turn",
    "job": "a line of the timetable; one doing of it; what has one run",
    "period": "a line of the timetable; one doing of it; what has one run",
    "dry run": "a run that changes nothing and says what would change",
    "session": "a person's stay at the dashboard, opened with a key and never outliving it",
    "writing": "one try of a writer, with its prompt, its answer, its tokens and its fault",
    "trajectory": "the ordered steps of one attempt at a task, with its result and its verdict",
    "constraint": (
        "a memory of what separates success from failure for any agent: when (trigger), "
        "enforce, avoid"
    ),
}
