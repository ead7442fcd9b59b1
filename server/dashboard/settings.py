"""Settings of the namespace: what each is now, what it means, and what changes if it is changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast, get_args

from fastapi import Response

from memory.insight.history import what_if
from memory.insight.what_if_entities import WhatIf, WhatIfResult
from memory.insight.what_if_wording import WhatIfVerdict, judge_what_if
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.ports import RoleName
from memory.llm.models import name_for
from memory.outcomes.policy_change import change_namespace
from memory.tenancy.entities import POLICIES, Learning, NamespaceChange, PolicyName
from memory.tenancy.namespace_settings import (
    STRICT,
    STRICT_SETTINGS,
    WHOLE_BANK,
    NamespaceSettings,
    Rerank,
    Taxonomy,
)
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.settings_wording import POLICY_TEXTS, SETTINGS, SettingText
from server.dashboard.time_travel import DifferenceView, load_view
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page
from server.errors import status_of

router = guarded_at("/dashboard/ns/{namespace}/settings")
FLAGS = {"on": True, "off": False}
CHOICES: Mapping[str, type[StrEnum]] = {"taxonomy": Taxonomy, "rerank": Rerank}
"""Kinds of settings that are one of a few words."""
SHOWN = 20
LEAST_TO_CHOOSE = 2


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with its value now, as the form writes it, and that of a new namespace."""

    words: SettingText
    value: str
    default: str
    fixed: bool
    """Whether the namespace's policy settles it."""


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """Which model is asked in a role, of which there are; `otherwise` where none is chosen."""

    role: RoleName
    chosen: str
    names: Sequence[str]
    otherwise: str

    @property
    def is_known(self) -> bool:
        """Whether the server has what is chosen."""
        return not self.chosen or self.chosen in self.names


@router.get("")
async def show_settings(viewer: Reads) -> Response:
    """All settings in force."""
    return _page(viewer)


@router.post("")
async def change_settings(viewer: Manages, form: FormDep) -> Response:
    """Change those whose fields differ from what is in force."""
    try:
        change = _changed(viewer.call.namespace.settings, form)
        if not change:
            raise Rejected("no field differs from what is in force", field="settings")
        wanted = NamespaceChange(settings=change)
        await change_namespace(viewer.engine, viewer.call, wanted, _version(form))
    except MemoryFault as fault:
        return _page(viewer, fault)
    named = ", ".join(one.title.lower() for one in SETTINGS if one.name in change)
    return done(viewer, "/settings", f"Changed: {named}.")


@router.post("/learning")
async def change_learning(viewer: Manages, form: FormDep) -> Response:
    """Freeze learning, or let it go on."""
    try:
        wanted = NamespaceChange(learning=_learning(form))
        await change_namespace(viewer.engine, viewer.call, wanted, _version(form))
    except MemoryFault as fault:
        return _page(viewer, fault)
    frozen = wanted.learning is Learning.FROZEN
    said = "Outcomes are stored from now on and move nothing." if frozen else "Learning goes on."
    return done(viewer, "/settings", said)


@router.post("/policy")
async def change_policy(viewer: Manages, form: FormDep) -> Response:
    """Learn by another policy from now on, and fold what was recorded under it."""
    before = viewer.call.namespace.policy
    try:
        wanted = NamespaceChange(policy=_policy(form.get("policy")))
        changed = await change_namespace(viewer.engine, viewer.call, wanted, _version(form))
    except MemoryFault as fault:
        return _page(viewer, fault)
    said = f"The policy is {changed.policy} now, and every belief was refolded under it."
    said += f" Changing it back to {before} gives the beliefs that {before} makes of the outcomes."
    return done(viewer, "/settings", said)


@router.get("/what-if")
async def show_what_if(viewer: Reads) -> Response:
    """What weights would be under another policy, for the same outcomes; nothing is changed.
    Without a policy in the address, which there are.
    """
    current, wanted = viewer.call.namespace.policy, viewer.request.query_params.get("policy")
    found: WhatIfResult | None = None
    view: DifferenceView | None = None
    verdict: WhatIfVerdict | None = None
    if wanted is not None:
        # One that it cannot be folded under is told on the page of settings.
        try:
            found = await what_if(viewer.engine, viewer.call, WhatIf(_policy(wanted), SHOWN))
        except MemoryFault as fault:
            return _page(viewer, fault)
        verdict = judge_what_if(found)
        view = await load_view(viewer, found.difference)
    others = {name: text for name, text in POLICY_TEXTS.items() if name != current}
    return page(
        viewer,
        "what_if.html",
        found=found,
        verdict=verdict,
        view=view,
        others=others,
        now=POLICY_TEXTS[current],
    )


