"""What the suite `guidelines` aims at, from its measurements alone."""

from collections.abc import Mapping, Sequence

from benchmarks import metrics
from benchmarks.metrics import Row, Target

FIRST_SERVED, FIRST_FIRST = 17 / 20, 15 / 20
"""What the first release served and put first, of twenty tasks of another corpus."""
NEAR = 0.15
"""So far a reported effect may lie from the published one, which is of twice as many tasks."""


def targets(rows: Sequence[Row]) -> list[Target]:
    found = metrics.numbers(rows)
    return [
        *_of_guidelines(found),
        *_of_places(found, "", ""),
        *_of_keeping(found),
        *_of_reflections(found),
        *_of_places(found, "model_", " (language model)"),
        metrics.at_most(
            "length against the first release (language model)",
            0.35,
            found.get("model_length_ratio"),
            _parts(found, "model_written"),
        ),
    ]


def _of_guidelines(found: Mapping[str, float]) -> list[Target]:
    return [
        metrics.at_least(
            "payload share of tokens, short lessons",
            0.60,
            found.get("payload_share"),
            _parts(found, "first_release_payload", "short_guidelines", "notes_each"),
        ),
        metrics.at_most(
            "length against the first release",
            0.35,
            found.get("length_ratio"),
            _parts(found, "tokens_each", "first_release_tokens_each"),
        ),
        metrics.at_most(
            "notes whose texts are not as stored",
            0.0,
            found.get("texts_changed"),
            _parts(found, "notes_read", "code_texts_read", "code_texts"),
        ),
    ]


def _of_places(found: Mapping[str, float], prefix: str, suffix: str) -> list[Target]:
    def others(what: str) -> dict[str, float]:
        names = [f"{prefix}{what}_{one}" for one in ("en_aside", "de", "fr", "es", "zh")]
        return _parts(found, *names)

    return [
        metrics.at_least(
            f"right lesson served, English{suffix}",
            0.90,
            found.get(f"{prefix}served_en"),
            {"first_release": FIRST_SERVED, **others("served")},
        ),
        metrics.at_least(
            f"right lesson first, English{suffix}",
            0.75,
            found.get(f"{prefix}first_en"),
            {"first_release": FIRST_FIRST, **others("first")},
        ),
    ]


def _of_keeping(found: Mapping[str, float]) -> list[Target]:
    return [
        metrics.at_most(
            "opposites merged, of the cases",
            0.0,
            found.get("opposites_cases_merged"),
            {"first_release": 19.0, **_parts(found, "opposites_cases")},
        ),
        metrics.at_most(
            "opposites merged, others",
            0.0,
            found.get("opposites_own_merged"),
            _parts(found, "opposites_own"),
        ),
        metrics.at_least(
            "twins merged, of the cases",
            6.0,
            found.get("twins_cases_merged"),
            {"first_release": 5.0, **_parts(found, "twins_cases")},
        ),
        metrics.at_least(
            "twins merged, others",
            8.0,
            found.get("twins_own_merged"),
            _parts(found, "twins_own"),
        ),
        metrics.at_least(
            "corrections kept",
            found.get("corrections", 20.0),
            found.get("corrections_kept"),
            {"first_release": 0.0, **_parts(found, "echos", "echos_kept")},
        ),
    ]


def _of_reflections(found: Mapping[str, float]) -> list[Target]:
    return [
        *_near_published(found, "household"),
        *_near_published(found, "questions"),
        metrics.at_most(
            "reflections, web shopping: reported effect",
            0.03,
            _size(found.get("web_shopping_effect")),
            _parts(found, "web_shopping_effect_low", "web_shopping_effect_high"),
        ),
        metrics.at_most(
            "reflections, web shopping: intervals without 0",
            0.0,
            _excludes_zero(found, "web_shopping"),
            {},
        ),
        metrics.at_most(
            "reflections, web shopping: largest weight",
            1.1,
            found.get("web_shopping_largest_weight"),
            _parts(found, "web_shopping_tasks"),
        ),
    ]


def _near_published(found: Mapping[str, float], name: str) -> list[Target]:
    """The sign and roughly the size, where memory was published to help."""
    effect, published = found.get(f"{name}_effect"), found.get(f"{name}_published")
    apart = None if effect is None or published is None else abs(effect - published)
    words = name.replace("_", " ")
    return [
        metrics.at_least(
            f"reflections, {words}: reported effect",
            0.0,
            effect,
            _parts(found, f"{name}_effect_low", f"{name}_effect_high", f"{name}_tasks"),
        ),
        metrics.at_most(
            f"reflections, {words}: apart from the published",
            NEAR,
            apart,
            _parts(found, f"{name}_published", f"{name}_recorded"),
        ),
    ]


def _size(value: float | None) -> float | None:
    return None if value is None else abs(value)


def _excludes_zero(found: Mapping[str, float], name: str) -> float | None:
    """1 where the interval says that there is an effect; where there is none, nothing is said."""
    if f"{name}_effect" not in found:
        return None
    low, high = found.get(f"{name}_effect_low", 0.0), found.get(f"{name}_effect_high", 0.0)
    return float(low > 0 or high < 0)


def _parts(found: Mapping[str, float], *names: str) -> dict[str, float]:
    return {name: found[name] for name in names if name in found}
