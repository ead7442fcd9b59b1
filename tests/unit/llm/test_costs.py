"""What tokens cost, by a list of prices that the test writes."""

from datetime import date

import pytest

from memory.llm.cost_entities import TokenPrice, TokenUse
from memory.llm.costs import PriceList, cost_of, sum_up
from memory.llm.prices import price_of

LIST = {
    "small": {
        "litellm_provider": "north",
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 5e-6,
    },
    "south/free": {
        "litellm_provider": "south",
        "input_cost_per_token": 0,
        "output_cost_per_token": 0.0,
    },
    "pictures": {"litellm_provider": "north", "output_cost_per_image": 0.1},
}
FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("small", TokenPrice(1e-6, 5e-6)),
        ("north/small", TokenPrice(1e-6, 5e-6)),
        ("south/free", TokenPrice(0, 0)),
        # Another provider's model of that name has another price.
        ("south/small", None),
        ("north/pictures", None),
        ("north/unheard-of", None),
    ],
)
def test_a_price_is_that_of_the_model_at_its_provider(model, price):
    assert price_of(model, LIST) == price


def test_the_estimate_lies_between_the_bounds_as_the_words_are_divided():
    price = TokenPrice(1e-6, 5e-6)
    quarter, unknown = cost_of(1_000_000, price, 0.25), cost_of(1_000_000, price, None)

    assert (quarter.least, quarter.about, quarter.most) == pytest.approx((1, 2, 5))
    assert unknown.about == pytest.approx(3)


def test_days_roles_and_the_total_say_the_same_money_and_what_has_no_price():
    used = [
        TokenUse(FIRST, "compile", "north/small", 2, 1_000_000, 0.0),
        TokenUse(SECOND, "compile", "north/small", 1, 2_000_000, 0.0),
        TokenUse(SECOND, "judge", "north/unheard-of", 3, 7, None),
    ]
    listed = {one.model: price_of(one.model, LIST) for one in used}
    found = sum_up(used, PriceList(listed), FIRST, SECOND, None)

    assert [(one.title, one.calls, one.tokens, one.unpriced) for one in found.days] == [
        ("2026-03-02", 4, 2_000_007, 7),
        ("2026-03-01", 2, 1_000_000, 0),
    ]
    assert [one.title for one in found.roles] == [
        "compile, north/small",
        "judge, north/unheard-of",
    ]
    assert found.roles[1].cost is None
    assert found.today == found.days[0]
    assert [(one.title, one.calls) for one in found.roles_today] == [
        ("compile, north/small", 1),
        ("judge, north/unheard-of", 3),
    ]
    assert found.total.cost is not None
    assert found.total.cost.about == pytest.approx(3)
    assert (found.total.calls, found.total.unpriced) == (6, 7)


def test_without_a_list_there_are_tokens_and_no_money():
    used = [TokenUse(FIRST, "search", "north/small", 1, 9, 0.5)]
    found = sum_up(used, PriceList({}, is_there=False), FIRST, FIRST, None)

    assert not found.are_prices_known
    assert (found.total.tokens, found.total.cost) == (9, None)
