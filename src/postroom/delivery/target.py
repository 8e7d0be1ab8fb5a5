"""Whom a delivery is for: the address given, a contact by exact name, or the owner."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.delivery import Intent
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify import Notify, RequestContext, split_telegram_thread
from postroom.ports import AddressBook, Channel


@dataclass(frozen=True, slots=True)
class Target:
    address: str
    thread: str | None = None

    @property
    def identity(self) -> str:
        return f"{self.address}:{self.thread}" if self.thread else self.address


async def resolve_target(notify: Notify, channel: Channel, book: AddressBook) -> Target:
    if notify.intent is not Intent.SEND and notify.context is not None:
        return _thread_target(notify, notify.context, channel)
    if notify.recipient is None:
        return await _owner(channel, book)
    if address := channel.address(notify.recipient):
        return Target(address)
    return await _contact(notify.recipient, channel, book)


def _thread_target(notify: Notify, context: RequestContext, channel: Channel) -> Target:
    thread = context.source_thread_identity
    if notify.channel == "telegram":
        split = split_telegram_thread(thread or "")
        if split is None:
            raise _refused("request_context.source_thread_identity", "must be <chat_id>:<message_id>", "thread_format")
        return Target(split[0], str(split[1]))
    address = channel.address(context.source_sender_identity)
    if address is None:
        raise _refused(
            "request_context.source_sender_identity", f"is not an address on {notify.channel}", "not_an_address"
        )
    return Target(address, thread)


async def _owner(channel: Channel, book: AddressBook) -> Target:
    address = await book.owner(channel.name)
    if address is None:
        raise _refused("delivery.recipient", f"is required: no owner is known on {channel.name}", "recipient_required")
    return Target(address)


async def _contact(name: str, channel: Channel, book: AddressBook) -> Target:
    found = sorted(set(await book.addresses(name, channel.name)))
    if len(found) == 1:
        return Target(found[0])
    if found:
        raise _refused("delivery.recipient", "names more than one contact", "ambiguous_recipient")
    raise _refused(
        "delivery.recipient", f"is neither an address on {channel.name} nor a known contact", "unknown_recipient"
    )


def _refused(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
