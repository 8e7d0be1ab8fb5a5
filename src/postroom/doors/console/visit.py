"""One request of a person who is signed in, and the pages that answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from postroom.domain.console_session import ConsoleSession, form_token, person_of
from postroom.domain.principal import Principal, Role
from postroom.doors.console.cookies import Tone, drop_notice, leave_notice, take_notice, theme_of
from postroom.doors.console.form import Form
from postroom.doors.console.names import NameBook, Names, Place
from postroom.doors.console.navigation import Navigation, NavigationGroup
from postroom.doors.console.rendering import Templates
from postroom.doors.console.root import ROOT


def anybody(_who: Principal) -> bool:
    """Whoever is signed in; the page itself shows each person what is theirs."""
    return True


def operator_only(who: Principal) -> bool:
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
        return operator_only(self.principal)

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
        notice = take_notice(self.request)
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
            drop_notice(response, self.request)
        return response

    def go(self, path: str, notice: str = "", tone: Tone = "good") -> Response:
        """After an act: to a page that can be loaded again without acting again."""
        response = RedirectResponse(ROOT + path, status_code=303)
        if notice:
            leave_notice(response, self.request, notice, tone)
        return response


Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """`path` is below /console; a POST is checked before the handler sees it."""

    path: str
    handler: Handler
    method: Literal["GET", "POST"] = "GET"
    open_to: Callable[[Principal], bool] = operator_only


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
