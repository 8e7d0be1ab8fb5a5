"""The console's pages where a person works: inbox, approvals, contacts."""

from __future__ import annotations

from collections.abc import Collection

from postroom.app.channels import known_channels
from postroom.app.inbox import Inbox
from postroom.doors.console.approvals_page import ApprovalPages
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.contacts_import_page import ImportPages, import_pages
from postroom.doors.console.contacts_page import ContactPages, contacts_section
from postroom.doors.console.inbox_page import InboxPages, inbox_section
from postroom.doors.console.inbox_preferences_page import PreferencePages, preference_pages
from postroom.doors.console.ports import Tools
from postroom.doors.console.questions_page import QuestionPages
from postroom.doors.console.rules_page import RulePages, approvals_section
from postroom.doors.console.visit import Section
from postroom.doors.guard.tool_policy import approver
from postroom.system.settings import Settings
from postroom.work.people.normalise import keys_of
from postroom.world.channels.mailbox import mailbox
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.views import StoredShelves
from postroom.world.store.people.contacts_memory import StoredMemory
from postroom.world.store.people.contacts_search import StoredContactSearch
from postroom.world.store.people.people import StoredPeople


def inbox_desk(database: Database, inbox: Inbox, questions: QuestionPages) -> Section:
    pages = InboxPages(
        shelves=StoredShelves(database),
        notes=inbox.notes,
        preferences=inbox.preferences,
        ring=inbox.feed.ring,
        questions=questions,
    )
    preferences = PreferencePages(
        book=inbox.preferences, address=mailbox, email_enabled=inbox.notifications.email_enabled
    )
    return inbox_section(pages, preference_pages(preferences))


def approvals_desk(settings: Settings, tools: Tools, approvers: Collection[str]) -> Section:
    is_on = settings.approvals_on
    rules = RulePages(tools=tools, is_on=is_on, channels=sorted(known_channels(settings)))
    return approvals_section(ApprovalPages(tools=tools, is_on=is_on), rules, approver(approvers))


def contacts_desk(database: Database, people: StoredPeople, bulk: Bulk) -> Section:
    pages = ContactPages(
        people=people, search=StoredContactSearch(database, keys_of), choices=StoredMemory(database, keys_of)
    )
    return contacts_section(pages, import_pages(ImportPages(people, bulk)))
