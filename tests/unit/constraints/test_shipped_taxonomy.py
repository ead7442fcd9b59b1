"""The shipped taxonomy holds together, and it is told which categories have lost their place."""

import pytest

from memory.constraints.taxonomy import displaced, shipped
from memory.constraints.taxonomy_entities import (
    MAX_ENTRIES,
    Branch,
    Subcategory,
    TaxonomyDraft,
    TaxonomyVersion,
)
from memory.kernel.errors import Rejected, TooLarge


def a_version(number: int, *names: str, allow_new: bool = True) -> TaxonomyVersion:
    branches = tuple(Branch(name, f"about {name}") for name in names)
    return TaxonomyVersion(number, branches, allow_new, None)


def test_the_shipped_taxonomy_can_be_brought_as_it_is():
    taxonomy = shipped()

    assert TaxonomyDraft(taxonomy.categories).categories == taxonomy.categories
    assert all(branch.subcategories and branch.related for branch in taxonomy.categories)
    assert len({description for _, _, description in taxonomy.names()}) == len(
        list(taxonomy.names())
    )


def test_what_is_stored_is_read_back():
    for branch in shipped().categories:
        assert Branch.read(branch.stored()) == branch


@pytest.mark.parametrize(
    ("categories", "field"),
    [
        ((), "categories"),
        ((Branch("a", "x"), Branch("a", "y")), "categories.1.name"),
        ((Branch("general", "x"),), "categories.0.name"),
        ((Branch("a", "x"), Branch("General", "x")), "categories.1.name"),
        ((Branch("a", " "),), "categories.0.description"),
        ((Branch("a", "x", related=("a",)),), "categories.0.related"),
        ((Branch("a", "x", related=("b",)),), "categories.0.related"),
        (
            (Branch("a", "x", subcategories=(Subcategory("s", "1"), Subcategory("s", "2"))),),
            "categories.0.subcategories.1.name",
        ),
        (
            (Branch("a", "x", subcategories=(Subcategory("s", ""),)),),
            "categories.0.subcategories.0.description",
        ),
    ],
)
def test_a_taxonomy_that_contradicts_itself_is_refused(categories, field):
    with pytest.raises(Rejected) as refused:
        TaxonomyDraft(categories)

    assert refused.value.field == field


def test_the_limit_counts_both_levels():
    below = tuple(Subcategory(f"s{n}", "x") for n in range(MAX_ENTRIES - 1))

    assert TaxonomyDraft((Branch("a", "x", subcategories=below),))
    with pytest.raises(TooLarge) as refused:
        TaxonomyDraft((Branch("a", "x", subcategories=below), Branch("b", "x")))
    assert refused.value.limit == MAX_ENTRIES


def test_names_are_cleaned_so_that_equal_ones_are_equal():
    draft = TaxonomyDraft((Branch(" cafe\u0301 ", "x"), Branch("b", "x", related=("café",))))

    assert draft.categories[0].name == "café"


@pytest.mark.parametrize(
    ("versions", "gone"),
    [
        ((), {"general"}),
        ((a_version(1, "maths"),), {"general"}),
        ((a_version(1, "maths", allow_new=False),), {"general", "mine", "sky"}),
        ((a_version(1, "sky"), a_version(2, "maths")), {"general", "sky"}),
        ((a_version(1, "sky", allow_new=False), a_version(2, "sky", "maths")), {"general"}),
        ((a_version(1, "unheard of"), a_version(2, "maths")), {"general"}),
    ],
)
def test_a_category_that_a_caller_named_stands_where_new_ones_are_taken(versions, gone):
    assert displaced({"general", "mine", "sky", "maths"}, versions) == gone


def test_where_nothing_lies_in_general_nothing_is_displaced():
    assert displaced({"mine"}, ()) == set()
