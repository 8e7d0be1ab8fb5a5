"""The console's pages where a person works: inbox, approvals, people."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from postroom.app.devices import devices_of
from postroom.app.inbox import Inbox
from postroom.app.known_channels import known_channels
from postroom.app.pairing import build_pairing
from postroom.app.store import OpenedStore
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ids import IdMint
from postroom.domain.ports import Clock, FileContents, Outbound
from postroom.doors.console.approvals_page import ApprovalPages
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.contacts_import_page import ImportPages, import_pages
from postroom.doors.console.contacts_page import ContactPages, contacts_section
from postroom.doors.console.conversations_page import TalkPages, conversations_section
from postroom.doors.console.decisions import OwnDecisions
from postroom.doors.console.decisions_over_tools import DecisionsOverTools
from postroom.doors.console.devices_page import DevicePages, devices_section
from postroom.doors.console.inbox_page import InboxPages, inbox_section
from postroom.doors.console.inbox_preferences_page import PreferencePages, preference_pages
from postroom.doors.console.person_overview import PersonOverviews
from postroom.doors.console.ports import Tools
from postroom.doors.console.questions_page import QuestionPages
from postroom.doors.console.rules_page import RulePages, approvals_section
from postroom.doors.console.sessions_today import SessionsToday
from postroom.doors.console.visit import ConsoleSection
from postroom.doors.guard.tool_policy import approver
from postroom.system.settings import Settings
from postroom.work.approvals.approvals import Approvals
from postroom.work.attention.attention import Attention
from postroom.work.conversations.history import Histories, Lately
from postroom.work.people.normalise import keys_of
from postroom.world.store.conversations.history import StoredPersonHistory
from postroom.world.store.conversations.inbound import StoredInbound
from postroom.world.store.conversations.lately import StoredLately
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.views import StoredShelves
from postroom.world.store.people.contacts_memory import StoredMemory
from postroom.world.store.people.contacts_search import StoredContactSearch


def inbox_desk(database: Database, inbox: Inbox, questions: QuestionPages) -> ConsoleSection:
    acts = inbox.acts()
    pages = InboxPages(shelves=StoredShelves(database), preferences=inbox.preferences, acts=acts, questions=questions)
    preferences = PreferencePages(book=inbox.preferences, acts=acts, email_enabled=inbox.notifications.email_enabled)
    return inbox_section(pages, preference_pages(preferences))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalsDesk:
    """`pages` also show what waits on other pages."""

    pages: ApprovalPages
    section: ConsoleSection


def approvals_desk(
    settings: Settings,
    tools: Tools,
    approvals: Approvals | None,
    approvers: Collection[str],
    files: FileContents,
) -> ApprovalsDesk:
    """Straight to the work when the messenger runs in this process; over its tools when it does not."""
    is_on, may_decide = settings.approvals_on, approver(approvers)
    decisions: OwnDecisions | DecisionsOverTools = DecisionsOverTools(tools)
    if approvals is not None:
        decisions = OwnDecisions(approvals=approvals, may_decide=may_decide)
    known = known_channels(settings)
    letters = frozenset(name for name, can in known.items() if can.style == "letter")
    pages = ApprovalPages(decisions=decisions, is_on=is_on, letters=letters, files=files)
    rules = RulePages(standing=decisions, is_on=is_on, channels=sorted(known))
    return ApprovalsDesk(pages=pages, section=approvals_section(pages, rules, may_decide))


def conversations_desk(settings: Settings, store: OpenedStore, mint: IdMint) -> ConsoleSection:
    pages = TalkPages(
        people=store.people,
        search=StoredContactSearch(store.database, keys_of),
        history=Histories(store=StoredPersonHistory(store.database)),
        lately=Lately(store=StoredLately(store.database, HOUSEHOLD_OWNER)),
        sessions=_sessions_today(settings, store.database, mint),
        channels=sorted(known_channels(settings)),
    )
    return conversations_section(pages)


def _sessions_today(settings: Settings, database: Database, mint: IdMint) -> SessionsToday:
    most = settings.conversations.sessions_per_day
    return SessionsToday(counted=StoredInbound(database, mint.mint), per_day=most)


def person_overviews(store: OpenedStore, questions: QuestionPages, attention: Attention) -> PersonOverviews:
    history = Histories(store=StoredPersonHistory(store.database))
    return PersonOverviews(history=history, questions=questions, attention=attention)


def people_desk(
    settings: Settings,
    store: OpenedStore,
    clock: Clock,
    bulk: Bulk,
    links_due: Callable[[], object],
    mint: IdMint,
    overviews: PersonOverviews,
) -> ConsoleSection:
    pairing = build_pairing(settings, store, clock, links_due)
    pages = ContactPages(
        people=pairing.people,
        pairing=pairing,
        search=StoredContactSearch(store.database, keys_of),
        choices=StoredMemory(store.database, keys_of),
        sessions=_sessions_today(settings, store.database, mint),
        overviews=overviews,
    )
    return contacts_section(pages, import_pages(ImportPages(store.people, bulk)))


def devices_desk(
    settings: Settings, store: OpenedStore, outbound: Outbound | None, clock: Clock, mint: IdMint
) -> ConsoleSection:
    """Also where no account notifies: then the page says what to set."""
    devices = devices_of(settings, store, outbound, clock, mint) if outbound is not None else None
    return devices_section(DevicePages(devices=devices))
