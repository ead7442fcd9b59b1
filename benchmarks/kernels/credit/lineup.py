"""Who is compared: the server's policies, and rules from elsewhere."""

from collections.abc import Callable, Mapping
from functools import partial

from benchmarks.kernels.credit.plugged import Plugged
from benchmarks.kernels.credit.rules import (
    Averaged,
    Counted,
    Fading,
    Plain,
    Rule,
    Stepped,
    Valued,
    Weighted,
)
from benchmarks.kernels.credit.world import World


def _alone(rule: Callable[[], Rule], world: World) -> Rule:  # noqa: ARG001 - knows no world
    return rule()


COMPARISONS: Mapping[str, Callable[[World], Rule]] = {
    "frozen": partial(_alone, Weighted),
    "live_evo": partial(_alone, Plain),  # like `paper`, and single runs too
    "steps_s1": partial(_alone, Stepped),
    "steps_s2": partial(_alone, Fading),
    "ema": partial(_alone, Averaged),
    "ace": partial(_alone, Counted),
    "memrl": partial(_alone, Valued),
}

# Of the server's policies only `belief` explores, as where these numbers come from.
POLICIES: Mapping[str, Callable[[World], Rule]] = {
    "paper": partial(Plugged, "paper", slot_rate=0.0),
    "steps": partial(Plugged, "steps", slot_rate=0.0),
    "delta": partial(Plugged, "delta", slot_rate=0.0),
    "belief": partial(Plugged, "belief"),
}

# The same rule where authors may credit themselves, as others published it.
WITHOUT_AUTHORS: Mapping[str, Callable[[World], Rule]] = {
    "delta_self_credit": partial(Plugged, "delta", slot_rate=0.0, self_credit=True),
}

# What a part of a policy is worth: shown without it, when asked for by name.
VARIATIONS: Mapping[str, Callable[[World], Rule]] = {
    "belief_self_credit": partial(Plugged, "belief", self_credit=True),
    "belief_no_slot": partial(Plugged, "belief", slot_rate=0.0),
}

USUAL: tuple[str, ...] = (*COMPARISONS, *WITHOUT_AUTHORS, *POLICIES)
LINEUP: Mapping[str, Callable[[World], Rule]] = {
    **COMPARISONS,
    **WITHOUT_AUTHORS,
    **POLICIES,
    **VARIATIONS,
}
