"""Pairing: how a person proves that an address is theirs, and which of several comes first."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.channel import Capabilities, Outbound
from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import said_back
from postroom.people.model import CodeSent, NewPairing, Person, has_proved, with_first
from postroom.people.people import People
from postroom.people.store.addresses import StoredPairings
from postroom.people.store.people import StoredPeople


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedPairing:
    """With a code for the person to send us, or with the address that a link was sent to."""

    code: str | None = field(default=None, repr=False)
    sent_to: str | None = None
    expires_at_us: int


# Start a pairing: a code that a person sends us from their own account, or a link to where no sender is proved.

ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that look alike
CODE_CHARACTERS: Final = 8
_MOST_CODES: Final = 10  # of one message; as many wrong ones are enough
_ONLY: Final = re.compile(r"(?:/\w{1,32}(?:@\w{1,64})?\s+)?([A-Za-z0-9]{8})", re.ASCII)
_AMONG_WORDS: Final = re.compile(r"(?<!\w)[A-Z0-9]{8}(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """`key` is the household's: without it, what is kept of a code tells nothing of the code."""

    key: bytes = field(repr=False)

    def code(self, seed: str) -> str:
        return "".join(ALPHABET[byte % len(ALPHABET)] for byte in self._sealed("code", seed)[:CODE_CHARACTERS])

    def identity(self, seed: str) -> str:
        return self._sealed("id", seed).hex()[:32]

    def digest(self, code: str) -> str:
        return self._sealed("kept", code).hex()

    def _sealed(self, purpose: str, text: str) -> bytes:
        return hmac.new(self.key, f"{purpose}\x1f{text}".encode(), hashlib.sha256).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """`channels` are those that are set up; `ring` wakes those who send links."""

    people: People
    store: StoredPairings
    codes: Codes
    channels: Mapping[str, Capabilities]
    new_seed: Callable[[], str]
    ring: Callable[[], object] = lambda: None

    async def start(self, person_id: str, channel: str, *, key: str | None = None) -> StartedPairing:
        """`key` is the caller's own for this call: the same one has the same code."""
        person, can = await self.people.get(person_id), self._ability(channel)
        seed = self.new_seed() if key is None else key
        code = self.codes.code(seed) if proves_senders(can) else None
        new = NewPairing(
            id=self.codes.identity(seed),
            person_id=person.id,
            channel=channel,
            digest=self.codes.digest(code) if code else None,
            address=None if code else _unproved(person, channel),
            created_at_us=self.people.clock.now_us(),
        )
        kept = await self.store.start(new)
        if code is None:
            self.ring()
        return StartedPairing(code=code, sent_to=kept.address, expires_at_us=kept.expires_at_us)

    def _ability(self, channel: str) -> Capabilities:
        if (found := self.channels.get(channel)) is not None:
            return found
        raise _refused(f"must be one that is set up: {', '.join(self.channels) or 'there is none'}", "unknown_channel")


def proves_senders(can: Capabilities) -> bool:
    """Whoever writes in a chat is known by the provider; the sender of a letter is what the letter says."""
    return can.inbound and can.style == "chat"


def codes_in(text: str) -> Sequence[str]:
    """What looks like codes: alone, or behind a command, in either case; among other words only as it was shown."""
    if only := _ONLY.fullmatch(text.strip()):
        return [only[1].upper()]
    return list(dict.fromkeys(_AMONG_WORDS.findall(text)))[:_MOST_CODES]


def _unproved(person: Person, channel: str) -> str:
    here = [one for one in person.addresses if one.channel == channel]
    found = next((one.address for one in here if one.verified_at_us is None or one.came_back), None)
    if found is not None:
        return found
    if here:
        raise _refused(f"the address of {person.name} there is verified already", "verified")
    raise _refused(f"{person.name} has no address there that a link could be sent to", "no_address")


def _refused(error: str, code: str) -> Refused:
    return Refused.of(Code.SCHEMA_INVALID, [FieldError("channel", error, code)])


# Hear codes: who sends one from their own account is the person it was made for, and their account is proved.

PAIRED: Final = "Thank you, {name}: this account is verified as yours, and what you answer from it counts."
_log = structlog.get_logger("postroom.pairing")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingEar:
    """Where only the person and we are; to all who send no right code it is as if there were no codes."""

    record: StoredPairings
    codes: Codes
    outbound: Outbound
    clock: Clock

    async def words(self, message: InboundMessage) -> bool:
        """Whether it was a pairing; if not, it is for others to hear."""
        sender = message.author if message.alone else None
        found = codes_in(message.text or "") if sender is not None else ()
        if sender is None or not found:
            return False
        sent = CodeSent(
            channel=message.channel,
            sender=sender,
            event_id=message.event_id,
            digests=tuple(self.codes.digest(code) for code in found),
        )
        try:
            person = await self.record.redeem(sent, self.clock.now_us())
        except Refused as error:
            _log.warning("pairing.refused", channel=message.channel, reason=error.message)
            return True
        if person is not None:
            await _say(self.outbound, message, "paired", PAIRED.format(name=person.name))
        return person is not None


async def _say(outbound: Outbound, message: InboundMessage, what: str, words: str) -> None:
    """Once, however often the message is read."""
    key = f"{what}:{message.channel}:{message.event_id}"
    await outbound.submit(said_back(message, words, key=key, request_id=key), request_id=key, wait_seconds=0)


# `/here`: a person with several proved addresses says which one is tried first.

FIRST_HERE: Final = "From now on you are written to here first; send /here from another place to change it."
_COMMAND: Final = re.compile(r"/here(@\w{1,64})?", re.IGNORECASE | re.ASCII)
_WORDS: Final = re.compile(r"(please\s+)?write to me here(\s+instead)?\s*[.!]?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHere:
    people: StoredPeople
    outbound: Outbound
    clock: Clock

    async def words(self, message: InboundMessage) -> bool:
        """Who has not proved the place gets what every other word would get there."""
        sender = message.author if message.alone and asks_for_here(message) else None
        person = await self._person(message.channel, sender) if sender is not None else None
        if sender is None or person is None:
            return False
        await self.people.change(
            HOUSEHOLD_OWNER,
            person.id,
            lambda known: with_first(known, message.channel, sender),
            now_us=self.clock.now_us(),
        )
        await _say(self.outbound, message, "here", FIRST_HERE)
        return True

    async def _person(self, channel: str, sender: str) -> Person | None:
        found = await self.people.at(HOUSEHOLD_OWNER, channel, sender)
        return next((one for one in found if has_proved(one, channel, sender)), None)


def asks_for_here(message: InboundMessage) -> bool:
    """Words that answer one of our messages are an answer."""
    text = (message.text or "").strip()
    return bool(_COMMAND.fullmatch(text) or (message.replies_to is None and _WORDS.fullmatch(text)))
