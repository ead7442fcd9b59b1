"""Calls that hold runs of a task against each other."""

from typing import Unpack

from memlift_client import _fields_contrasts as f
from memlift_client import _results_bank as bank
from memlift_client import _results_contrasts as contrasts
from memlift_client._building import get, listed, one, page, posted
from memlift_client._wire import Call


def contrast(**fields: Unpack[f.ContrastFields]) -> Call[contrasts.Contrasts]:
    """Pair runs of one task and distil the pairs; what takes too long stays queued."""
    return posted("/contrasts", fields, one(contrasts.Contrasts))


def get_contrast(contrast_id: str) -> Call[contrasts.Contrast]:
    """A pair with the constraints that came of it, and what was rejected."""
    return get(f"/contrasts/{contrast_id}", one(contrasts.Contrast))


def list_contrasts(
    **filters: Unpack[f.ContrastFilterFields],
) -> Call[bank.Page[contrasts.Contrast]]:
    """Pairs of runs, oldest first."""
    return listed("/contrasts", filters, page(contrasts.Contrast))


def redo_contrast(contrast_id: str) -> Call[contrasts.Contrast]:
    """Distil a pair again of which nothing came; managers only."""
    return posted(f"/contrasts/{contrast_id}/redo", None, one(contrasts.Contrast))
