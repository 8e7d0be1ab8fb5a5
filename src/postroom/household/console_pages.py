"""Put the console's pages together: what they read, and how they act."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from postroom.approvals.approvals import Approvals
from postroom.approvals.page import ApprovalPages, RulePages, approvals_section
from postroom.attention.pages.page import attention_section
from postroom.attention.pages.shown import AttentionPeople
from postroom.console.frame import NameBook, Navigation, NavigationEntry, Protected, asked_path
from postroom.console.live import Bulk, Changes, Tools
from postroom.console.visit import (
    ConsolePage,
    ConsoleSection,
    Form,
    FormRefused,
    NothingDone,
    Templates,
    Visit,
    check_token,
    message,
    read_form,
    session_secret,
)
from postroom.conversations.page import SessionsToday, TalkPages, conversations_section
from postroom.delivery.pages.dead_letters import dead_letters_section
from postroom.delivery.pages.deliveries import deliveries_section
from postroom.household.channels import known_channels
from postroom.household.console import ConsoleParts
from postroom.household.delivery import breaker_policy, retry_policy
from postroom.household.people import (
    account_sections,
    build_admissions,
    build_pairing,
    devices_of,
    new_challenge,
)
from postroom.household.questions import decisions
from postroom.household.store import World
from postroom.inbox.page import InboxPages, PreferencePages, inbox_section
from postroom.kernel.audit import NewAudit
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.overview.audit import entry_of
from postroom.overview.counts import (
    ConsoleOverview,
)
from postroom.overview.health import Machinery, health_section
from postroom.overview.today import Badges, TodayPage, events_page, today_section
from postroom.people.devices.page import DevicePages, app_routes, devices_section
from postroom.people.names.resolve import Concerned
from postroom.people.pages import ContactPages, PersonOverviews, contacts_section
from postroom.people.signing_in.admission import Admissions
from postroom.people.signing_in.pages import (
    PasskeyDoor,
    SignInPages,
    sign_in_page,
    sign_out_page,
    theme_page,
)
from postroom.people.signing_in.passkeys import Passkeys
from postroom.people.signing_in.rules import ROOT
from postroom.questions.page import QuestionPages, questions_section
from postroom.settings import Settings


def console_pages(parts: ConsoleParts, changes: Changes, bulk: Bulk) -> Starlette:
    world, store = parts.world, parts.world.store
    base_url = world.pages_url or world.settings.api_url
    admissions = build_admissions(world.settings, store, world.tokens, base_url, world.links_due)
    audit = store.audit
    frame = ConsoleFrame(
        sections=[*_sections(parts, bulk), *account_sections(admissions, audit)],
        badges=Badges(record=store.overview, approvals_on=world.settings.approvals_on),
        sandbox_url=parts.sandbox_url,
        more_pages=[events_page(changes, world.clock, admissions.sessions)],
        admissions=admissions,
        audit=audit,
        passkeys=Passkeys(store=admissions.passkeys, clock=world.clock, new_challenge=new_challenge),
        clock=world.clock,
        names=NameBook(records=store.held_addresses),
        zone_of=parts.attention.zone_of,
    )
    return console_app(frame)


def _sections(parts: ConsoleParts, bulk: Bulk) -> Sequence[ConsoleSection]:
    """In the order of the navigation, within each of its groups."""
    world, settings, store = parts.world, parts.world.settings, parts.world.store
    breaker = breaker_policy(settings)
    channels = sorted(known_channels(settings))
    attempts_for = retry_policy(settings).attempts_for
    tools = Tools(parts.messenger.call_as)
    concerned = Concerned(book=store.people)
    questions = QuestionPages(asking=parts.asking, figures=store.question_figures, concerned=concerned)
    machinery = Machinery(facts=machine_facts(settings), failing=world.loops.failing, silent=parts.silent)
    approvals = approvals_desk(world, parts.approvals)
    overview = ConsoleOverview(store.database, channels, breaker)
    today = TodayPage(
        overview=overview,
        record=store.overview,
        questions=questions,
        approvals=approvals.pages,
        approvals_on=settings.approvals_on,
        silent=parts.silent,
    )
    history, sessions = store.histories, _sessions_today(world)
    overviews = PersonOverviews(history=history, questions=questions, attention=parts.attention)
    pairing = build_pairing(world, parts.inbox.email_due.ring)
    devices = devices_of(world, parts.outbound) if parts.outbound is not None else None
    return [
        today_section(today),
        questions_section(questions),
        approvals.section,
        inbox_section(InboxPages(inbox=parts.inbox, questions=questions), PreferencePages(parts.inbox)),
        conversations_section(
            TalkPages(people=store.people, history=history, lately=store.lately, sessions=sessions, channels=channels)
        ),
        attention_section(
            AttentionPeople(
                attention=parts.attention,
                people=store.people,
                tokens=world.tokens,
                approvers=store.household,
            )
        ),
        deliveries_section(overview, tools, store.files, concerned, attempts_for),
        dead_letters_section(overview, tools, bulk, concerned),
        health_section(overview, tools, parts.attention, machinery),
        contacts_section(
            ContactPages(
                people=pairing.people, pairing=pairing, choices=store.memory, sessions=sessions, overviews=overviews
            )
        ),
        devices_section(DevicePages(devices=devices)),  # also where no account notifies: it says what to set
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalsDesk:
    """`pages` also show what waits on other pages."""

    pages: ApprovalPages
    section: ConsoleSection


def approvals_desk(world: World, approvals: Approvals | None) -> ApprovalsDesk:
    known = known_channels(world.settings)
    made = decisions(world, approvals)
    letters = frozenset(name for name, can in known.items() if can.style == "letter")
    pages = ApprovalPages(approvals=made, letters=letters, files=world.store.files)
    rules = RulePages(approvals=made, channels=sorted(known))
    return ApprovalsDesk(pages=pages, section=approvals_section(pages, rules, made.may_decide))


def _sessions_today(world: World) -> SessionsToday:
    return SessionsToday(counted=world.store.inbound, per_day=world.settings.conversations.sessions_per_day)


# What runs here, for the folded part of the page Health: versions and kinds, never addresses or passwords.


def machine_facts(settings: Settings) -> dict[str, str]:
    return {
        "Postroom": version("postroom"),
        "Python": platform.python_version(),
        "Database": "SQLite" if settings.sqlite_file else "PostgreSQL",
        "Shared state": "Redis" if settings.redis_url.reveal() else "in this process",
    }


# The console as one application: who is there, may they see this, and which page answers.


_REFUSED = ("Nothing was done", "")
_OWNER = ("For the owner", "This page shows the whole household. You are signed in as {who}.")
_UNKNOWN = ("Not found", "There is nothing at this address.")
_AWAY = ("The database is not available", "Nothing is lost: try again in a moment.")
_BROKEN = ("Something went wrong", "The error is ours and has been written to the log.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleFrame:
    sections: Sequence[ConsoleSection]
    badges: Badges
    sandbox_url: str | None
    more_pages: Sequence[ConsolePage]
    admissions: Admissions
    audit: StoredAudit
    clock: Clock
    names: NameBook
    zone_of: Callable[[str], Awaitable[str]]
    passkeys: Passkeys


def console_app(frame: ConsoleFrame) -> Starlette:
    templates = Templates(frame.sandbox_url)
    coming_in = SignInPages(admissions=frame.admissions, clock=frame.clock, templates=templates)
    passkeys = PasskeyDoor(passkeys=frame.passkeys, sign_in=coming_in)
    pages = [page for section in frame.sections for page in section.pages]
    pages += [*frame.more_pages, *passkeys.pages(), sign_out_page(frame.admissions.sessions), theme_page()]
    doors = _Doors(frame, templates)
    routes: list[BaseRoute] = [Mount("/static", StaticFiles(packages=[("postroom.console", "static")]))]
    routes += [*app_routes(templates), *coming_in.routes(), *passkeys.routes()]
    routes += [Route(page.path, doors.to(page), methods=[page.method]) for page in pages]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Protected)],
        exception_handlers={HTTPException: doors.explain, FormRefused: doors.explain, StoreUnavailable: doors.explain},
    )


class _Doors:
    """Every page is reached through here, so none can forget to ask."""

    def __init__(self, frame: ConsoleFrame, templates: Templates) -> None:
        self._frame = frame
        self._templates = templates

    def to(self, page: ConsolePage) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            secret, now_us = session_secret(request), self._frame.clock.now_us()
            session = await self._frame.admissions.sessions.find(secret, now_us) if secret else None
            if session is None:
                return sign_in_page(self._templates, request, wanted=asked_path(request), status=401)
            visit = Visit(
                request=request,
                principal=session.principal,
                secret=secret,
                form=Form(),
                now_us=now_us,
                templates=self._templates,
                navigation=await self._navigation(session.principal, now_us),
                book=self._frame.names,
                session=session,
                zone=await self._frame.zone_of(person_id_of(session.principal) or ""),
            )
            if not page.open_to(visit.principal):
                return self._says(request, 403, _OWNER[0], _OWNER[1].format(who=visit.shown_as))
            return await (self._acted(page, visit) if page.method == "POST" else page.handler(visit))

        return answer

    async def _acted(self, page: ConsolePage, visit: Visit) -> Response:
        """What was done is written down by the door that did it, so that no page can forget to."""
        form = await read_form(visit.request)
        check_token(form, visit.secret)
        response = await page.handler(replace(visit, form=form))
        if response.status_code < 400 and not isinstance(response, NothingDone):
            await self._noted(entry_of(page.path, replace(visit, form=form)))
        return response

    async def _noted(self, new: NewAudit | None) -> None:
        """The act is done: a person who heard otherwise would do it again."""
        with suppress(StoreUnavailable):
            if new is not None:
                await self._frame.audit.add(new, self._frame.clock.now_us())

    async def explain(self, request: Request, error: Exception) -> Response:
        """In a page, not in JSON: whoever reads this is a person."""
        if isinstance(error, FormRefused):
            return self._says(request, 403, _REFUSED[0], str(error))
        if isinstance(error, StoreUnavailable):
            return self._says(request, 503, *_AWAY)
        status = error.status_code if isinstance(error, HTTPException) else 500
        return self._says(request, status, *(_UNKNOWN if status in (404, 405) else _BROKEN))

    async def _navigation(self, who: Principal, now_us: int) -> Navigation:
        waiting = await self._frame.badges.of(who, now_us)
        return Navigation(
            [
                NavigationEntry(name=one.name, path=ROOT + one.path, group=one.group, waiting=waiting.get(one.path, 0))
                for one in self._frame.sections
                if one.is_open_to(who)
            ]
        )

    def _says(self, request: Request, status: int, title: str, text: str) -> Response:
        return message(self._templates, request, title, text, status=status)
