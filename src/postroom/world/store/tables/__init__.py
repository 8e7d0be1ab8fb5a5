"""Every table of the household; importing this package fills the metadata."""

from postroom.world.store.tables import approvals as approvals
from postroom.world.store.tables import attention as attention
from postroom.world.store.tables import audit as audit
from postroom.world.store.tables import butlers as butlers
from postroom.world.store.tables import closed_addresses as closed_addresses
from postroom.world.store.tables import console_sessions as console_sessions
from postroom.world.store.tables import contacts as contacts
from postroom.world.store.tables import conversations as conversations
from postroom.world.store.tables import corrections as corrections
from postroom.world.store.tables import deliveries as deliveries
from postroom.world.store.tables import email_confirmations as email_confirmations
from postroom.world.store.tables import idempotency_keys as idempotency_keys
from postroom.world.store.tables import inbound_troubles as inbound_troubles
from postroom.world.store.tables import inbox as inbox
from postroom.world.store.tables import intents as intents
from postroom.world.store.tables import pairings as pairings
from postroom.world.store.tables import people as people
from postroom.world.store.tables import push_devices as push_devices
from postroom.world.store.tables import questions as questions
from postroom.world.store.tables import sessions as sessions
from postroom.world.store.tables import sign_in as sign_in
from postroom.world.store.tables import uploads as uploads
from postroom.world.store.tables import workers as workers
from postroom.world.store.tables.metadata import MESSENGER, SCHEMAS, SHARED, SWITCHBOARD, metadata

__all__ = ["MESSENGER", "SCHEMAS", "SHARED", "SWITCHBOARD", "metadata"]
