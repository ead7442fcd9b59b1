"""Figures and targets from the evidence: pure, so a sharper figure needs no new run."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter

from benchmarks.metrics import Target, at_least, at_most
from benchmarks.structure import budget
from benchmarks.structure.classes import Mirror, client_mirrors, server_mirrors, several_homes
from benchmarks.structure.evidence import Evidence
from benchmarks.structure.field_cost import hand_written
from benchmarks.structure.source import CLIENT, HOUSE, MEMORY, SERVER

FIELD_FILES, WALK_MODULES, WALK_TYPES, WALKS = 9, 8, 4, 3
SHARE_OF_LINES = 0.85
HOUSE_LINES = "lines_of_memory_server_and_client"
Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Release:
    """The figures of a revision, as this suite measured them."""

    revision: str
    numbers: dict[str, float]


# docs/benchmarks/structure.md says how to measure it again.
FIRST_RELEASE = TypeAdapter(Release).validate_json(
    Path(__file__).with_name("first_release.json").read_text(encoding="utf-8")
)


def numbers(evidence: Evidence) -> dict[str, float]:
    """The figures by name. What was not there to measure has none."""
    return {
        **_field_numbers(evidence),
        **_walk_numbers(evidence),
        **_class_numbers(evidence),
        **_budget_numbers(evidence),
        **_line_numbers(evidence),
    }


def lists(evidence: Evidence) -> dict[str, list[str]]:
    """What stands behind the figures that are to be zero, and the small modules, by name."""
    homes = several_homes(evidence.classes)
    mirrors = [*server_mirrors(evidence.classes), *client_mirrors(evidence.classes)]
    return {
        "walk faults": [fault.line for fault in evidence.walk_faults],
        "returns": [
            f"{walk.title}: {step.path} {step.function}"
            for walk in evidence.walks
            for step in walk.returns
        ],
        "class names with several homes": [f"{n}: {', '.join(p)}" for n, p in homes.items()],
        "classes equal to a noun, no reason given": [
            f"{m.path} {m.name}: {', '.join(m.nouns)}" for m in mirrors if not m.has_reason
        ],
        "tuple bundles": [
            f"{p.path}:{p.line} {p.function}({p.parameter}: {p.annotation})"
            for p in evidence.tuple_parameters
            if p.is_bundle
        ],
        **budget_lists(evidence),
    }


def targets(found: Numbers) -> list[Target]:
    """What the suite aims at."""
    lines, first = found[HOUSE_LINES], FIRST_RELEASE.numbers.get(HOUSE_LINES)
    share = lines / first if first else None
    return [
        _most(found, FIELD_FILES, "field_files"),
        at_least("walks", WALKS, found.get("walks"), {}),
        _most(found, 0, "walk_faults"),
        _most(found, WALK_MODULES, "walk_modules"),
        _most(found, WALK_TYPES, "walk_types"),
        _most(found, 0, "walk_returns"),
        _most(found, 0, "class_names_with_several_homes"),
        _most(found, 0, "server_classes_equal_to_a_noun"),
        _most(found, 0, "client_classes_equal_to_a_noun"),
        _most(found, 0, "modules_over_500_lines"),
        _most(found, 0, "functions_over_60_lines"),
        _most(found, 0, "functions_over_complexity_10"),
        _most(found, budget.MEDIAN_FUNCTION, "median_function_lines"),
        _most(found, 0, "tuple_bundles"),
        at_most(f"{HOUSE_LINES}, share of the first release's", SHARE_OF_LINES, share, {}),
    ]


def _most(found: Numbers, target: float, name: str) -> Target:
    parts = {key: value for key, value in found.items() if key.startswith(f"{name}_")}
    return at_most(name, target, found.get(name), parts)


def _field_numbers(evidence: Evidence) -> dict[str, float]:
    files = evidence.field_files
    if not files:
        return {}
    by_hand = len(hand_written(files))
    return {"field_files": by_hand, "field_generated_files": len(files) - by_hand}


def _walk_numbers(evidence: Evidence) -> dict[str, float]:
    """Of the widest walk, and of each by its number on the page."""
    walks = evidence.walks
    if not walks:
        return {}
    found: dict[str, float] = {
        "walks": len(walks),
        "walk_faults": len(evidence.walk_faults),
    }
    counts = {
        "walk_modules": [len(walk.modules) for walk in walks],
        "walk_types": [len(walk.types) for walk in walks],
        "walk_returns": [len(walk.returns) for walk in walks],
    }
    for name, values in counts.items():
        found[name] = max(values)
        found |= {f"{name}_{number}": value for number, value in enumerate(values, 1)}
    return found


def _class_numbers(evidence: Evidence) -> dict[str, float]:
    found = evidence.classes
    return {
        **{f"classes_in_{_word(p)}": sum(_is_of(c.path, p) for c in found) for p in HOUSE},
        "class_names_with_several_homes": len(several_homes(found)),
        **_mirror_numbers("server", server_mirrors(found)),
        **_mirror_numbers("client", client_mirrors(found)),
    }


def _mirror_numbers(part: str, mirrors: list[Mirror]) -> dict[str, float]:
    with_reason = sum(mirror.has_reason for mirror in mirrors)
    name = f"{part}_classes_equal_to_a_noun"
    return {name: len(mirrors) - with_reason, f"{name}_with_a_reason": with_reason}


def _budget_numbers(evidence: Evidence) -> dict[str, float]:
    functions, tuples = evidence.functions, evidence.tuple_parameters
    bundles = sum(parameter.is_bundle for parameter in tuples)
    return {
        "modules": len(evidence.modules),
        "functions": len(functions),
        "median_function_lines": median(f.lines for f in functions) if functions else 0,
        **{name.replace(" ", "_"): len(v) for name, v in budget_lists(evidence).items()},
        "tuple_bundles": bundles,
        "tuple_pairs": len(tuples) - bundles,
    }


def budget_lists(evidence: Evidence) -> dict[str, list[str]]:
    """What is beyond the budget, and the small modules, each with its number."""
    return {
        "modules under 60 lines": [f"{m.path}: {m.lines}" for m in evidence.modules if m.is_small],
        "modules over 500 lines": [f"{m.path}: {m.lines}" for m in evidence.modules if m.is_large],
        "functions over 60 lines": [
            f"{f.path}:{f.line} {f.name}: {f.lines}"
            for f in evidence.functions
            if f.lines > budget.LONG_FUNCTION
        ],
        "functions over complexity 10": [
            f"{f.path}:{f.line} {f.name}: {f.complexity}"
            for f in evidence.functions
            if f.complexity > budget.COMPLEXITY
        ],
    }


def _line_numbers(evidence: Evidence) -> dict[str, float]:
    """Hand-written lines, blank ones and comments too; those of generated files stand apart.

    Of `memory`, `server` and the client Python alone is summed: 48,049 lines at the first release.
    The server's templates are counted beside it.
    """
    by_hand = [file for file in evidence.files if not file.generated]
    lines: Counter[str] = Counter()
    for file in by_hand:
        lines[f"{_area(file.path)} {file.kind}"] += file.lines
    found: dict[str, float] = {f"lines_{_word(p)}": lines[f"{p} python"] for p in HOUSE}
    found[HOUSE_LINES] = sum(found.values())
    found["lines_server_templates"] = lines[f"{SERVER} html"]
    found["lines_other_clients"] = lines["clients python"]
    for area in ("migrations", "benchmarks", "tests"):
        found[f"lines_{area}"] = lines[f"{area} python"]
    found["lines_docs"] = lines["docs markdown"]
    found["lines_generated"] = sum(file.lines for file in evidence.files if file.generated)
    return found


def lines_by_folder(evidence: Evidence) -> dict[str, int]:
    """Hand-written lines of all kinds, by the first two folders of a path."""
    lines: Counter[str] = Counter()
    for file in evidence.files:
        if not file.generated:
            lines[file.folder] += file.lines
    return dict(sorted(lines.items()))


def _area(path: str) -> str:
    """`memory`, `server`, `clients/python`, and for the rest the first folder."""
    return next((part for part in HOUSE if _is_of(path, part)), path.partition("/")[0])


def _word(part: str) -> str:
    return {MEMORY: "memory", SERVER: "server", CLIENT: "client"}[part]


def _is_of(path: str, part: str) -> bool:
    return path.startswith(f"{part}/")
