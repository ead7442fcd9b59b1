"""Whether a check separates success from failure in a bucket: the test of admission. Pure.

Right and wrong runs of one task and variant are compared. How able agents are is fitted first
(Bradley-Terry, which is the conditional logit of pairs with an effect for each agent), and what a
check adds to that is its efficient score, summed up within each task. So an agent that always wins,
or always does a thing, says nothing; what one agent does when it wins and leaves when it loses
does. Tasks are the clusters: the sum over the tasks that tell something is compared with the same
sums under random signs (exact for few tasks), one-sided: a check says beforehand which side fails.
Benjamini and Hochberg's procedure goes over all checks that were tried in the bucket; what could
not pass whatever its result, for too few tasks tell anything (Tarone 1990), is not tried.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from math import erfc, sqrt

import numpy as np
import numpy.typing as npt

from memory.constraints.checks.library import LIBRARY
from memory.constraints.checks.observations import CheckFinding
from memory.constraints.proof import Verdict, reason_against

MODEL = "model"
"""The name of a check that a language model proposed and judges begins so, with a colon behind."""


TASKS = 8
"""On fewer discordant tasks nothing is tried."""


TELLING = 4
"""So many tasks must tell something: fewer could never bring the chance below `RATE`."""


FAMILIES = 2
"""From so many families of models it must come, or from one agent against itself."""


RATE = 0.1
"""The most false discoveries among what is admitted in a bucket, as a share."""


RUNS_OF_TASK = 40
"""So many runs of a task are compared, the newest."""


RIDGE = 0.1
"""Keeps the ability of an agent that never lost finite; in comparisons."""


FLIPS, EXACT, MANY = 9_999, 12, 200
"""Random signs drawn; up to so many tasks all signs are tried; above so many the sum is normal."""


ZERO = 1e-9


TOO_FEW_TASKS, ONE_FAMILY = "too_few_tasks", "one_family"
NOT_SIGNIFICANT, HALVES_DIFFER = "not_significant", "halves_differ"
ONE_AGENT, STYLE = "one_agent", "style"
"""Why a proposal is not admitted, in the order in which reasons are looked for."""


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TriedRun:
    """A run with its result and what the checks say of it.

    `task` names its cluster; runs of one `variant` of it are compared. `id` is the caller's.
    """

    id: str
    task: str
    variant: str
    agent: str
    family: str | None
    right: bool
    findings: Mapping[str, CheckFinding]
    word: Verdict | None = None
    """Who vouches for the result; None where that is not asked."""

    @property
    def party(self) -> str | None:
        """Whose word the result is, where nobody who judges others gave it."""
        voice = None if self.word is None else self.word.voice
        return None if voice is None or voice.judges else str(voice.party_id or voice.id)


@dataclass(frozen=True, slots=True)
class Split:
    """On how many tasks the failing run alone violates a check, and the winning run alone."""

    failing: int = 0
    winning: int = 0


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """What a check came to in a bucket.

    `tasks` are the discordant ones on which it applies, `telling` those of them in which a right
    and a wrong run differ in it; `split` counts these by the side that they speak for, and `halves`
    the same by halves. `p` and `q` are None where too few tasks are there to be tried.
    `reason` says why it is not admitted. `pairs` are (winning, failing) runs that speak for it, one
    a task.
    """

    name: str
    tasks: int
    telling: int
    split: Split
    halves: tuple[Split, Split]
    families: int
    against_itself: bool
    p: float | None = None
    q: float | None = None
    reason: str | None = None
    pairs: tuple["ComparedRuns", ...] = ()

    @property
    def admitted(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """A right and a wrong run of one task."""

    winner: TriedRun
    loser: TriedRun

    @property
    def counts(self) -> bool:
        """Whether the two results prove anything: `memory.constraints.proof`."""
        won, lost = self.winner.word, self.loser.word
        return won is None or lost is None or reason_against(won, lost) is None

    def difference(self, name: str) -> int | None:
        """1: the wrong run alone violates the check; -1: the right one alone; 0: neither tells;
        None: it does not apply to both.
        """
        won, lost = self.winner.findings.get(name), self.loser.findings.get(name)
        if won is None or lost is None:
            return None
        return (lost is CheckFinding.VIOLATED) - (won is CheckFinding.VIOLATED)


@dataclass(frozen=True, slots=True)
class Applying:
    """A pair to which a check applies, and its difference in it."""

    pair: ComparedRuns
    sign: int

    @property
    def task(self) -> str:
        return self.pair.winner.task


def compare_runs(runs: Iterable[TriedRun]) -> dict[str, list[ComparedRuns]]:
    """The right and wrong runs of each task that has both, every right with every wrong one."""
    groups: dict[tuple[str, str], list[TriedRun]] = defaultdict(list)
    for run in runs:
        groups[run.task, run.variant].append(run)
    found: dict[str, list[ComparedRuns]] = defaultdict(list)
    for (task, _), every in groups.items():
        group = every[-RUNS_OF_TASK:]
        rights = [run for run in group if run.right]
        wrongs = [run for run in group if not run.right]
        pairs = (ComparedRuns(right, wrong) for right in rights for wrong in wrongs)
        found[task] += [pair for pair in pairs if pair.counts]
    return {task: pairs for task, pairs in sorted(found.items()) if pairs}


def try_bucket(runs: Iterable[TriedRun]) -> list[TrialFigures]:
    """Every check, with every slot, that applies to some task of a bucket; by name."""
    tasks = compare_runs(runs)
    names = sorted(
        {
            name
            for pairs in tasks.values()
            for pair in pairs
            for name in pair.winner.findings.keys() & pair.loser.findings.keys()
        }
    )
    return judge_trials([try_check(name, tasks) for name in names])


def judge_trials(tried: Sequence["CheckTrial"]) -> list[TrialFigures]:
    """The figures with the rate of false discoveries over all, and the reasons."""
    rates = iter(discovery_rates([one.figures.p for one in tried if one.figures.p is not None]))
    figures: list[TrialFigures] = []
    for one in tried:
        q = None if one.figures.p is None else next(rates)
        figures.append(replace(one.figures, q=q, reason=one.reason_against(q)))
    return figures


def discovery_rates(chances: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p values, in the order given."""
    order = sorted(range(len(chances)), key=lambda place: -chances[place])
    rates, least = [0.0] * len(chances), 1.0
    for rank, place in enumerate(order):
        least = min(least, chances[place] * len(chances) / (len(chances) - rank))
        rates[place] = least
    return rates


