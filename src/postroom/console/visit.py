"""One request of a person who is signed in: its cookies, its form, and the page that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl, quote, unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from postroom.console import words
from postroom.console.frame import NameBook, Names, Navigation, NavigationGroup, Place
from postroom.kernel.values.principal import Principal, Role
from postroom.people.signing_in.rules import (
    ROOT,
    SESSION_LIFE_SECONDS,
    ConsoleSession,
    form_token,
    is_form_token,
    person_of,
)

if TYPE_CHECKING:
    from jinja2 import Environment

SESSION: Final = "postroom_console"
_NOTICE: Final = "postroom_notice"
_THEME: Final = "postroom_theme"
_BROWSER: Final = "postroom_browser"  # a secret of this browser alone: a link it asked for works here and nowhere else
_WANTED: Final = "postroom_wanted"
TOKEN_FIELD: Final = "form_token"  # noqa: S105  # the name of a field, not a secret
_YEAR_SECONDS: Final = 365 * 24 * 3600
_NOTICE_SECONDS: Final = 60
_BROWSER_SECONDS: Final = 3600
_LONGEST_NOTICE: Final = 500
_MOST_FIELDS: Final = 2_000
_TYPE: Final = "application/x-www-form-urlencoded"
_FIRST_PAGE: Final = ("Go to the first page", f"{ROOT}/")
Tone = Literal["good", "bad"]


# -- Cookies: for the console's own paths, for no script, and for no other site's requests --


def keep_session(response: Response, request: Request, secret: str) -> None:
    _set(response, request, SESSION, secret, int(SESSION_LIFE_SECONDS))


def drop_session(response: Response, request: Request) -> None:
    _set(response, request, SESSION, "", 0)


def session_secret(request: Request) -> str:
    return request.cookies.get(SESSION, "")


def _leave_notice(response: Response, request: Request, text: str, tone: Tone) -> None:
    """One sentence for the page that comes next."""
    _set(response, request, _NOTICE, f"{tone}.{quote(text[:_LONGEST_NOTICE], safe='')}", _NOTICE_SECONDS)


def _take_notice(request: Request) -> tuple[str, str] | None:
    tone, _, text = request.cookies.get(_NOTICE, "").partition(".")
    return (tone if tone == "good" else "bad", unquote(text)) if text else None


def _drop_notice(response: Response, request: Request) -> None:
    _set(response, request, _NOTICE, "", 0)


class NothingDone(RedirectResponse):
    """To a page that says so."""


def browser_secret(request: Request) -> str:
    return request.cookies.get(_BROWSER, "")[:128]


def keep_browser(response: Response, request: Request, secret: str) -> None:
    _set(response, request, _BROWSER, secret, _BROWSER_SECONDS)


def wanted_page(request: Request) -> str:
    """Where this browser wanted to go when it asked for a link."""
    return unquote(request.cookies.get(_WANTED, ""))


def keep_wanted(response: Response, request: Request, path: str) -> None:
    _set(response, request, _WANTED, quote(path, safe=""), _BROWSER_SECONDS if path else 0)


def keep_theme(response: Response, request: Request, theme: str) -> None:
    _set(response, request, _THEME, theme, _YEAR_SECONDS)


def theme_of(request: Request) -> str:
    chosen = request.cookies.get(_THEME, "")
    return chosen if chosen in ("light", "dark") else "auto"


def _set(response: Response, request: Request, name: str, value: str, seconds: int) -> None:
    secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
    response.set_cookie(name, value, max_age=seconds, path=ROOT, secure=secure, httponly=True, samesite="strict")


# -- Forms: urlencoded fields, and proof that the page was ours --


class FormRefused(Exception):
    """The form did not come from one of our own pages, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Form:
    fields: Sequence[tuple[str, str]] = field(default_factory=tuple)

    def get(self, name: str) -> str:
        """The last one, as a browser would overwrite; empty when it is missing."""
        return next((value for key, value in reversed(self.fields) if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


async def read_form(request: Request) -> Form:
    _check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise FormRefused("This is not a form of the console.")
    try:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise FormRefused("The form cannot be read.") from None
    return Form(tuple((name, value.replace("\0", "")) for name, value in pairs))


def _check_origin(request: Request) -> None:
    """
    Browsers say where a form comes from; only our own pages may send one.

    Something that says nothing at all is no browser, and has the API for its purposes.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = {f"{scheme}://{request.headers.get('host', '')}".lower() for scheme in ("http", "https")}
    if site not in (None, "same-origin") or (origin is not None and origin.lower() not in own):
        raise FormRefused("This form was sent by another site, so nothing was done.")
    if site is None and origin is None:
        raise FormRefused("This form does not say where it comes from, so nothing was done.")


def check_token(form: Form, session_secret: str) -> None:
    if not is_form_token(session_secret, form.get(TOKEN_FIELD)):
        raise FormRefused("This form belongs to another session, so nothing was done. Open the page again.")


# -- Templates: values become pages, everything escaped, nothing silently missing --


class Templates:
    def __init__(self, sandbox_url: str | None = None) -> None:
        """Where the sandbox's phone is, on every page, also on those of nobody who is signed in."""
        self._sandbox_url = sandbox_url

    @cached_property
    def environment(self) -> Environment:
        """Made for the first page: a household whose console no one opens needs no templates."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("postroom.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters |= words.FILTERS
        environment.globals["sandbox_url"] = self._sandbox_url
        return environment

    def render(self, template: str, told_in: str = "UTC", **values: Any) -> str:
        """Moments are told in the zone of the one who reads."""
        with words.told_in(told_in):
            return self.environment.get_template(template).render(**values)


def message(
    templates: Templates,
    request: Request,
    title: str,
    text: str,
    *,
    status: int = 200,
    way: tuple[str, str] = _FIRST_PAGE,
) -> Response:
    """`way` are the words and the address of the one link that leads on."""
    shown = templates.render("message.html", title=title, text=text, way=way, theme=theme_of(request))
    return HTMLResponse(shown, status_code=status)


# -- A visit, and the pages that answer it --


def anybody(_who: Principal) -> bool:
    """Whoever is signed in; the page itself shows each person what is theirs."""
    return True


def _operator_only(who: Principal) -> bool:
    return who.role is Role.OPERATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """`form` is empty on a GET; on a POST it has been checked to come from our own page and this session."""

    request: Request
    principal: Principal
    secret: str
    form: Form
    now_us: int
    templates: Templates
    navigation: Navigation
    book: NameBook
    session: ConsoleSession | None = None
    zone: str = "UTC"

    @property
    def name(self) -> str:
        """Of the person who is signed in."""
        return (self.session.name if self.session else "") or person_of(self.principal)

    @property
    def shown_as(self) -> str:
        """Who is signed in, as a person says it: Ann (owner)."""
        role = self.session.role_now if self.session else None
        return f"{self.name} ({role})" if role and self.name != str(role) else self.name

    @property
    def is_operator(self) -> bool:
        return _operator_only(self.principal)

    @property
    def query(self) -> dict[str, str]:
        """Without the one character that no database keeps, as in forms."""
        return {name: value.replace("\0", "") for name, value in self.request.query_params.items()}

    @property
    def path(self) -> dict[str, str]:
        """The parts of the path that the page's route names."""
        return {name: str(value).replace("\0", "") for name, value in self.request.path_params.items()}

    async def names(self, places: Iterable[Place] = (), ids: Iterable[str] = ()) -> Names:
        """Who stands behind these addresses, and under these ids: once for a whole page."""
        return await self.book.names(self.principal, places, ids)

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        notice = _take_notice(self.request)
        shown = self.templates.render(
            template,
            told_in=self.zone,
            here=self.request.url.path,
            who=self.shown_as,
            is_operator=self.is_operator,
            navigation=self.navigation,
            reachable=self.navigation.reachable,
            form_token=form_token(self.secret),
            theme=theme_of(self.request),
            notice=notice,
            now_us=self.now_us,
            **values,
        )
        response = HTMLResponse(shown, status_code=status)
        if notice:
            _drop_notice(response, self.request)
        return response

    def go(self, path: str, notice: str = "", tone: Tone = "good") -> Response:
        """After an act: to a page that can be loaded again without acting again."""
        response = (NothingDone if tone == "bad" else RedirectResponse)(ROOT + path, status_code=303)
        if notice:
            _leave_notice(response, self.request, notice, tone)
        return response


Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """`path` is below /console; a POST is checked before the handler sees it."""

    path: str
    handler: Handler
    method: Literal["GET", "POST"] = "GET"
    open_to: Callable[[Principal], bool] = _operator_only


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSection:
    """An entry of the navigation with the pages behind it; shown to those its first page is open to."""

    name: str
    pages: Sequence[ConsolePage]
    group: NavigationGroup = NavigationGroup.HOUSEHOLD

    @property
    def path(self) -> str:
        return self.pages[0].path

    def is_open_to(self, who: Principal) -> bool:
        return self.pages[0].open_to(who)
