"""Wrong calls are answered with what was expected, before anything is sent."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any


def explained(
    owner: type,
    method: Callable[..., Any],
    args: Sequence[object],
    given: Mapping[str, object],
    fault: TypeError,
) -> str:
    """What a method of `owner` takes, where it was given a name that it does not know or was not
    given one that it needs; else what Python says.
    """
    build: Callable[..., object] = inspect.unwrap(method)
    called = next(name for name, one in vars(owner).items() if one is method)
    parameters = inspect.signature(build).parameters.values()
    known = [one.name for one in parameters]
    if unknown := [name for name in given if name not in known]:
        near = get_close_matches(unknown[0], known, n=1)
        meant = f": did you mean {near[0]!r}?" if near else "."
        return (
            f"{called}(): there is no {unknown[0]!r} to send{meant} Expected are {', '.join(known)}"
        )
    needed = [one.name for one in parameters if one.default is one.empty]
    placed = {one.name for one, _ in zip(parameters, args, strict=False)}
    if missing := [name for name in needed if name not in placed | given.keys()]:
        return f"{called}(): {', '.join(missing)} missing; it needs {', '.join(needed)}"
    return str(fault).replace(f"{build.__name__}()", f"{called}()")
