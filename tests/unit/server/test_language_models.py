"""Language models that an operator names: what is read, and what is refused in words."""

from pathlib import Path

import pytest

from memory.kernel.errors import Rejected
from server.language_models import language_models
from server.settings import Settings

GOOD = """
[models.small]
model = "openai/gpt-4.1-mini"
api_key_file = "{key}"

[models.local]
model = "openai/qwen3"
api_base = "http://127.0.0.1:8080/v1"
price = "0,0"

[roles]
compile = "small"
search = "local"
judge = "default"
"""


def read(text: str, **more: object):
    fields = {"llm_model": "openai/gpt-4.1", "llm_api_key": "sk-own", "llm_models": text} | more
    return language_models(Settings(**fields))


def test_further_models_have_names_keys_prices_and_roles(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-small\n")

    found = read(GOOD.format(key=key), llm_price="2,8")

    assert list(found.by_name) == ["default", "small", "local"]
    own, small, local = found.by_name.values()
    assert (own.model, own.api_key, own.price) == ("openai/gpt-4.1", "sk-own", (2e-6, 8e-6))
    assert (small.model, small.api_key, small.price) == ("openai/gpt-4.1-mini", "sk-small", None)
    assert (local.api_base, local.price) == ("http://127.0.0.1:8080/v1", (0.0, 0.0))
    # A key goes to no other address than its own.
    assert local.api_key is None
    assert found.roles == {"compile": "small", "search": "local", "judge": "default"}


def test_without_further_models_all_is_as_it_was() -> None:
    assert not language_models(Settings()).by_name
    found = language_models(Settings(llm_model="openai/gpt-4.1", llm_api_base="http://here/v1"))
    assert list(found.by_name) == ["default"]
    assert found.own is not None
    assert (found.own.api_base, found.roles) == ("http://here/v1", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "this is no TOML: "),
        ('[models.small]\nmodle = "x"', "models.small.model: Field required"),
        ('[models.small]\nmodel = "x"\nbase = "y"', "models.small.base: Extra inputs are not"),
        ('[models.small]\nmodel = "x"\nprice = "cheap"', "models.small.price: must be two prices"),
        ('[models.small]\nmodel = "x"\napi_base = "y"', "models.small.api_base: must be an addr"),
        ('[models.Small]\nmodel = "x"', "models.Small: a name has lower-case letters, digits"),
        ('[models.default]\nmodel = "x"', "and default is that of MEMLIFT_LLM_MODEL"),
        ('[roles]\ncompile = "large"', "roles.compile: there is no model large; there are default"),
        ('[roles]\npoet = "default"', "roles.poet: Input should be 'compile', 'reflect'"),
        (
            '[models.a]\nmodel = "x"\napi_key = "k"\napi_key_file = "f"',
            "models.a: it has api_key and api_key_file: leave out one of the two",
        ),
        (
            '[models.a]\nmodel = "x"\napi_key_file = "/nowhere/key"',
            "models.a.api_key_file: it cannot be read: ",
        ),
        (
            '[models.a]\nmodel = "openai/gpt-4.1"\nprice = "0,0"',
            "models.a: openai/gpt-4.1 has another price than under the name default",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place_and_without_secrets(
    text: str, said: str
) -> None:
    with pytest.raises(Rejected) as refused:
        read(text)

    assert refused.value.detail.startswith("MEMLIFT_LLM_MODELS: ")
    assert said in refused.value.detail
    assert refused.value.field == "MEMLIFT_LLM_MODELS"


def test_further_models_need_one_for_all_that_nothing_is_chosen_for() -> None:
    with pytest.raises(Rejected, match=r"MEMLIFT_LLM_MODEL: name the model that is asked where"):
        read('[models.small]\nmodel = "x"', llm_model=None)


def test_a_key_is_shown_in_no_representation() -> None:
    found = read('[models.a]\nmodel = "x"\napi_key = "sk-hidden"')

    assert found.further["a"].api_key == "sk-hidden"
    assert "sk-hidden" not in repr(found)
