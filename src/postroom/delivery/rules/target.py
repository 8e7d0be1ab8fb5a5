"""Whom a delivery is for and on which channel, and how its text stands there."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

from postroom.delivery.model import Claim, NewDelivery, SentMessage, Snapshot
from postroom.delivery.seams import AddressBook
from postroom.kernel.running.loop import beside_if_long
from postroom.kernel.values.errors import FieldError, TargetUnavailable, ValidationError
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Channel, KnownChannels, Style
from postroom.message.delivery import TERMINAL, Format, Intent, Message
from postroom.message.markup import Revision
from postroom.message.outgoing import Outgoing, RequestContext, known_as
from postroom.message.wire import MAX_MESSAGE_CHARACTERS, plain_words
from postroom.message.wishes import AUTO, OWN_AGENTS


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


# -- The channel of a message that names none, or says `auto` ---


async def first_channel(recipient: object, book: AddressBook, channels: KnownChannels) -> str:
    """The first that reaches the recipient; when none does, the first, whose refusal says what is wrong."""
    named = recipient if isinstance(recipient, str) and text_problem(recipient) is None else None
    for name in channels:
        if recipient is None:
            reached = await book.owner(name) is not None
        else:
            reached = named is not None and bool(await book.addresses(named, name))
        if reached:
            return name
    looks_like_mail = isinstance(recipient, str) and "@" in recipient.strip()[1:]
    letters = [name for name, can in channels.items() if can.style == "letter"] if looks_like_mail else []
    return next(iter([*letters, *channels]))


async def in_own_order(outgoing: Outgoing, book: AddressBook, channels: Mapping[str, Channel]) -> Outgoing:
    """Raises ValidationError when no channel reaches the person; what names its channel stays as it is."""
    if outgoing.channel != AUTO:
        return outgoing
    own = [*await book.channels_of(outgoing.recipient), *_by_form(outgoing.recipient, channels)]
    found = next((name for name in own if name in channels), None)
    if found is None:
        told = "auto finds no channel that is set up and reaches this person; name one"
        raise ValidationError.of([FieldError("delivery.channel", told, "no_channel")])
    return replace(outgoing, channel=found)


def _by_form(recipient: str | None, channels: Mapping[str, Channel]) -> list[str]:
    """A mailbox is plain to see; on other channels a name may look like an address."""
    if recipient is None or "@" not in recipient.strip()[1:]:
        return []
    letters = [name for name, one in channels.items() if one.capabilities.style == "letter"]
    return [name for name in letters if channels[name].address(recipient)]


# -- What a revision takes the place of: one of our own deliveries, and where it went ---


SentOf: TypeAlias = Callable[[DeliveryId, DeliveryId | None], Awaitable[SentMessage | None]]
"""With what revisions have made of it, all but the second one that is named; None of what has not arrived."""


StandingOf: TypeAlias = Callable[[DeliveryId], Awaitable[Snapshot | None]]


async def resolve_revision(
    outgoing: Outgoing, delivery_id: DeliveryId, sent_of: SentOf, standing: StandingOf
) -> SentMessage:
    """Only of the same origin on the same channel, and only once it has arrived: until then nothing can be edited."""
    sent = await sent_of(delivery_id, None)
    if sent is not None and (sent.origin_butler, sent.channel) == (outgoing.origin_butler, outgoing.channel):
        return sent
    waiting = await standing(delivery_id) if sent is None else None
    if waiting is not None and waiting.status not in TERMINAL:
        raise TargetUnavailable("the message to revise has not been delivered yet")
    raise ValidationError.of([FieldError("revises", "names no delivered message of this sender", "unknown_delivery")])


def revision_target(outgoing: Outgoing, sent: SentMessage, channel: Channel) -> tuple[Target, Revision | None]:
    """Where it stands, and what is to be edited or deleted there; what only follows it is a reply in its thread."""
    can = channel.capabilities
    if outgoing.follows is not None:
        return Target(sent.conversation or sent.address, sent.provider_ids[0] if sent.provider_ids else None), None
    if not (can.deletes if outgoing.deletes else can.edits):
        verb = "delete" if outgoing.deletes else "edit"
        told = FieldError("revises", f"{channel.name} cannot {verb} what was sent", f"no_{verb}s")
        raise ValidationError.of([told])
    return Target(sent.address), sent.revision(deletes=outgoing.deletes)


async def as_it_stands(sent_of: SentOf, claim: Claim) -> Claim:
    """Revisions that left before this one may have added messages, or taken some away."""
    if claim.revises is None:
        return claim
    sent = await sent_of(claim.revises.delivery_id, claim.replay_of or claim.id)
    return claim if sent is None else replace(claim, revises=sent.revision(deletes=claim.revises.deletes))


# -- What stands in the message: its text in a format the channel shows, a letter's subject, the butler's name ---


async def prepare_aside(channel: Channel, message: Message) -> Sequence[Any]:
    """The same, and nobody else's call waits for a long text."""
    return await beside_if_long(len(message.text), partial(prepared, channel, message))


def prepared(channel: Channel, message: Message) -> Sequence[Any]:
    """
    Raises what the channel raises.

    Markdown becomes readable text where a channel knows nothing of it, so no channel needs to. It is read anew at
    every attempt, and always comes out the same; only a newer version of Postroom may send other bytes under a key.
    """
    if message.format is Format.PLAIN or str(message.format) in channel.capabilities.formats:
        return channel.prepare(message)
    return channel.prepare(replace(message, text=plain_words(message.text, message.format), format=Format.PLAIN))


SubjectOf: TypeAlias = Callable[[str, str, str], Awaitable[str | None]]
"""Of a letter with this id that came over this channel from this very address."""


async def titled(new: NewDelivery, channel: Channel, subject_of: SubjectOf | None) -> NewDelivery:
    """An answer with a subject of its own keeps it; that is no part of what tells two messages apart."""
    if (
        subject_of is None
        or channel.capabilities.style != "letter"
        or new.thread is None
        or (new.subject or "").strip()
    ):
        return new
    subject = await subject_of(new.channel, new.address, new.thread)
    return replace(new, subject=subject) if subject else new


_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
_ESCAPED: Final = r"\\\1"


def signed(outgoing: Outgoing, style: Style) -> str:
    """A chat shows no sender but the bot; a letter has a header for it, and our own texts say themselves who speaks."""
    unsigned = not outgoing.message or outgoing.intent is Intent.REACT or style == "letter"
    if unsigned or outgoing.origin_butler in OWN_AGENTS:
        return outgoing.message
    text = _under(known_as(outgoing.origin_butler), outgoing)
    if len(text) > MAX_MESSAGE_CHARACTERS:
        limit = f"must have at most {MAX_MESSAGE_CHARACTERS} characters with the butler's name before it"
        raise ValidationError.of([FieldError("delivery.message", limit, "too_long")])
    return text


def _under(name: str, outgoing: Outgoing) -> str:
    """In Markdown a paragraph of its own, in which the name is nothing but text: what follows cannot change it."""
    if outgoing.format is Format.PLAIN:
        return f"{name}: {outgoing.message}"
    return f"{_PUNCTUATION.sub(_ESCAPED, name)}:\n\n{outgoing.message}"
