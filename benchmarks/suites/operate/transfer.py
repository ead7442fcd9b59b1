"""Part of the suite `operate`: a namespace leaves as a file and comes back beside itself."""

from collections.abc import Mapping

from benchmarks.metrics import Target, at_least, at_most, numbers_of
from benchmarks.suites.operate.bank import SLUG, Operated

COPY = "operated-copy"
EXACT = "beliefs of the copy fold to the same bits"
FULL = 100_000
"""Memories that times and sizes of a file are stated for."""
FILES = {
    "plain": ("plain.tar", ("--vectors",)),
    "without vectors": ("small.tar", ("--no-vectors",)),
    "packed": ("packed.tar.gz", ()),
}
EXPORT, IMPORT, SIZE = "export, plain", "import", "size, plain"
AIMS = {EXPORT: ("s", 120.0), IMPORT: ("s", 300.0), SIZE: ("bytes", 1.5e9)}
"""For so many memories, on an idle machine: ours, as nobody has set any."""


def run(operated: Operated) -> None:
    """With vectors, without, and packed; then one of the files comes in again."""
    bench = operated.bench
    for name, (place, words) in FILES.items():
        file = bench.folder / place
        file.unlink(missing_ok=True)
        operated.command(f"export, {name}", "export", SLUG, "--out", file, *words)
        bench.number(f"size, {name}", file.stat().st_size, "bytes")
    words = ("--namespace", COPY, "--conflict", "new_ids")
    said = operated.command(IMPORT, "import", bench.folder / FILES["plain"][0], *words)
    bench.number("rows", int(said.splitlines()[-1].split()[1].replace(",", "")), "rows")
    rebuilt = operated.post(f"/v1/namespaces/{COPY}/jobs/rebuild/runs", {})
    bench.number(EXACT, float(rebuilt["result"]["exact"]), "check")
    found, factor = numbers_of(bench.file.name), FULL / bench.settings["memories"]
    for name, (unit, _) in AIMS.items():
        bench.number(_per_full(name), found[name] * factor, unit)
    for place, _ in FILES.values():
        (bench.folder / place).unlink()


def targets(found: Mapping[str, float]) -> list[Target]:
    """The copy is what its original is; and what 100,000 memories take, in proportion."""
    parts = {name: found[name] for name in (*AIMS, "rows") if name in found}
    return [
        at_least(EXACT, 1.0, found.get(EXACT), parts),
        *(
            at_most(f"{_per_full(name)}, {unit}", aim, found.get(_per_full(name)), {})
            for name, (unit, aim) in AIMS.items()
        ),
    ]


def _per_full(name: str) -> str:
    return f"{name}, per 100,000 memories"
