"""Calls about meta-guidelines: how memories are to be used."""

from typing import Unpack

from memlift_client import _fields as f
from memlift_client import _results_bank as bank
from memlift_client._building import get, listed, one, page, patched, posted
from memlift_client._wire import Call


def add_meta_guideline(**fields: Unpack[f.MetaGuidelineFields]) -> Call[bank.Remembered]:
    """Say how memories are to be used; the same words give the meta-guideline that is there."""
    return posted("/meta-guidelines", fields, one(bank.Remembered))


def get_meta_guideline(memory_id: str) -> Call[bank.MetaGuideline]:
    return get(f"/meta-guidelines/{memory_id}", one(bank.MetaGuideline))


def list_meta_guidelines(
    **filters: Unpack[f.MetaGuidelineFilterFields],
) -> Call[bank.Page[bank.MetaGuideline]]:
    return listed("/meta-guidelines", filters, page(bank.MetaGuideline))


def edit_meta_guideline(
    memory_id: str, version: int, **fields: Unpack[f.MetaGuidelineEditFields]
) -> Call[bank.MetaGuideline]:
    """Change its words, as `version` of it was seen; other directives are another one."""
    return patched(f"/meta-guidelines/{memory_id}", fields, version, one(bank.MetaGuideline))


def suspend_meta_guideline(memory_id: str, reason: str | None = None) -> Call[bank.MetaGuideline]:
    """Use it no more until it is restored."""
    return _status(memory_id, "suspend", reason)


def retire_meta_guideline(memory_id: str, reason: str | None = None) -> Call[bank.MetaGuideline]:
    """Use it no more; its record stays."""
    return _status(memory_id, "retire", reason)


def restore_meta_guideline(memory_id: str, reason: str | None = None) -> Call[bank.MetaGuideline]:
    """Use it again."""
    return _status(memory_id, "restore", reason)


def _status(memory_id: str, action: str, reason: str | None) -> Call[bank.MetaGuideline]:
    return posted(
        f"/meta-guidelines/{memory_id}/{action}", {"reason": reason}, one(bank.MetaGuideline)
    )
