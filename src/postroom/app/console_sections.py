"""The console's pages where a person works: inbox, approvals, contacts."""

from __future__ import annotations

from postroom.app.address_book import stored_contacts
from postroom.app.inbox import Inbox
from postroom.app.known_channels import known_channels
from postroom.domain.ids import IdMint
from postroom.doors.console.approvals_page import ApprovalPages
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.contacts_import_page import ImportPages, import_pages
from postroom.doors.console.contacts_page import ContactPages, contacts_section
from postroom.doors.console.inbox_page import InboxPages, inbox_section
from postroom.doors.console.inbox_preferences_page import PreferencePages, preference_pages
from postroom.doors.console.ports import Tools
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


def inbox_desk(database: Database, inbox: Inbox) -> Section:
    pages = InboxPages(
        shelves=StoredShelves(database), notes=inbox.notes, preferences=inbox.preferences, ring=inbox.feed.ring
    )
    preferences = PreferencePages(
        book=inbox.preferences, address=mailbox, email_enabled=inbox.notifications.email_enabled
    )
    return inbox_section(pages, preference_pages(preferences))


def approvals_desk(settings: Settings, tools: Tools) -> Section:
    is_on, known = settings.approvals_on, known_channels(settings)
    letters = frozenset(name for name, can in known.items() if can.style == "letter")
    pages = ApprovalPages(tools=tools, is_on=is_on, letters=letters)
    rules = RulePages(tools=tools, is_on=is_on, channels=sorted(known))
    return approvals_section(pages, rules, approver(settings.approvals.approvers))


def contacts_desk(database: Database, mint: IdMint, bulk: Bulk) -> Section:
    people = stored_contacts(database, mint)
    pages = ContactPages(
        people=people, search=StoredContactSearch(database, keys_of), choices=StoredMemory(database, keys_of)
    )
    return contacts_section(pages, import_pages(ImportPages(people, bulk)))
