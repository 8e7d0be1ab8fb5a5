"""The tables of people: records, addresses, contact books, codes, devices, and who may sign in."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.message.delivery import Closing
from postroom.people.model import PersonRole, Purpose

_IS_OWNER = text("role = 'owner'")
_IS_VERIFIED = text("verified_at IS NOT NULL")
# `owner_agent` says in which book the person stands; the household's is that of its owner.
people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("agent_address", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("trusted", Boolean, nullable=False),
    Column("zone", Text),
    Column("language", Text),
    Column("source", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("default_butler", Text),
    UniqueConstraint("owner_agent", "agent_address"),
    CheckConstraint(one_of("role", PersonRole), name="role"),
    Index("ix_people_owner_agent_id", "owner_agent", "id"),
    partial_index("ix_people_owner", "role", unique=True, where=_IS_OWNER),
    schema=SHARED,
)
# `folded` is the address as addresses are compared; proved to be one person's, it is no other's in that book.
person_addresses = Table(
    "person_addresses",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("owner_agent", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("verified_at", BigInteger),
    Column("label", Text, nullable=False),
    UniqueConstraint("person_id", "channel", "folded"),
    Index("ix_person_addresses_owner_agent_folded_channel", "owner_agent", "folded", "channel"),
    partial_index("ix_person_addresses_verified", "owner_agent", "channel", "folded", unique=True, where=_IS_VERIFIED),
    schema=SHARED,
)
# No key to people: that a person of the file was deleted in the database is worth knowing too.
people_seeds = Table(
    "people_seeds",
    metadata,
    Column("person_id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("said", Text, nullable=False),
    Column("changed", Boolean, nullable=False),
    schema=SHARED,
)


# Contact books: the names of people, what was confirmed and what was offered.

contact_books = Table(
    "contact_books",
    metadata,
    Column("owner_agent", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    schema=SHARED,
)
contact_aliases = Table(
    "contact_aliases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("contact_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("owner_agent", Text, nullable=False),
    Column("alias", Text, nullable=False),
    Column("is_name", Boolean, nullable=False),
    Column("normal", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("latin", Text, nullable=False),
    Column("skeletons", Text, nullable=False),
    Column("script", Text, nullable=False),
    UniqueConstraint("contact_id", "normal"),
    Index("ix_contact_aliases_owner_agent_normal", "owner_agent", "normal"),
    schema=SHARED,
)
contact_memory = Table(
    "contact_memory",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("contact_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("agent_address", Text, nullable=False),
    Column("alias", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("rival", Float, nullable=False),
    Column("book_version", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("confirm_count", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, nullable=False),
    UniqueConstraint("owner_agent", "query"),
    Index("ix_contact_memory_contact_id", "contact_id"),
    schema=SHARED,
)
contact_offers = Table(
    "contact_offers",
    metadata,
    Column("token_hash", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("candidates", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_contact_offers_expires_at", "expires_at"),
    schema=SHARED,
)


# Addresses from which mail came back, whoever they belong to: written to no more, or only doubted.

# `folded` is the address as addresses are compared. A stranger's is here, too, so there is no key to people.
closed_addresses = Table(
    "closed_addresses",
    metadata,
    Column("channel", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("delivery_id", Text, nullable=False),
    Column("closed_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "folded"),
    CheckConstraint(one_of("reason", Closing), name="reason"),
    schema=SHARED,
)


# Addresses that people have yet to confirm, by the digest of the secret in the link.

email_confirmations = Table(
    "email_confirmations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("digest", Text, unique=True),
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("handed_over_at", BigInteger),
    Column("confirmed_at", BigInteger),
    Column("purpose", Text, nullable=False, server_default=Purpose.INBOX),
    Column("channel", Text, nullable=False, server_default="email"),
    Index("ix_email_confirmations_user_id_created_at", "user_id", "created_at"),
    schema=SHARED,
)


# Codes by which people prove an address, by their digests, and how many wrong ones a sender has sent of late.

# `used_by` is the message that the code came in, so that the same message read twice is one pairing.
pairing_codes = Table(
    "pairing_codes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("used_by", Text),
    Index("ix_pairing_codes_person_id", "person_id"),
    schema=SHARED,
)
pairing_wrong_codes = Table(
    "pairing_wrong_codes",
    metadata,
    Column("channel", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "sender"),
    schema=SHARED,
)


# Browsers that show what the household sends: each an address of a person, with its secrets sealed.

# `mark` is a digest of the endpoint: the same browser again is the same device. `sealed` is empty once it has ended.
push_devices = Table(
    "push_devices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("ended_at", BigInteger),
    UniqueConstraint("channel", "mark"),
    Index("ix_push_devices_person_id", "person_id"),
    schema=SHARED,
)


# Who may sign in without a token, the passkeys they registered, and the challenges those answer.

sign_in_grants = Table(
    "sign_in_grants",
    metadata,
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), primary_key=True),
    Column("invited_by", Text, nullable=False),
    Column("invited_at", BigInteger, nullable=False),
    schema=SHARED,
)
# Every time a link was asked for, whether or not a person was found; the sender by digest.
sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sender", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("ix_sign_in_attempts_sender_at", "sender", "at"),
    schema=SHARED,
)
passkeys = Table(
    "passkeys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("public_key", Text, nullable=False),
    Column("counter", BigInteger, nullable=False),
    Column("transports", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Index("ix_passkeys_person_id", "person_id"),
    schema=SHARED,
)
passkey_challenges = Table(
    "passkey_challenges",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("ceremony", Text, nullable=False),
    Column("browser", Text, nullable=False),
    Column("person_id", Text),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_passkey_challenges_expires_at", "expires_at"),
    schema=SHARED,
)