@dataclass(frozen=True, slots=True)
class CheckTrial:
    """A check with its figures so far, and the adjusted scores of its pairs."""

    figures: TrialFigures
    pairs: tuple[ComparedRuns, ...] = ()
    scores: tuple[float, ...] = ()

    def reason_against(self, q: float | None) -> str | None:
        """Why it is not admitted; None where it is."""
        figures = self.figures
        reasons = (
            (TOO_FEW_TASKS, q is None),
            (ONE_FAMILY, figures.families < FAMILIES and not figures.against_itself),
            (NOT_SIGNIFICANT, q is not None and q > RATE),
            (HALVES_DIFFER, not self._holds_in_halves()),
            (ONE_AGENT, not self._holds_without_any()),
            (STYLE, figures.name in _STYLES),
        )
        return next((reason for reason, applies in reasons if applies), None)

    def _holds_in_halves(self) -> bool:
        sums = [0.0, 0.0]
        halves = halves_of({pair.winner.task for pair in self._telling()})
        for pair, score in zip(self.pairs, self.scores, strict=True):
            if pair.winner.task in halves:
                sums[halves[pair.winner.task]] += score
        return min(sums) > ZERO and all(one.failing > one.winning for one in self.figures.halves)

    def _telling(self) -> list[ComparedRuns]:
        return [pair for pair in self.pairs if pair.difference(self.figures.name)]

    def _holds_without_any(self) -> bool:
        """Whether the sum stays above zero without any one agent, and without any one party, as far
        as what is left tells enough: who stands in nearly all pairs is judged by the scores alone,
        which say nothing of what it always does.
        """
        agents = {run.agent for pair in self.pairs for run in (pair.winner, pair.loser)}
        parties = {run.party for pair in self.pairs for run in (pair.winner, pair.loser)} - {None}
        left = [self._without(agent, None) for agent in agents]
        left += [self._without(None, party) for party in parties]
        return all(one is None or one > ZERO for one in left)

    def _without(self, agent: str | None, party: str | None) -> float | None:
        """The sum of the scores of pairs without these; None where too few tasks tell anything."""
        left = [
            (pair, score)
            for pair, score in zip(self.pairs, self.scores, strict=True)
            if agent not in (pair.winner.agent, pair.loser.agent)
            and (party is None or party not in (pair.winner.party, pair.loser.party))
        ]
        telling = {pair.winner.task for pair, _ in left if pair.difference(self.figures.name)}
        if len(telling) < TELLING:
            return None
        return sum(score for pair, score in left if pair.winner.task in telling)


_STYLES = frozenset(check.name for check in LIBRARY if check.control)


def try_check(name: str, tasks: Mapping[str, Sequence[ComparedRuns]]) -> CheckTrial:
    """One check over the pairs of a bucket."""
    applying = [
        Applying(pair, sign)
        for pairs in tasks.values()
        for pair in pairs
        if (sign := pair.difference(name)) is not None
    ]
    clusters = dict.fromkeys(one.task for one in applying)
    figures = _counted(name, applying)
    if len(clusters) < TASKS or figures.telling < TELLING:
        return CheckTrial(figures)
    places = {task: place for place, task in enumerate(clusters)}
    where = np.array([places[one.task] for one in applying])
    pairs = tuple(one.pair for one in applying)
    weights = 1.0 / np.bincount(where)[where]
    signs = np.array([float(one.sign) for one in applying])
    scores = efficient_scores(_designed(pairs), signs, weights)
    told = np.unique(where[signs != 0.0])
    sums = np.asarray(np.bincount(where, weights=scores), dtype=np.float64)[told]
    return CheckTrial(replace(figures, p=chance_of(sums)), pairs, tuple(scores.tolist()))


