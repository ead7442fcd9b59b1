"""Who looks, at which namespace, and what a page may ask of that."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound, Unauthenticated
from memory.kernel.paging import Page
from memory.kernel.text import SLUG
from memory.tenancy.entities import Act, Call, Key, Namespace, form_token
from memory.tenancy.service import enter_session, list_namespaces, open_namespace
from server.dashboard.forms import Form
from server.dashboard.guarding import COOKIE, form_of
from server.dashboard.navigation import NAVIGATION, MenuEntry
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
    """

    request: Request
    engine: Engine
    key: Key
    now: datetime
    csrf: str
    spaces: Sequence[Namespace]
    namespace: Namespace | None

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
    session_id = request.cookies.get(COOKIE)
    if session_id is None:
        raise Unauthenticated("log in first")
    shared, now = shared_of(request), now_of(request)
    engine = shared.opened()
    key = await enter_session(engine, session_id, now)
    shared.limits.take(key.id, monotonic())
    spaces = await list_namespaces(engine, key, Page(SWITCHED))
    viewer = PageViewer(request, engine, key, now, form_token(session_id), spaces.items, None)
    request.state.viewer = viewer
    if "namespace" in request.path_params:
        viewer = await _inside(viewer, request.path_params["namespace"])
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
