"""What an adapter takes beside its requests: `python own_time.py EXAMPLE.py TIMES`.

Runs in the environment of the frameworks. The example is run once to warm up, then `TIMES` times in
the same process, every call of Python looked at, in every thread. Time belongs to whose code it is:
the adapter's with the client below it, HTTP's, or the framework's; what they call of the standard
library is theirs. It is time of the processor, so that waiting counts for nobody; looking makes it
longer, never shorter.
"""

import json
import runpy
import sys
import threading
from collections import Counter
from pathlib import Path
from time import thread_time
from types import FrameType
from typing import Any

OURS = ("/memlift_agents/", "/memlift_client/")
HTTP = ("/httpx/", "/httpcore/", "/anyio/", "/h11/", "/certifi/")
SHARED = ("/pydantic/", "/pydantic_core/", "/typing_extensions.py", "/typing_inspection/")
"""Packages that work for whoever calls them, as the standard library does."""
SETUP = frozenset({"from_home", "remember", "apply_outcomes", "get_experience", "__init__"})
"""What an example calls once, or for its reader's sake: no part of a task."""


class Accounts:
    """Seconds of the processor, by owner."""

    def __init__(self, example: str) -> None:
        self.seconds = Counter[str]()
        self._example = example
        self._here = threading.local()
        self._owners: dict[str, str | None] = {}

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        """A profile function: each call and return closes an interval of its thread."""
        now = thread_time()
        here: Any = self._here
        stack: list[str] = here.__dict__.setdefault("stack", ["framework"])
        self.seconds[stack[-1]] += now - here.__dict__.get("since", now)
        if event == "call":
            stack.append(self._owner(frame, stack[-1]))
        elif event == "return" and len(stack) > 1:
            stack.pop()
        here.since = thread_time()

    def _owner(self, frame: FrameType, caller: str) -> str:
        code = frame.f_code
        owner = self._owners.setdefault(code.co_filename, owner_of(code.co_filename))
        if owner is None or caller == "setup":
            return caller
        if owner == "ours":
            above = frame.f_back
            by_example = above is not None and above.f_code.co_filename == self._example
            if by_example and code.co_name in SETUP:
                return "setup"
        return owner


def owner_of(path: str) -> str | None:
    """Whose code a file is; None: of whoever calls it."""
    if any(part in path for part in OURS):
        return "ours"
    if any(part in path for part in HTTP):
        return "http"
    shared = "/site-packages/" not in path or any(part in path for part in SHARED)
    return None if shared else "framework"


def main(example: str, times: int) -> None:
    """Print milliseconds a run, which is one task, by owner, as JSON."""
    runpy.run_path(example, run_name="__main__")
    accounts = Accounts(example)
    threading.setprofile(accounts.watch)
    for _ in range(times):
        sys.setprofile(accounts.watch)
        try:
            runpy.run_path(example, run_name="__main__")
        finally:
            sys.setprofile(None)
    each = {owner: round(1000 * spent / times, 3) for owner, spent in accounts.seconds.items()}
    print(json.dumps(each))


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), int(sys.argv[2]))
