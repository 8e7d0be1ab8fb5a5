"""The console's pages where a person works: inbox, approvals, contacts."""

from __future__ import annotations

from postroom.app.address_book import stored_contacts
from postroom.app.channels import known_channels
from postroom.app.inbox import Inbox
from postroom.channels.mailbox import mailbox
from postroom.console.approvals_page import ApprovalPages
from postroom.console.bulk import Bulk
from postroom.console.contacts_import_page import ImportPages, import_pages
from postroom.console.contacts_page import ContactPages, contacts_section
from postroom.console.inbox_page import InboxPages, inbox_section
from postroom.console.inbox_preferences_page import PreferencePages, preference_pages
from postroom.console.ports import Tools
from postroom.console.rules_page import RulePages, approvals_section
from postroom.console.visit import Section
from postroom.contacts.normalise import keys_of
from postroom.domain.ids import IdMint
from postroom.guard.tool_policy import approver
from postroom.settings import Settings
from postroom.store.contacts_memory import StoredMemory
from postroom.store.contacts_search import StoredContactSearch
from postroom.store.database import Database
from postroom.store.inbox_shelves import StoredShelves


def inbox_desk(database: Database, inbox: Inbox) -> Section:
    pages = InboxPages(
        shelves=StoredShelves(database), notes=inbox.notes, preferences=inbox.preferences, ring=inbox.feed.ring
    )
    preferences = PreferencePages(
        book=inbox.preferences, address=mailbox, email_enabled=inbox.notifications.email_enabled
    )
    return inbox_section(pages, preference_pages(preferences))


def approvals_desk(settings: Settings, tools: Tools) -> Section:
    is_on = settings.approvals_on
    rules = RulePages(tools=tools, is_on=is_on, channels=sorted(known_channels(settings)))
    return approvals_section(ApprovalPages(tools=tools, is_on=is_on), rules, approver(settings.approvals.approvers))


def contacts_desk(database: Database, mint: IdMint, bulk: Bulk) -> Section:
    people = stored_contacts(database, mint)
    pages = ContactPages(
        people=people, search=StoredContactSearch(database, keys_of), choices=StoredMemory(database, keys_of)
    )
    return contacts_section(pages, import_pages(ImportPages(people, bulk)))
