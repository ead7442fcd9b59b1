"""The default policy: each memory carries a belief of what it adds to the reward.

A belief is a mean and a variance; an outcome moves it by the *residual*, what the rest of the
served set and the agent's baseline do not explain, in proportion to its variance. This is a Kalman
filter with a diagonal covariance; the off-run of a pair enters as a control variate with a
coefficient that is learnt. Arithmetic is Python float64, sums are `fsum`, so that neither the order
of memories nor a refold changes a bit.

Values by subject: memory `(mu, P)`, deviation `(d, D)`, influence `(g, counted)`, cell `(b, B)`,
noise as in `_Noise`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum, sqrt
from typing import NamedTuple
from uuid import UUID

from memory.belief import weights
from memory.belief.inclusion import Lift
from memory.belief.influence import feel, grant
from memory.belief.states import (
    VERDICT,
    Evidence,
    Measurement,
    Observation,
    State,
    States,
    later,
)

SCALE = 0.10  # this much added reward is one unit of weight


MEMORY_VARIANCE = 0.01  # .10²


DEVIATION_VARIANCE = 0.0025  # .05²


BASELINE = 0.5


BASELINE_VARIANCE = 0.0225  # .15²


BASELINE_DRIFT = 1e-6  # an agent may change: its baseline is never quite certain


HALF_LIFE = timedelta(days=90)


OPTIMISM = 0.5  # standard deviations, so that the untested are tried


MEMORY_OF_NOISE = 400  # outcomes over which noise is averaged


NOISE_FLOOR = 0.1  # one lucky outcome takes at most this much of the noise for granted


OUTLIER = 3.0  # standard deviations beyond which a residual is clipped


VERDICT_NOISE = 0.25  # how little a verdict is believed


class _Noise(NamedTuple):
    """Noise of one kind of reward; `cov` over `var` is how an off-run predicts its on-run."""

    r_single: float
    n_single: float
    r_paired: float
    n_paired: float
    cov: float
    var: float
    n_pair: float

    @property
    def rho(self) -> float:
        return min(1.0, max(0.0, self.cov / self.var)) if self.var > 0.0 else 0.0


class _Served(NamedTuple):
    """The served set as it stood before the event, aged to it: beliefs as everybody has them and
    as the reporting party feels them, this agent's deviations, and how far each could act.
    """

    common: dict[UUID, State]
    memories: dict[UUID, State]
    deviations: dict[UUID, State]
    influences: dict[UUID, State]
    exposure: dict[UUID, float]

    @property
    def gain(self) -> float:
        """What the set was expected to add."""
        parts = (self.memories, self.deviations)
        return fsum(self.exposure[i] * s.values[0] for part in parts for i, s in part.items())

    @property
    def lifts(self) -> dict[UUID, float]:
        """What each is believed to add, as this agent and the reporting party feel it."""
        deviations = self.deviations
        return {i: s.values[0] + deviations[i].values[0] for i, s in self.memories.items()}

    @property
    def variance(self) -> float:
        parts = (self.memories, self.deviations)
        return fsum(self.exposure[i] ** 2 * s.values[1] for part in parts for i, s in part.items())


class _Residual(NamedTuple):
    """What an outcome showed beyond expectation, and how uncertain that was."""

    error: float  # e
    variance: float  # V, of what was believed
    spread: float  # S = V + R

    @property
    def clipped(self) -> float:
        bound = OUTLIER * sqrt(self.spread)
        return min(bound, max(-bound, self.error))


@dataclass(frozen=True, slots=True)
class Belief:
    """Weights from beliefs: see `Policy` for what each method promises."""

    name: str = "belief"
    whole_bank: bool = False
    guarded: bool = True
    weighs_exposure: bool = True
    literal: bool = False
    places: int = weights.PLACES

    def initial_memory(self, start_weight: float = weights.NEUTRAL) -> State:
        start = weights.start_weight(start_weight)
        return State(((start - weights.NEUTRAL) * SCALE, MEMORY_VARIANCE))

    def initial_deviation(self) -> State | None:
        return _NO_DEVIATION

    def initial_cell(self, siblings: Sequence[State]) -> State:
        baselines = [sibling.values[0] for sibling in siblings]
        start = fsum(baselines) / len(baselines) if baselines else BASELINE
        return State((start, BASELINE_VARIANCE))

    def initial_noise(self) -> State:
        return State(_Noise(0.10, 20.0, 0.10, 20.0, 0.05, 0.10, 20.0)[:])

    def age_memory(self, state: State, now: datetime) -> State:
        return _aged(state, now, MEMORY_VARIANCE)

    def age_deviation(self, state: State, now: datetime) -> State:
        return _aged(state, now, DEVIATION_VARIANCE)

    def age_influence(self, state: State, now: datetime) -> State:
        if state.touched is None:
            return state
        touched = later(state.touched, now)
        kept = _kept(state.touched, touched)
        effect, counted = state.values
        return State((kept * effect, kept * counted), touched)

    def edited_influence(self, state: State, now: datetime) -> State:
        effect, counted = self.age_influence(state, now).values
        return State((effect / 2, counted / 2), later(state.touched, now))

    def feel(self, memory: State, influence: State | None) -> State:
        return feel(memory, influence)

    def edited_memory(self, state: State, now: datetime) -> State:
        return _edited(self.age_memory(state, now), now, MEMORY_VARIANCE)

    def edited_deviation(self, state: State, now: datetime) -> State:
        return _edited(self.age_deviation(state, now), now, DEVIATION_VARIANCE)

    def effective_weight(self, memory: State, deviation: State | None) -> float:
        d, _ = (deviation or _NO_DEVIATION).values
        return _weight(memory.values[0] + d)

    def ranking_weight(self, memory: State, deviation: State | None) -> float:
        mu, p = memory.values
        d, own = (deviation or _NO_DEVIATION).values
        return _weight(mu + d + OPTIMISM * sqrt(p + own))

    def lift(self, memory: State, deviation: State | None) -> Lift | None:
        mu, p = memory.values
        d, own = (deviation or _NO_DEVIATION).values
        return Lift(mu + d, sqrt(p + own))

    def update(self, states: States, observation: Observation) -> States:
        if observation.evidence is Evidence.NONE:
            return states
        noise = _Noise(*states.noise.values)
        served = self._served(states, observation)
        residual = _residual(observation, served.gain, served.variance, states.cell, noise)
        credit = observation.credit(residual.error, served.lifts)
        credited = _credited(served, residual, observation, credit=credit)
        memories, influences = _shared(served, credited, observation)
        return States(
            memories={**states.memories, **memories},
            deviations={
                **states.deviations,
                **_deviated(served, residual, observation.now, credit=credit),
            },
            cell=_baseline(states.cell, residual, observation, noise),
            noise=_noise(states, served.gain, residual, observation),
            influences=influences,
        )

    def baseline(self, states: States) -> float | None:
        return states.cell.values[0]

    def measurements(self, states: States, observation: Observation) -> tuple[Measurement, ...]:
        """One reward measures its run. A pair measures by its off-run, and by what this leaves of
        the on-run: `r_on - rho r_off`, whose noise has nothing more in common with the off-run's.
        """
        noise = _Noise(*states.noise.values)
        on, off = _rewards(observation)
        match observation.evidence:
            case Evidence.PAIRED:
                beside = Measurement(off, 0.0, 1.0, noise.r_single)
                rho, effect = noise.rho, observation.effect
                left = Measurement(on - rho * off, effect, 1.0 - rho, noise.r_paired)
                return beside, left
            case Evidence.SINGLE:
                return (Measurement(on, observation.effect, 1.0, noise.r_single),)
            case Evidence.CONTROL:
                return (Measurement(off, 0.0, 1.0, noise.r_single),)
            case Evidence.NONE:
                return ()

    def residual(self, states: States, observation: Observation) -> float | None:
        if observation.evidence is Evidence.NONE:
            return None
        served = self._served(states, observation)
        noise = _Noise(*states.noise.values)
        return _residual(observation, served.gain, served.variance, states.cell, noise).error

    def _served(self, states: States, observation: Observation) -> _Served:
        now, exposure = observation.now, observation.exposed
        ids = exposure.keys()
        common = {i: self.age_memory(states.memories[i], now) for i in ids}
        influences = {i: self.age_influence(s, now) for i, s in states.influences.items()}
        return _Served(
            common,
            {i: feel(common[i], influences.get(i)) for i in ids},
            {i: self.age_deviation(states.deviations.get(i, _NO_DEVIATION), now) for i in ids},
            influences,
            exposure,
        )


_NO_DEVIATION = State((0.0, DEVIATION_VARIANCE))


def _weight(lift: float) -> float:
    return weights.bounded(weights.NEUTRAL + lift / SCALE)


def _aged(state: State, now: datetime, prior: float) -> State:
    """Mean and variance on their way back to the prior: half the mean is gone in a half-life."""
    if state.touched is None:
        return state
    touched = later(state.touched, now)
    kept = _kept(state.touched, touched)
    mean, variance = state.values
    variance = min(prior, variance + (1.0 - kept * kept) * (prior - variance))
    return State((kept * mean, variance), touched)


def _kept(touched: datetime, now: datetime) -> float:
    """The share of an effect that age has left."""
    return 0.5 ** ((now - touched) / HALF_LIFE)


def _edited(state: State, now: datetime, prior: float) -> State:
    """Half of what was known about the old text is taken to hold for the new one."""
    mean, variance = state.values
    return State((mean / 2, variance + (prior - variance) / 2), later(state.touched, now))


def _rewards(observation: Observation) -> tuple[float, float]:
    """(r_on, r_off), 0 for the one that was not observed; its coefficient is 0 as well."""
    return observation.reward_on or 0.0, observation.reward_off or 0.0


def _residual(
    observation: Observation, gain: float, variance: float, cell: State, noise: _Noise
) -> _Residual:
    """`y - gain - (1 - rho) b`; in a pair y is `r_on - rho r_off`, else the one reward."""
    b, uncertainty = cell.values
    on, off = _rewards(observation)
    if observation.evidence is Evidence.PAIRED:
        rho, y, r = noise.rho, on - noise.rho * off, noise.r_paired
    else:
        rho, y, r = 0.0, on + off, noise.r_single
    variance += (1.0 - rho) ** 2 * uncertainty
    return _Residual(y - gain - (1.0 - rho) * b, variance, variance + r)


def _moved(state: State, error: float, spread: float, now: datetime, credit: float = 1.0) -> State:
    """A belief after one observation of it: mean by h · variance · error / S, variance shrunken by
    h² · variance² / S, where h (`credit`) says how far the error is its doing.
    """
    mean, variance = state.values
    reach = credit * variance
    return State(
        (mean + reach * error / spread, variance - reach * reach / spread),
        later(state.touched, now),
    )


def _credited(
    served: _Served,
    residual: _Residual,
    observation: Observation,
    *,
    credit: Mapping[UUID, float],
) -> dict[UUID, State]:
    """The beliefs after the outcome and its verdicts, as the reporter feels them; an author's word
    leaves its own as it was, and a residual what is not to blame for it.
    """
    now = observation.now
    # Named both helpful and harmful, a memory was told nothing.
    verdicts = dict.fromkeys(set(observation.helpful) - set(observation.harmful), VERDICT)
    verdicts |= dict.fromkeys(set(observation.harmful) - set(observation.helpful), -VERDICT)
    after: dict[UUID, State] = {}
    for i, state in served.memories.items():
        if i in observation.author_of:
            after[i] = State(state.values, later(state.touched, now))
            continue
        after[i] = _moved(state, residual.clipped, residual.spread, now, credit[i])
        if i in verdicts:
            mean, variance = after[i].values
            after[i] = _moved(after[i], verdicts[i] - mean, variance + VERDICT_NOISE, now)
    return after


class _Shared(NamedTuple):
    memories: dict[UUID, State]
    influences: dict[UUID, State]


def _shared(served: _Served, felt: dict[UUID, State], observation: Observation) -> _Shared:
    """What the beliefs come to for everybody: of one party's word no more than its bound grants."""
    if observation.party is None:
        return _Shared(felt, {})
    shared = _Shared({}, {})
    for i, after in felt.items():
        before = served.memories[i]
        if i in observation.own or after.values == before.values:
            step = after.values[0] - before.values[0]
            mean = served.common[i].values[0] + step
            shared.memories[i] = State((mean, after.values[1]), after.touched)
            continue
        granted = grant(served.common[i], served.influences.get(i), before=before, after=after)
        shared.memories[i] = granted.common
        shared.influences[i] = granted.influence
    return shared


