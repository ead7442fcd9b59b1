"""The taxonomy that is shipped, and which categories no longer have a place in one."""

import json
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import cast

from memory.domain.taxonomy import GENERAL_NAME, Branch, TaxonomyVersion


def shipped() -> TaxonomyVersion:
    """Version 0: mathematics, programming, forecasting and agent work, open to new categories."""
    text = resources.files("memory.contrast").joinpath("taxonomy.json").read_text("utf-8")
    stored = cast("Sequence[Mapping[str, object]]", json.loads(text))
    branches = tuple(Branch.read(one) for one in stored)
    return TaxonomyVersion(0, branches, allow_new=True, recorded_at=None)


def displaced(known: Collection[str], versions: Sequence[TaxonomyVersion]) -> set[str]:
    """Of the known categories, those whose tasks are to be routed anew.

    Always `general`. In a closed taxonomy, the last of `versions`, all that it does not name; in
    an open one those that an earlier version named and it does not: a category that a caller named
    stands.
    """
    current = {branch.name for branch in versions[-1].categories} if versions else set[str]()
    gone = {GENERAL_NAME}
    if versions and not versions[-1].allow_new:
        gone |= set(known) - current
    for version in versions[:-1]:
        gone |= {branch.name for branch in version.categories} - current
    return gone & set(known)
