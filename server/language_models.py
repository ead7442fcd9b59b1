"""The language models that an operator names beside MEMLIFT_LLM_MODEL: the TOML text of
MEMLIFT_LLM_MODELS. Nobody else says which there are, where they are or by which key they are asked.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from memory.kernel.engine import DEFAULT_LLM
from memory.kernel.errors import Rejected
from memory.kernel.ports import RoleName
from memory.kernel.text import SLUG
from memory.llm.provider import ProviderPolicy
from server.settings import ASKED, HTTP_URL, PRICE, Settings, token_prices

VARIABLE, OWN = "MEMLIFT_LLM_MODELS", "MEMLIFT_LLM_MODEL"


@dataclass(frozen=True, slots=True)
class LanguageModels:
    """What an operator has named: the model for whatever no other is chosen for, further ones by
    name, and roles that have one of those.
    """

    own: ProviderPolicy | None = None
    further: Mapping[str, ProviderPolicy] = field(default_factory=dict[str, ProviderPolicy])
    roles: Mapping[RoleName, str] = field(default_factory=dict[RoleName, str])

    @property
    def by_name(self) -> dict[str, ProviderPolicy]:
        return {} if self.own is None else {DEFAULT_LLM: self.own, **self.further}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _ModelText(_Part):
    """A model as its table has it; the words are those of litellm."""

    model: str = Field(min_length=1)
    api_base: str | None = Field(None, pattern=HTTP_URL)
    api_key: SecretStr | None = None
    api_key_file: Path | None = None
    price: str | None = Field(None, pattern=PRICE)


class _FileText(_Part):
    """The whole text. Differs from `FurtherLlms`: of tables to be checked, not of open clients."""

    models: dict[str, _ModelText] = Field(default_factory=dict[str, _ModelText])
    roles: dict[RoleName, str] = Field(default_factory=dict[RoleName, str])


def language_models(settings: Settings) -> LanguageModels:
    """What the settings name. Raises Rejected with one line that says what is wrong and where."""
    own = None
    if settings.llm_model is not None:
        key = None if settings.llm_api_key is None else settings.llm_api_key.get_secret_value()
        price = settings.named_price()
        own = ProviderPolicy(settings.llm_model, settings.llm_api_base, key, price)
    if settings.llm_models is None:
        return LanguageModels(own)
    if own is None:
        said = f"name the model that is asked where none of {VARIABLE} is chosen"
        raise Rejected(f"{OWN}: {said}", field=OWN)
    read = _read(settings.llm_models.get_secret_value())
    further = {name: _policy(name, text) for name, text in read.models.items()}
    found = LanguageModels(own, further, read.roles)
    for role, name in read.roles.items():
        if name not in found.by_name:
            raise _refusal(f"roles.{role}", f"there is no model {name}; {_named(found)}")
    _refuse_two_prices(found)
    return found


def _read(text: str) -> _FileText:
    try:
        return _FileText.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as fault:
        raise Rejected(f"{VARIABLE}: this is no TOML: {fault}", field=VARIABLE) from None
    except ValidationError as fault:
        first = fault.errors(include_input=False)[0]
        said = ASKED.get(first.get("ctx", {}).get("pattern", ""), first["msg"])
        place = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise _refusal(place, said) from None


def _policy(name: str, text: _ModelText) -> ProviderPolicy:
    place = f"models.{name}"
    if name == DEFAULT_LLM or not SLUG.fullmatch(name):
        said = "a name has lower-case letters, digits and hyphens"
        raise _refusal(place, f"{said}, and {DEFAULT_LLM} is that of {OWN}")
    key = None if text.api_key is None else text.api_key.get_secret_value()
    if text.api_key_file is not None:
        if key is not None:
            raise _refusal(place, "it has api_key and api_key_file: leave out one of the two")
        try:
            key = text.api_key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise _refusal(f"{place}.api_key_file", f"it cannot be read: {fault}") from None
    price = None if text.price is None else token_prices(text.price)
    return ProviderPolicy(text.model, text.api_base, key or None, price)


def _refuse_two_prices(found: LanguageModels) -> None:
    """Calls are on record by their model: what one cost must not depend on which name was used."""
    known: dict[str, str] = {}
    for name, policy in found.by_name.items():
        other = known.setdefault(policy.model, name)
        if found.by_name[other].price != policy.price:
            said = f"{policy.model} has another price than under the name {other}"
            raise _refusal(f"models.{name}", said)


def _named(found: LanguageModels) -> str:
    return f"there are {', '.join(found.by_name)}"


def _refusal(place: str, said: str) -> Rejected:
    return Rejected(f"{VARIABLE}: {place}: {said}", field=VARIABLE)
