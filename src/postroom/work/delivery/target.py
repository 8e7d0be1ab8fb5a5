"""Whom a delivery is for: the address given, a contact by exact name, or the owner."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.delivery import Intent
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.outgoing import Outgoing, RequestContext
from postroom.domain.ports import Channel
from postroom.domain.seams import AddressBook


@dataclass(frozen=True, slots=True)
class Target:
    address: str
    thread: str | None = None

    @property
    def identity(self) -> str:
        return f"{self.address}:{self.thread}" if self.thread else self.address


async def resolve_target(outgoing: Outgoing, channel: Channel, book: AddressBook) -> Target:
    if target := plain_target(outgoing, channel):
        return target
    if outgoing.recipient is None:
        return await _owner(channel, book)
    return await _contact(outgoing.recipient, channel, book, channel.address(outgoing.recipient))


def plain_target(outgoing: Outgoing, channel: Channel) -> Target | None:
    """Where the message itself says it all; None when the address book has to be asked."""
    if outgoing.intent is not Intent.SEND and outgoing.context is not None:
        return _thread_target(outgoing, outgoing.context, channel)
    if outgoing.recipient is None or _could_be_a_name(outgoing.recipient):
        return None
    address = channel.address(outgoing.recipient)
    return None if address is None else Target(address)


def _could_be_a_name(recipient: str) -> bool:
    """On some channels any word is an address, and people have names that are words."""
    if recipient.isdigit() or "@" in recipient or ":" in recipient:
        return False
    return any(one.isalpha() for one in recipient)


def _thread_target(outgoing: Outgoing, context: RequestContext, channel: Channel) -> Target:
    thread = context.source_thread_identity
    if form := channel.capabilities.thread_identity:
        split = form.split(thread or "")
        if split is None:
            raise _refused("request_context.source_thread_identity", f"must be {form.words}", "thread_format")
        return Target(*split)
    address = channel.address(context.source_sender_identity)
    if address is None:
        raise _refused(
            "request_context.source_sender_identity", f"is not an address on {outgoing.channel}", "not_an_address"
        )
    return Target(address, thread and thread.removeprefix(f"{address}:"))


async def _owner(channel: Channel, book: AddressBook) -> Target:
    address = await book.owner(channel.name)
    if address is None:
        raise _refused("delivery.recipient", f"is required: no owner is known on {channel.name}", "recipient_required")
    return Target(address)


async def _contact(name: str, channel: Channel, book: AddressBook, otherwise: str | None) -> Target:
    """`otherwise` is the name taken for an address."""
    found = sorted(set(await book.addresses(name, channel.name)))
    if len(found) == 1:
        return Target(found[0])
    if not found and otherwise is not None:
        return Target(otherwise)
    if found:
        raise _refused("delivery.recipient", "names more than one contact", "ambiguous_recipient")
    raise _refused(
        "delivery.recipient", f"is neither an address on {channel.name} nor a known contact", "unknown_recipient"
    )


def _refused(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
