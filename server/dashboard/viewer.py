"""Who looks, at which namespace, and what a page may ask of that."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from memory.constraints.browsing import count_open_contradictions
from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.text import SLUG
from memory.tenancy.entities import Act, Call, Key, Namespace
from memory.tenancy.service import list_namespaces, open_namespace
from memory.tenancy.session_entities import form_token
from server.dashboard.forms import Form
from server.dashboard.guarding import form_of, key_of_session, session_of
from server.dashboard.navigation import (
    NAVIGATION,
    QUESTIONS,
    MenuEntry,
    MenuSection,
    OverviewQuestion,
    group_entries,
)
from server.dashboard.rendering import rendered, sent_on
from server.dependencies import now_of
from server.middleware import request_id_of
from server.shared import shared_of

SWITCHED = 50
"""So many namespaces the header offers; the page of namespaces has all."""


@dataclass(frozen=True, slots=True)
class PageViewer:
    """A person at the dashboard, for one request.

    `spaces` are the namespaces the header offers; `namespace` is the one looked at, None outside.
    `waiting`: how many things on a page wait for a decision, by the path of its entry.
    """

    request: Request
    engine: Engine
    key: Key
    now: datetime
    csrf: str
    spaces: Sequence[Namespace]
    namespace: Namespace | None
    waiting: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def call(self) -> Call:
        """What use cases ask for. Raises NotFound outside a namespace."""
        if self.namespace is None:
            raise NotFound("this page belongs to a namespace")
        return Call(self.key, self.namespace, self.now)

    @property
    def slug(self) -> str:
        return self.call.namespace.slug

    @property
    def request_id(self) -> str | None:
        return request_id_of(self.request.scope)

    @property
    def base(self) -> str:
        """Where this server is reached, for lines to paste."""
        return str(self.request.base_url).rstrip("/")

    def may(self, act: str) -> bool:
        """Whether the key may: a page shows no button that would be refused."""
        return self.key.may(Act(act))

    def url(self, path: str = "/") -> str:
        """The address of a page of this namespace."""
        return f"/dashboard/ns/{self.slug}{path}"

    @property
    def entries(self) -> Sequence[MenuEntry]:
        if self.namespace is None:
            return ()
        return [entry for entry in NAVIGATION if self.key.may(entry.act)]

    @property
    def questions(self) -> Sequence[OverviewQuestion]:
        """Those whose answer the key may see."""
        return [one for one in QUESTIONS if self.key.may(one.act)]

    @property
    def sections(self) -> Sequence[MenuSection]:
        return group_entries(self.entries)

    def waiting_in(self, section: MenuSection) -> int:
        """How many things wait on the pages under a heading."""
        return sum(self.waiting.get(entry.path, 0) for entry in section.entries)

    @property
    def current_paths(self) -> Sequence[str]:
        """The path of the entry whose page is shown, if the header has it."""
        return [entry.path for entry in self.entries if self.is_at(entry)]

    def is_at(self, entry: MenuEntry) -> bool:
        """Whether the page shown is this entry's, or below it."""
        here, there = self.request.url.path, self.url(entry.path)
        return here == there or (entry.path != "/" and here.startswith(f"{there}/"))


def page(viewer: PageViewer, template: str, status: int = 200, **context: Any) -> Response:
    """A page of `templates/`, with its values and with `viewer`."""
    return rendered(viewer.request, template, status, **context)


def done(viewer: PageViewer, path: str, notice: str) -> Response:
    """After a form was acted upon: on to a page of the namespace, which says `notice` once."""
    return sent_on(viewer.url(path), notice)


async def viewer_of(request: Request) -> PageViewer:
    """Who looks. Raises Unauthenticated without a living session."""
    if (known := getattr(request.state, "viewer", None)) is not None:
        return known
    session_id, now = session_of(request), await now_of(request)
    key = await key_of_session(request)
    engine = shared_of(request).opened()
    spaces = await list_namespaces(engine, key, Page(SWITCHED))
    viewer = PageViewer(request, engine, key, now, form_token(session_id), spaces.items, None)
    request.state.viewer = viewer
    if "namespace" in request.path_params:
        viewer = await _inside(viewer, request.path_params["namespace"])
        if request.method == "GET":
            n = await count_open_contradictions(engine, viewer.call)
            viewer = replace(viewer, waiting={"/contradictions": n})
        request.state.viewer = viewer
    return viewer


async def _inside(viewer: PageViewer, slug: str) -> PageViewer:
    """The viewer at a namespace, which is not there for a key that does not reach it."""
    found = next((space for space in viewer.spaces if space.slug == slug), None)
    if found is None:
        if not SLUG.fullmatch(slug):
            raise NotFound("there is no such namespace")
        found = await open_namespace(viewer.engine, viewer.key, slug)
    parts = (viewer.request, viewer.engine, viewer.key, viewer.now, viewer.csrf, viewer.spaces)
    return PageViewer(*parts, found)


def viewing(act: Act) -> Callable[..., Awaitable[PageViewer]]:
    """Asks for a viewer whose key may `act`."""

    async def viewer(found: "ViewerDep") -> PageViewer:
        found.key.require(act)
        return found

    return viewer


ViewerDep = Annotated[PageViewer, Depends(viewer_of)]
Reads = Annotated[PageViewer, Depends(viewing(Act.READ))]
Remembers = Annotated[PageViewer, Depends(viewing(Act.REMEMBER))]
Retrieves = Annotated[PageViewer, Depends(viewing(Act.RETRIEVE))]
Reports = Annotated[PageViewer, Depends(viewing(Act.REPORT))]
Inspects = Annotated[PageViewer, Depends(viewing(Act.INSPECT))]
Manages = Annotated[PageViewer, Depends(viewing(Act.MANAGE))]
Operates = Annotated[PageViewer, Depends(viewing(Act.OPERATE))]
FormDep = Annotated[Form, Depends(form_of)]
