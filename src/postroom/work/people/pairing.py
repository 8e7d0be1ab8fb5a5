"""Start a pairing: a code that a person sends us from their own account, or a link to where no sender is proved."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.domain.capabilities import Capabilities
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.pairing import NewPairing, StartedPairing
from postroom.domain.person import Person
from postroom.work.people.people import People

ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that look alike
CODE_CHARACTERS: Final = 8
_MOST_CODES: Final = 10  # of one message; as many wrong ones are enough
_ONLY: Final = re.compile(r"(?:/\w{1,32}(?:@\w{1,64})?\s+)?([A-Za-z0-9]{8})", re.ASCII)
_AMONG_WORDS: Final = re.compile(r"(?<!\w)[A-Z0-9]{8}(?!\w)")


class PairingStore(Protocol):
    async def start(self, new: NewPairing) -> NewPairing:
        """The one that was made before under this id; raises Refused while as many as allowed are open."""
        ...


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
    store: PairingStore
    codes: Codes
    channels: Mapping[str, Capabilities]
    new_seed: Callable[[], str]
    ring: Callable[[], object] = lambda: None

    async def start(self, person_id: str, channel: str, *, key: str | None = None) -> StartedPairing:
        """`key` is the caller's own for this call: the same one has the same code."""
        person, can = await self.people.get(person_id), self._ability(channel)
        seed = self.new_seed() if key is None else key
        if proves_senders(can):
            return await self._by_code(person, channel, seed)
        return await self._by_link(person, channel, seed)

    async def _by_code(self, person: Person, channel: str, seed: str) -> StartedPairing:
        code = self.codes.code(seed)
        kept = await self._kept(person, channel, seed, digest=self.codes.digest(code))
        return StartedPairing(code=code, expires_at_us=kept.expires_at_us)

    async def _by_link(self, person: Person, channel: str, seed: str) -> StartedPairing:
        kept = await self._kept(person, channel, seed, address=_unproved(person, channel))
        self.ring()
        return StartedPairing(sent_to=kept.address, expires_at_us=kept.expires_at_us)

    async def _kept(
        self, person: Person, channel: str, seed: str, *, digest: str | None = None, address: str | None = None
    ) -> NewPairing:
        return await self.store.start(
            NewPairing(
                id=self.codes.identity(seed),
                person_id=person.id,
                channel=channel,
                digest=digest,
                address=address,
                created_at_us=self.people.clock.now_us(),
            )
        )

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
