"""`python -m benchmarks.soak [--operations N] [--kills N] [--callers N] [--seed N]`.

Two serving processes on one database, callers that do everything callers do, and a process killed
now and then. Exit status 1 where anything acknowledged was lost, anything was answered as it must
not be, or a state is not the fold of its ledger.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from benchmarks.soak.run import Plan, soak


def main(words: Sequence[str]) -> int:
    # Ended from outside it still ends what it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    soaked = soak(_plan(words), _say)
    for line in soaked.lines():
        print(line)
    return 1 if soaked.tally.violations else 0


def _plan(words: Sequence[str]) -> Plan:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    usual = Plan()
    parser.add_argument("--operations", type=int, default=usual.operations)
    parser.add_argument("--callers", type=int, default=usual.callers)
    parser.add_argument("--kills", type=int, default=usual.kills)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--rounds", type=int, default=usual.rounds)
    parser.add_argument("--faults", default=",".join(usual.faults), help="beside kills")
    given = parser.parse_args(words)
    faults = tuple(given.faults.split(",")) if given.faults else ()
    return Plan(given.operations, given.callers, given.kills, given.seed, given.rounds, faults)


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
