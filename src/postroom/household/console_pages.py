"""Put the console's pages together: what they read, and how they act."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from postroom.approvals.approvals import Approvals
from postroom.approvals.page import ApprovalPages, RulePages, approvals_section
from postroom.attention.attention import Attention
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
from postroom.household.console import ConsoleWorld
from postroom.household.delivery import breaker_policy, retry_policy
from postroom.household.peers import MemoryPeer, Nobody
from postroom.household.people import (
    account_sections,
    build_admissions,
    build_pairing,
    devices_of,
    new_challenge,
)
from postroom.household.questions import decisions
from postroom.household.store import Store
from postroom.inbox.page import InboxPages, PreferencePages, inbox_section
from postroom.kernel.audit import NewAudit
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Failing
from postroom.kernel.values.errors import StoreUnavailable, TargetUnavailable
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.message.channel import Outbound
from postroom.message.delivery import Priority
from postroom.overview.audit import entry_of
from postroom.overview.counts import (
    ConsoleDeadLetters,
    ConsoleDeliveries,
    ConsoleOverview,
)
from postroom.overview.health import Machinery, health_section
from postroom.overview.today import Badges, TodayPage, WaitingWork, events_page, today_section
from postroom.people.devices.page import DevicePages, app_routes, devices_section
from postroom.people.names.resolve import Concerned
from postroom.people.pages import ContactPages, PersonOverviews, contacts_section
from postroom.people.signing_in.admission import Admissions
from postroom.people.signing_in.pages import (
    SignInPages,
    sign_in_page,
    sign_out_page,
    theme_page,
)
from postroom.people.signing_in.passkey_routes import PasskeyDoor
from postroom.people.signing_in.passkeys import Passkeys
from postroom.people.signing_in.rules import ROOT
from postroom.questions.page import QuestionPages, questions_section
from postroom.settings import Settings
from postroom.settings.peer import HttpPeer


def console_pages(world: ConsoleWorld, changes: Changes, bulk: Bulk, failing: Failing) -> Starlette:
    store = world.store
    base_url = world.pages_url or world.settings.api_url
    admissions = build_admissions(world.settings, store, world.tokens, base_url, world.links_due)
    audit = store.audit
    parts = ConsoleParts(
        sections=[*_sections(world, bulk, failing), *account_sections(admissions, audit)],
        badges=Badges(record=store.overview, approvals_on=world.settings.approvals_on),
        sandbox_url=world.sandbox_url,
        more_pages=[events_page(changes, world.clock, admissions.sessions)],
        admissions=admissions,
        audit=audit,
        passkeys=Passkeys(store=admissions.passkeys, clock=world.clock, new_challenge=new_challenge),
        clock=world.clock,
        names=NameBook(records=store.held_addresses),
        zone_of=world.attention.zone_of,
    )
    return console_app(parts)


def _sections(world: ConsoleWorld, bulk: Bulk, failing: Failing) -> Sequence[ConsoleSection]:
    """In the order of the navigation, within each of its groups."""
    settings, store, breaker = world.settings, world.store, breaker_policy(world.settings)
    channels = sorted(known_channels(settings))
    attempts = {one: retry_policy(settings).attempts_for(one) for one in Priority}
    waiting = WaitingWork(record=store.overview, notes=world.inbox.notes, approvals_on=settings.approvals_on)
    tools = messenger_tools(world.messenger, world.tokens)
    concerned = Concerned(book=world.store.people)
    questions = QuestionPages(asking=world.asking, figures=store.question_figures, concerned=concerned)
    machinery = Machinery(facts=machine_facts(settings), failing=failing, silent=world.silent)
    approvals = approvals_desk(settings, world.store, world.approvals, world.clock)
    overview = ConsoleOverview(store.database, channels, breaker)
    today = TodayPage(
        overview=overview,
        waiting=waiting,
        questions=questions,
        notices=world.attention,
        approvals=approvals.pages,
        silent=world.silent,
    )
    overviews = person_overviews(world.store, questions, world.attention)
    return [
        today_section(today),
        questions_section(questions),
        approvals.section,
        inbox_section(InboxPages(inbox=world.inbox, questions=questions), PreferencePages(world.inbox)),
        conversations_desk(settings, store),
        attention_section(
            AttentionPeople(
                attention=world.attention,
                people=world.store.people,
                tokens=world.tokens,
                approvers=world.store.household,
            )
        ),
        deliveries_section(ConsoleDeliveries(store.database, channels, attempts), tools, world.store.files, concerned),
        dead_letters_section(ConsoleDeadLetters(store.database, channels), tools, bulk, concerned),
        health_section(overview, tools, world.attention, machinery),
        people_desk(settings, world.store, world.clock, world.inbox.email_due.ring, overviews),
        devices_desk(settings, world.store, world.outbound, world.clock),
    ]


def messenger_tools(peer: MemoryPeer | HttpPeer | Nobody, tokens: TokenFile) -> Tools:
    """As the person who is signed in: over a wire with that person's token, in this process without one."""

    async def call(who: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        if isinstance(peer, MemoryPeer):
            return await peer.call_as(who, tool, arguments, timeout_seconds)
        token = tokens.token_of(who)
        if token is None:
            raise TargetUnavailable(f"{who} has no token any more")
        return await peer.call(tool, arguments, timeout_seconds, token=token)

    return Tools(call)


# The console's pages where a person works: inbox, approvals, people.


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalsDesk:
    """`pages` also show what waits on other pages."""

    pages: ApprovalPages
    section: ConsoleSection


def approvals_desk(
    settings: Settings,
    store: Store,
    approvals: Approvals | None,
    clock: Clock,
) -> ApprovalsDesk:
    known = known_channels(settings)
    made = decisions(settings, store, clock, approvals)
    letters = frozenset(name for name, can in known.items() if can.style == "letter")
    pages = ApprovalPages(approvals=made, letters=letters, files=store.files)
    rules = RulePages(approvals=made, channels=sorted(known))
    return ApprovalsDesk(pages=pages, section=approvals_section(pages, rules, made.may_decide))


def conversations_desk(settings: Settings, store: Store) -> ConsoleSection:
    pages = TalkPages(
        people=store.people,
        history=store.histories,
        lately=store.lately,
        sessions=_sessions_today(settings, store),
        channels=sorted(known_channels(settings)),
    )
    return conversations_section(pages)


def _sessions_today(settings: Settings, store: Store) -> SessionsToday:
    most = settings.conversations.sessions_per_day
    return SessionsToday(counted=store.inbound, per_day=most)


def person_overviews(store: Store, questions: QuestionPages, attention: Attention) -> PersonOverviews:
    return PersonOverviews(history=store.histories, questions=questions, attention=attention)


def people_desk(
    settings: Settings,
    store: Store,
    clock: Clock,
    links_due: Callable[[], object],
    overviews: PersonOverviews,
) -> ConsoleSection:
    pairing = build_pairing(settings, store, clock, links_due)
    pages = ContactPages(
        people=pairing.people,
        pairing=pairing,
        choices=store.memory,
        sessions=_sessions_today(settings, store),
        overviews=overviews,
    )
    return contacts_section(pages)


def devices_desk(settings: Settings, store: Store, outbound: Outbound | None, clock: Clock) -> ConsoleSection:
    """Also where no account notifies: then the page says what to set."""
    devices = devices_of(settings, store, outbound, clock) if outbound is not None else None
    return devices_section(DevicePages(devices=devices))


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
class ConsoleParts:
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


def console_app(parts: ConsoleParts) -> Starlette:
    templates = Templates(parts.sandbox_url)
    coming_in = SignInPages(admissions=parts.admissions, clock=parts.clock, templates=templates)
    passkeys = PasskeyDoor(passkeys=parts.passkeys, sign_in=coming_in)
    pages = [page for section in parts.sections for page in section.pages]
    pages += [*parts.more_pages, *passkeys.pages(), sign_out_page(parts.admissions.sessions), theme_page()]
    doors = _Doors(parts, templates)
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

    def __init__(self, parts: ConsoleParts, templates: Templates) -> None:
        self._parts = parts
        self._templates = templates

    def to(self, page: ConsolePage) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            secret, now_us = session_secret(request), self._parts.clock.now_us()
            session = await self._parts.admissions.sessions.find(secret, now_us) if secret else None
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
                book=self._parts.names,
                session=session,
                zone=await self._parts.zone_of(person_id_of(session.principal) or ""),
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
                await self._parts.audit.add(new, self._parts.clock.now_us())

    async def explain(self, request: Request, error: Exception) -> Response:
        """In a page, not in JSON: whoever reads this is a person."""
        if isinstance(error, FormRefused):
            return self._says(request, 403, _REFUSED[0], str(error))
        if isinstance(error, StoreUnavailable):
            return self._says(request, 503, *_AWAY)
        status = error.status_code if isinstance(error, HTTPException) else 500
        return self._says(request, status, *(_UNKNOWN if status in (404, 405) else _BROKEN))

    async def _navigation(self, who: Principal, now_us: int) -> Navigation:
        waiting = await self._parts.badges.of(who, now_us)
        return Navigation(
            [
                NavigationEntry(name=one.name, path=ROOT + one.path, group=one.group, waiting=waiting.get(one.path, 0))
                for one in self._parts.sections
                if one.is_open_to(who)
            ]
        )

    def _says(self, request: Request, status: int, title: str, text: str) -> Response:
        return message(self._templates, request, title, text, status=status)
