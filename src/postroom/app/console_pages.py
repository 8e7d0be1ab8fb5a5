"""Put the console's pages together: what they read, and how they act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.applications import Starlette

from postroom.app.address_book import Approvers
from postroom.app.console_folk import HouseholdFolk
from postroom.app.console_sections import (
    approvals_desk,
    conversations_desk,
    devices_desk,
    inbox_desk,
    people_desk,
    person_overviews,
)
from postroom.app.console_world import ConsoleWorld
from postroom.app.known_channels import known_channels
from postroom.app.machine_facts import machine_facts
from postroom.app.policy import breaker_policy, retry_policy
from postroom.app.sign_in import Admissions
from postroom.domain.delivery import Priority
from postroom.domain.errors import TargetUnavailable
from postroom.domain.principal import Principal
from postroom.doors.console.application import ConsoleParts, console_app
from postroom.doors.console.attention_held import HeldNotices
from postroom.doors.console.attention_section import attention_section
from postroom.doors.console.badges import Badges
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.changes import Changes
from postroom.doors.console.concerned import Concerned
from postroom.doors.console.dead_letters import dead_letters_section
from postroom.doors.console.deliveries import deliveries_section
from postroom.doors.console.events import events_page
from postroom.doors.console.health import Machinery, health_section
from postroom.doors.console.names import NameBook
from postroom.doors.console.questions_page import QuestionPages, questions_section
from postroom.doors.console.today import TodayPage, today_section
from postroom.doors.console.token_sessions import TokenSessions
from postroom.doors.console.visit import ConsoleSection
from postroom.doors.console.waiting import WaitingWork
from postroom.doors.guard.tokens import TokenFile
from postroom.system.part_health import Failing
from postroom.work.people.normalise import keys_of
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.memory import MemoryPeer
from postroom.world.peers.nobody import Nobody
from postroom.world.store.deliveries.console_readers import (
    ConsoleDeadLetters,
    ConsoleDeliveries,
    ConsoleHealth,
    ConsoleOverview,
)
from postroom.world.store.deliveries.overview import StoredOverview
from postroom.world.store.people.contacts_search import StoredContactSearch
from postroom.world.store.people.held_addresses import StoredHeldAddresses
from postroom.world.store.questions.figures import QuestionFigures
from postroom.world.store.shared.audit import StoredAudit
from postroom.world.store.shared.console_sessions import StoredConsoleSessions
from postroom.world.store.shared.what_waits import StoredWhatWaits


def console_pages(world: ConsoleWorld, changes: Changes, bulk: Bulk, failing: Failing) -> Starlette:
    database = world.store.database
    sessions = TokenSessions(StoredConsoleSessions(database, world.mint.mint), world.tokens)
    admissions, audit = _admissions(world), StoredAudit(database, world.mint.mint)
    parts = ConsoleParts(
        sections=[*_sections(world, bulk, failing), *admissions.sections(sessions, audit)],
        badges=Badges(record=StoredWhatWaits(database), approvals_on=world.settings.approvals_on),
        sandbox_url=world.sandbox_url,
        more_pages=[events_page(changes, world.clock, sessions)],
        sessions=sessions,
        links=admissions.links,
        audit=audit,
        passkeys=admissions.passkey_door(sessions, world.clock),
        clock=world.clock,
        names=NameBook(records=StoredHeldAddresses(database)),
        zone_of=world.attention.zone_of,
    )
    return console_app(parts)


def _admissions(world: ConsoleWorld) -> Admissions:
    return Admissions(
        settings=world.settings,
        store=world.store,
        tokens=world.tokens,
        mint=world.mint,
        base_url=world.pages_url or world.settings.api_url,
        due=world.links_due,
    )


def _sections(world: ConsoleWorld, bulk: Bulk, failing: Failing) -> Sequence[ConsoleSection]:
    """In the order of the navigation, within each of its groups."""
    settings, database, breaker = world.settings, world.store.database, breaker_policy(world.settings)
    channels = sorted(known_channels(settings))
    attempts = {one: retry_policy(settings).attempts_for(one) for one in Priority}
    waiting = WaitingWork(record=StoredOverview(database), notes=world.inbox.notes, approvals_on=settings.approvals_on)
    tools = MessengerTools(world.messenger, world.tokens)
    concerned = Concerned(search=StoredContactSearch(database, keys_of))
    questions = QuestionPages(asking=world.asking, figures=QuestionFigures(database), concerned=concerned)
    held = HeldNotices(attention=world.attention)
    machinery = Machinery(facts=machine_facts(settings), failing=failing, silent=world.silent)
    approvers = Approvers(settings.approvals.approvers, world.store.household)
    approvals = approvals_desk(settings, world.store, world.approvals, approvers, world.clock, world.mint)
    overview = ConsoleOverview(database, channels, breaker)
    today = TodayPage(
        overview=overview,
        waiting=waiting,
        questions=questions,
        notices=held,
        approvals=approvals.pages,
        silent=world.silent,
    )
    overviews = person_overviews(world.store, questions, world.attention)
    return [
        today_section(today),
        questions_section(questions),
        approvals.section,
        inbox_desk(database, world.inbox, questions),
        conversations_desk(settings, world.store, world.mint),
        attention_section(
            world.attention, HouseholdFolk(store=world.store, tokens=world.tokens, notices=world.attention)
        ),
        deliveries_section(ConsoleDeliveries(database, channels, attempts), tools, world.store.files, concerned),
        dead_letters_section(ConsoleDeadLetters(database, channels), tools, bulk, concerned),
        health_section(ConsoleHealth(database, channels, breaker), tools, held, machinery),
        people_desk(
            settings, world.store, world.clock, world.inbox.notifications.email_due.ring, world.mint, overviews
        ),
        devices_desk(settings, world.store, world.outbound, world.clock, world.mint),
    ]


class MessengerTools:
    """As the person who is signed in: over a wire with that person's token, in this process without one."""

    def __init__(self, peer: MemoryPeer | HttpPeer | Nobody, tokens: TokenFile) -> None:
        self._peer = peer
        self._tokens = tokens

    async def call(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = 30.0
    ) -> dict[str, Any]:
        if isinstance(self._peer, MemoryPeer):
            return await self._peer.call_as(caller, tool, arguments, timeout_seconds)
        token = self._tokens.token_of(caller)
        if token is None:
            raise TargetUnavailable(f"{caller} has no token any more")
        return await self._peer.call(tool, arguments, timeout_seconds, token=token)