def _page(viewer: PageViewer, fault: MemoryFault | None = None) -> Response:
    status = 200 if fault is None else status_of(fault)
    return page(
        viewer,
        "settings.html",
        status,
        rows=rows_of(viewer.call.namespace.settings, viewer.call.namespace.policy),
        choices=CHOICES,
        roles=role_choices(viewer.engine, viewer.call.namespace.settings),
        fault=fault,
    )


def role_choices(engine: Engine, settings: NamespaceSettings) -> list[RoleChoice]:
    """For each role, where there is something to choose or was chosen something."""
    names = tuple(engine.llms)
    if len(names) < LEAST_TO_CHOOSE and not settings.llm_models:
        return []
    plain = NamespaceSettings()
    return [
        RoleChoice(role, settings.llm_models.get(role, ""), names, name_for(engine, plain, role))
        for role in get_args(RoleName)
    ]


def rows_of(settings: NamespaceSettings, policy: str) -> list[SettingRow]:
    """Every setting in the order of its words."""
    plain = NamespaceSettings()
    return [
        SettingRow(
            words,
            _in_force(settings, words, policy),
            _written(getattr(plain, words.name)),
            fixed=(policy == STRICT and words.name in STRICT_SETTINGS)
            or (policy in WHOLE_BANK and words.kind == "rerank"),
        )
        for words in SETTINGS
    ]


def _in_force(settings: NamespaceSettings, words: SettingText, policy: str) -> str:
    value = getattr(settings, words.name)
    left_open = words.kind == "rerank" and value is None
    return Rerank.NONE.value if left_open and policy in WHOLE_BANK else _written(value)


def _written(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        named = cast("Mapping[str, str]", value)
        return ", ".join(f"{role}: {name}" for role, name in sorted(named.items()))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _changed(current: NamespaceSettings, form: Form) -> Mapping[str, object]:
    """The fields that say something else than the settings in force."""
    wanted = {
        words.name: _read(words, form.get(words.name).strip())
        for words in SETTINGS
        if words.name in form.fields
    }
    if any(_field_of(role) in form.fields for role in get_args(RoleName)):
        chosen = {role: form.get(_field_of(role)) for role in get_args(RoleName)}
        wanted["llm_models"] = {role: name for role, name in chosen.items() if name}
    return {name: value for name, value in wanted.items() if value != getattr(current, name)}


def _field_of(role: str) -> str:
    return f"llm_models.{role}"


def _read(words: SettingText, text: str) -> object:
    """A field's value. Raises Rejected for one that is none."""
    path = f"settings.{words.name}"
    if words.kind == "flag":
        if text not in FLAGS:
            raise Rejected(f"{path} is on or off", field=path, limit=list(FLAGS))
        return FLAGS[text]
    if not text and words.otherwise:
        return None
    if (choice := CHOICES.get(words.kind)) is not None:
        if text not in set(choice):
            named = " or ".join(choice)
            raise Rejected(f"{path} is {named}", field=path, limit=list(choice))
        return choice(text)
    try:
        return float(text) if words.kind in ("share", "dollars") else int(text)
    except ValueError as fault:
        raise Rejected(f"{path} must be a number", field=path) from fault


def _policy(name: str) -> PolicyName:
    for one in POLICIES:
        if one == name:
            return one
    raise Rejected("choose a policy", field="policy", limit=list(POLICIES))


def _version(form: Form) -> int:
    try:
        return int(form.get("version"))
    except ValueError as fault:
        raise Rejected("the form names no version of the settings", field="version") from fault


def _learning(form: Form) -> Learning:
    try:
        return Learning(form.get("learning"))
    except ValueError as fault:
        raise Rejected("choose on or frozen", field="learning", limit=list(Learning)) from fault
