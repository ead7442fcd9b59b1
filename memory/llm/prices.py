"""What a token of a model costs, by the price list that comes with litellm.

The list is read as a file, so that a server need not import the library to tell a price, and asks
nobody: its prices are as old as the library that is installed.
"""

import importlib.util
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from memory.llm.cost_entities import TokenPrice

LIST = "model_prices_and_context_window_backup.json"


@lru_cache(maxsize=1)
def read_prices() -> Mapping[str, Any] | None:
    """The list by model; None where the library, or its list, is not there. Blocks at first."""
    found = importlib.util.find_spec("litellm")
    if found is None or not found.submodule_search_locations:
        return None
    try:
        text = (Path(found.submodule_search_locations[0]) / LIST).read_text(encoding="utf-8")
        listed = json.loads(text)
    except (OSError, ValueError):
        return None
    return cast("Mapping[str, Any]", listed) if isinstance(listed, dict) else None


def price_in_force(model: str, given: tuple[float, float] | None) -> TokenPrice | None:
    """What a token of it costs: as the operator says, else by the list; None where nobody knows.
    Blocks at first.
    """
    if given is not None:
        return TokenPrice(*given)
    return price_of(model, read_prices() or {})


def price_of(model: str, listed: Mapping[str, Any]) -> TokenPrice | None:
    """By the model's whole name, else by its name at the provider before the slash; None where the
    list has neither, or does not say what tokens cost.
    """
    provider, _, name = model.partition("/")
    entry = listed.get(model)
    if entry is None and name:
        entry = listed.get(name)
        if isinstance(entry, dict) and entry.get("litellm_provider") != provider:
            return None
    if not isinstance(entry, dict):
        return None
    known = cast("Mapping[str, Any]", entry)
    read, written = known.get("input_cost_per_token"), known.get("output_cost_per_token")
    if not isinstance(read, int | float) or not isinstance(written, int | float):
        return None
    return TokenPrice(float(read), float(written))
