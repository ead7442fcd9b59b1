"""How far one party alone may move what everybody believes of a memory.

A party's net effect `g` on a memory is the sum of its steps, ageing as the belief does. Everybody
counts of it what lies within a bound, whatever the others say; the party itself feels it whole. So
a lie is worth little to others, a party takes nothing from what others count for, and nothing is
granted later: what counts is a function of the party's own effect.

An influence is the state `(g, counted)`, both as added reward. Why the bound does not follow the
balance of parties: decision 38.
"""

from dataclasses import dataclass

from memory.belief.states import State

BOUND = 0.02
"""What one party counts for at most, in added reward: .2 of weight."""

PLAIN = 0.02
"""From this effect on a party has plainly moved a memory."""

NO_INFLUENCE = State((0.0, 0.0))


def feel(common: State, influence: State | None) -> State:
    """A memory's belief as the party feels whose influence it is: its own effect whole."""
    if influence is None:
        return common
    effect, counted = influence.values
    mean, variance = common.values
    return State((mean + (effect - counted), variance), common.touched)


@dataclass(frozen=True, slots=True)
class Granted:
    """A memory after a party's step: what everybody believes, and the party's influence."""

    common: State
    influence: State


def grant(common: State, influence: State | None, *, before: State, after: State) -> Granted:
    """What a party's step comes to for everybody.

    `common` and `influence` are aged to the moment of the step; `before` and `after` are the belief
    as the party feels it. Of a step that counts only in part, the variance shrinks by that part:
    what is clipped has told others nothing.
    """
    effect, counted = (influence or NO_INFLUENCE).values
    step = after.values[0] - before.values[0]
    effect += step
    counts = min(BOUND, max(-BOUND, effect))
    granted = counts - counted
    share = min(1.0, max(0.0, granted / step)) if step else 1.0
    mean, variance = common.values
    variance -= share * (before.values[1] - after.values[1])
    return Granted(
        State((mean + granted, variance), after.touched), State((effect, counts), after.touched)
    )