def _counted(name: str, applying: Sequence[Applying]) -> TrialFigures:
    """The counts, by tasks: a task speaks for the side on which most of its pairs are."""
    balance: dict[str, int] = {one.task: 0 for one in applying}
    for one in applying:
        balance[one.task] += one.sign
    telling = [one for one in applying if one.sign]
    runs = [run for one in telling for run in (one.pair.winner, one.pair.loser)]
    halves = halves_of({one.task for one in telling})
    by_half = [
        [value for task, value in balance.items() if halves.get(task) == half] for half in (0, 1)
    ]
    speaking = {one.task: one.pair for one in telling if one.sign > 0}
    return TrialFigures(
        name=name,
        tasks=len(balance),
        telling=len({one.task for one in telling}),
        split=_split(balance.values()),
        halves=(_split(by_half[0]), _split(by_half[1])),
        families=len({run.family for run in runs} - {None}),
        against_itself=any(one.pair.winner.agent == one.pair.loser.agent for one in telling),
        pairs=tuple(speaking[task] for task in sorted(speaking) if balance[task] > 0),
    )


def _split(balances: Iterable[int]) -> Split:
    values = list(balances)
    return Split(sum(one > 0 for one in values), sum(one < 0 for one in values))


def halves_of(tasks: Iterable[str]) -> dict[str, int]:
    """Each task's half: in the order of their hashes, in turn."""
    ordered = sorted(tasks, key=lambda task: sha1(task.encode(), usedforsecurity=False).digest())
    return {task: place % 2 for place, task in enumerate(ordered)}


def _designed(pairs: Sequence[ComparedRuns]) -> Floats:
    """A row for each pair: 1 at its winner's agent, -1 at its loser's; 0 where both are one."""
    agents = sorted({run.agent for pair in pairs for run in (pair.winner, pair.loser)})
    place = {agent: number for number, agent in enumerate(agents)}
    rows = np.zeros((len(pairs), len(agents)))
    for number, pair in enumerate(pairs):
        rows[number, place[pair.winner.agent]] += 1.0
        rows[number, place[pair.loser.agent]] -= 1.0
    return rows


def efficient_scores(agents: Floats, signs: Floats, weights: Floats) -> Floats:
    """Each pair's share of the score of a check, with what agents explain taken out of both sides.

    `agents`: a row for each pair; `signs`: the check's difference in each; `weights`: each pair's.
    """
    ability = _fitted(agents, weights)
    expected = _chances(agents @ ability)
    spread = weights * expected * (1.0 - expected)
    information = agents.T @ (spread[:, None] * agents) + RIDGE * np.eye(agents.shape[1])
    explained = np.linalg.solve(information, agents.T @ (spread * signs))
    return np.asarray(weights * (1.0 - expected) * (signs - agents @ explained), dtype=np.float64)


def _chances(odds: Floats) -> Floats:
    """The logistic function."""
    return np.asarray(1.0 / (1.0 + np.exp(-odds)), dtype=np.float64)


def _fitted(agents: Floats, weights: Floats) -> Floats:
    """Abilities by Newton's method, with a ridge."""
    ability = np.zeros(agents.shape[1])
    for _ in range(25):
        expected = _chances(agents @ ability)
        slope = agents.T @ (weights * (1.0 - expected)) - RIDGE * ability
        spread = weights * expected * (1.0 - expected)
        bend = agents.T @ (spread[:, None] * agents) + RIDGE * np.eye(agents.shape[1])
        step = np.linalg.solve(bend, slope)
        ability = ability + step
        if float(np.abs(step).max(initial=0.0)) < ZERO:
            break
    return ability


def chance_of(sums: Floats) -> float:
    """The chance of a total as large as this where each task's sum is as likely to be negative."""
    told = sums[np.abs(sums) > ZERO]
    if not told.size:
        return 1.0
    total = float(told.sum())
    if told.size > MANY:
        return 0.5 * erfc(total / sqrt(2.0 * float((told**2).sum())))
    if told.size <= EXACT:
        places = np.arange(2**told.size)[:, None] >> np.arange(told.size)
        totals = (1.0 - 2.0 * (places & 1)) @ told
        return float(np.mean(totals >= total - ZERO))
    drawn = np.random.default_rng(0).integers(0, 2, (FLIPS, told.size))
    totals = (1.0 - 2.0 * drawn) @ told
    return float((1 + np.count_nonzero(totals >= total - ZERO)) / (1 + FLIPS))