def _deviated(
    served: _Served, residual: _Residual, now: datetime, *, credit: Mapping[UUID, float]
) -> dict[UUID, State]:
    return {
        i: _moved(state, residual.clipped, residual.spread, now, credit[i])
        for i, state in served.deviations.items()
    }


def _baseline(cell: State, residual: _Residual, observation: Observation, noise: _Noise) -> State:
    """A pair shows the baseline plainly, in its off-run; a single run shows it in the residual."""
    b, uncertainty = cell.values
    if observation.evidence is Evidence.PAIRED:
        share = uncertainty / (uncertainty + noise.r_single)
        b += share * (_rewards(observation)[1] - b)
    else:
        share = uncertainty / residual.spread
        b += share * residual.error
    left = uncertainty - share * uncertainty + BASELINE_DRIFT
    return State((b, min(left, BASELINE_VARIANCE)), later(cell.touched, observation.now))


def _averaged(average: float, n: float, value: float) -> float:
    return average + (value - average) / min(n + 1.0, MEMORY_OF_NOISE)


def _noise(states: States, gain: float, residual: _Residual, observation: Observation) -> State:
    """Noise is what a squared residual leaves once the doubt about the beliefs is taken off."""
    noise = _Noise(*states.noise.values)
    unexplained = residual.error**2 - residual.variance
    if observation.evidence is Evidence.PAIRED:
        r = _averaged(
            noise.r_paired, noise.n_paired, max(unexplained, NOISE_FLOOR * noise.r_paired)
        )
        on, off = _rewards(observation)
        u = off - states.cell.values[0]
        v = on - states.cell.values[0] - gain
        after = noise._replace(
            r_paired=r,
            n_paired=noise.n_paired + 1.0,
            cov=_averaged(noise.cov, noise.n_pair, u * v),
            var=_averaged(noise.var, noise.n_pair, u * u),
            n_pair=noise.n_pair + 1.0,
        )
    else:
        r = _averaged(
            noise.r_single, noise.n_single, max(unexplained, NOISE_FLOOR * noise.r_single)
        )
        after = noise._replace(r_single=r, n_single=noise.n_single + 1.0)
    return State(after[:], later(states.noise.touched, observation.now))
