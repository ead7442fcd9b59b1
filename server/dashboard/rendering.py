"""From templates to pages: escaping is always on, and an unknown name is a fault, not a blank."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse

from memory.memories.entities import HIDDEN
from server.dashboard.files import asset_url
from server.dashboard.stored import brief, editable, marked, plain, short, stored
from server.dashboard.terms import EXPLAINED, TERMS
from server.schemas.problems import Problem

TEMPLATES = Path(__file__).parent / "templates"
NOTICE = "memlift_notice"
NOTICE_SECONDS = 30
MAX_NOTICE = 500
MINUS = "\N{MINUS SIGN}"
UNKNOWN = "not known yet"
LEAST_DOLLARS = 0.0001
MINUTE, HOUR, DAY = 60, 3_600, 86_400

HTMX = json.dumps(
    {
        "allowEval": False,
        "includeIndicatorStyles": False,
        "allowScriptTags": False,
        "selfRequestsOnly": True,
        "historyCacheSize": 0,
    }
)


def moment(at: datetime | None) -> Markup | str:
    """A time in UTC, to the second for machines and to the minute for people."""
    if at is None:
        return "never"
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%Y-%m-%d %H:%M")
    )


def number(value: float | None, digits: int = 3) -> str:
    """With a true minus, so that columns line up; what is not known says so."""
    if value is None:
        return UNKNOWN
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    shown = f"{value:.{digits}f}"
    return shown.replace("-", MINUS) if float(shown) else f"{0:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """As `number`, with a plus before what is above nothing."""
    shown = number(value, digits)
    return f"+{shown}" if value is not None and float(f"{value:.{digits}f}") > 0 else shown


def percent(value: float | None, digits: int = 0) -> str:
    return UNKNOWN if value is None else f"{100 * value:.{digits}f} %"


def dollars(value: float | None) -> str:
    """US dollars: to the cent from a dollar on, else to the hundredth of a cent."""
    if value is None:
        return UNKNOWN
    if 0 < value < LEAST_DOLLARS:
        return f"< ${LEAST_DOLLARS}"
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def span(length: timedelta | None) -> str:
    """A duration in the unit that fits it."""
    if length is None:
        return "under way"
    seconds = length.total_seconds()
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.0f} h" if seconds < 2 * DAY else f"{seconds / DAY:.0f} days"


def _is_hidden(value: object) -> bool:
    """Whether it stands for a private memory, as an id or in the record of a job."""
    return str(value) == str(HIDDEN)


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "moment": moment,
        "number": number,
        "signed": signed,
        "percent": percent,
        "dollars": dollars,
        "span": span,
        "marked": marked,
        "stored": stored,
        "brief": brief,
        "short": short,
        "plain": plain,
        "editable": editable,
    }
    made.tests |= {"hidden": _is_hidden}
    known: dict[str, Any] = {
        "TERMS": TERMS,
        "EXPLAINED": EXPLAINED,
        "HTMX": HTMX,
        "asset_url": asset_url,
    }
    made.globals.update(known)
    return made


ENVIRONMENT = _environment()


def rendered(request: Request, template: str, status: int, **context: Any) -> Response:
    """A page for whoever `request.state.viewer` is, if anyone."""
    notice = request.cookies.get(NOTICE)
    context = {
        "viewer": getattr(request.state, "viewer", None),
        "path": request.url.path,
        "notice": None if notice is None else unquote(notice),
        **context,
    }
    answer = HTMLResponse(ENVIRONMENT.get_template(template).render(context), status)
    if notice is not None:
        answer.delete_cookie(NOTICE, path="/dashboard")
    return answer


def problem_page(request: Request, problem: Problem) -> Response:
    return rendered(request, "problem.html", problem.status, problem=problem)


def sent_on(path: str, notice: str | None = None) -> Response:
    """After a form: on to a page, which says `notice` once."""
    answer = RedirectResponse(path, status_code=303)
    if notice is not None:
        answer.set_cookie(
            NOTICE,
            quote(notice[:MAX_NOTICE]),
            max_age=NOTICE_SECONDS,
            path="/dashboard",
            httponly=True,
            samesite="strict",
        )
    return answer
