"""The filter of a retrieval as a condition in SQL, to stand beside those of a search."""

from memory.memories.filter_entities import TAGS, RetrievalFilter

_KIND = "m.kind = ANY({kinds})"


_CATEGORY = """m.category_id IN (SELECT id FROM category
        WHERE namespace_id = {ns} AND parent_id IS NULL AND name = {category})"""


_SUBCATEGORY = """m.subcategory_id IN (SELECT id FROM category
        WHERE namespace_id = {ns} AND parent_id IS NOT NULL AND name = {subcategory})"""


_AUTHOR = """m.agent_id IN (SELECT id FROM agent
        WHERE namespace_id = {ns} AND name = ANY({authors}))"""


# `?|` takes the names of an object for texts too; an object holds no tags.
_TAG = f"""jsonb_typeof(m.metadata->'{TAGS}') <> 'object'
        AND m.metadata->'{TAGS}' ?| CAST({{tags}} AS text[])"""


def condition_of(wanted: RetrievalFilter | None, mark: str) -> str:
    """The condition on `memory m`, beginning with AND; nothing where all may be found. `mark`: how
    a parameter is written, such as `:{}`.
    """
    if wanted is None:
        return ""
    parts = {
        _KIND: wanted.kinds,
        _CATEGORY: wanted.category,
        _SUBCATEGORY: wanted.subcategory,
        _AUTHOR: wanted.authors,
        _TAG: wanted.tags,
    }
    marks = {"ns": mark.format("ns")} | {
        name: mark.format(f"only_{name}")
        for name in ("kinds", "category", "subcategory", "authors", "tags")
    }
    return "".join(f" AND {part.format(**marks)}" for part, given in parts.items() if given)


def values_of(wanted: RetrievalFilter | None) -> dict[str, object]:
    """The parameters of that condition, but for the namespace."""
    if wanted is None:
        return {}
    return {
        "only_kinds": list(map(str, wanted.kinds or ())),
        "only_category": wanted.category,
        "only_subcategory": wanted.subcategory,
        "only_authors": list(wanted.authors or ()),
        "only_tags": list(wanted.tags or ()),
    }
