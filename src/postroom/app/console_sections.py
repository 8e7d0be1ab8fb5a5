"""The console's pages where a person works: inbox, approvals, people."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from postroom.app.approval_policy import approval_policy
from postroom.app.devices import devices_of
from postroom.app.inbox import Inbox
from postroom.app.known_channels import known_channels
from postroom.app.pairing import build_pairing
from postroom.app.store import OpenedStore
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.ports import Outbound
from postroom.doors.console.approvals_page import ApprovalPages
from postroom.doors.console.contacts_page import ContactPages, contacts_section
from postroom.doors.console.conversations_page import TalkPages, conversations_section
from postroom.doors.console.decisions import OwnDecisions
from postroom.doors.console.devices_page import DevicePages, devices_section
from postroom.doors.console.inbox_page import InboxPages, inbox_section
from postroom.doors.console.inbox_preferences_page import PreferencePages, preference_pages
from postroom.doors.console.person_overview import PersonOverviews
from postroom.doors.console.questions_page import QuestionPages
from postroom.doors.console.rules_page import RulePages, approvals_section
from postroom.doors.console.sessions_today import SessionsToday
from postroom.doors.console.visit import ConsoleSection
from postroom.doors.guard.tool_policy import approver
from postroom.system.settings import Settings
from postroom.work.approvals.approvals import Approvals
from postroom.work.approvals.ruling import expiration
from postroom.work.attention.attention import Attention
from postroom.work.conversations.history import Histories, Lately
from postroom.work.people.normalise import keys_of
from postroom.world.store.approvals.approvals import StoredApprovals
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
    store: OpenedStore,
    approvals: Approvals | None,
    approvers: Collection[str],
    clock: Clock,
    mint: IdMint,
) -> ApprovalsDesk:
    """Those of the messenger in this process; where it runs elsewhere, the same over the database that they share."""
    is_on, may_decide, known = settings.approvals_on, approver(approvers), known_channels(settings)
    approvals = approvals or Approvals(
        record=StoredApprovals(store.database, mint.mint, expiration),
        policy=approval_policy(settings),
        channels={},
        known_channels=known,
        clock=clock,
        mint=mint.mint,
        released=lambda: None,  # its own look finds what was decided
        files=store.files,
    )
    decisions = OwnDecisions(approvals=approvals, may_decide=may_decide)
    letters = frozenset(name for name, can in known.items() if can.style == "letter")
    pages = ApprovalPages(decisions=decisions, is_on=is_on, letters=letters, files=store.files)
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
    return contacts_section(pages)


def devices_desk(
    settings: Settings, store: OpenedStore, outbound: Outbound | None, clock: Clock, mint: IdMint
) -> ConsoleSection:
    """Also where no account notifies: then the page says what to set."""
    devices = devices_of(settings, store, outbound, clock, mint) if outbound is not None else None
    return devices_section(DevicePages(devices=devices))
