"""Every table of the household; importing this package fills the metadata."""

from postroom.store.tables import approvals as approvals
from postroom.store.tables import archive as archive
from postroom.store.tables import butlers as butlers
from postroom.store.tables import console_sessions as console_sessions
from postroom.store.tables import contacts as contacts
from postroom.store.tables import deliveries as deliveries
from postroom.store.tables import email_confirmations as email_confirmations
from postroom.store.tables import idempotency_keys as idempotency_keys
from postroom.store.tables import inbox as inbox
from postroom.store.tables import intents as intents
from postroom.store.tables import notifications_log as notifications_log
from postroom.store.tables import sessions as sessions
from postroom.store.tables.metadata import MESSENGER, SCHEMAS, SHARED, SWITCHBOARD, metadata

__all__ = ["MESSENGER", "SCHEMAS", "SHARED", "SWITCHBOARD", "metadata"]
