"""Remember whom a person meant, on proof that a person was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from postroom.domain.clock import Clock
from postroom.domain.contact import Candidate, InputMode, Resolution
from postroom.domain.contact_book import ConfirmSource, Offer, Remembered
from postroom.domain.errors import Code, Refused
from postroom.domain.person import Person
from postroom.work.people.memory import standing
from postroom.work.people.normalise import keys_of
from postroom.work.people.resolve import Resolver, hash_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A choice: under a token, or of an address."""

    owner_agent: str
    query: str
    resolution_token: str | None = None
    agent_address: str | None = None
    source: ConfirmSource = ConfirmSource.USER_CHOICE


class ConfirmStore(Protocol):
    async def offered(self, token_hash: str, owner_agent: str, now_us: int) -> Offer | None:
        """Unused and not expired."""
        ...

    async def contact_by_address(self, owner_agent: str, agent_address: str) -> Person | None: ...

    async def remember(self, memory: Remembered, token_hash: str | None) -> Remembered | None:
        """
        Uses the token up and writes the choice in one step, counting earlier ones.
        None when the token was used meanwhile, or the contact moved or lost the name.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmer:
    resolver: Resolver
    store: ConfirmStore
    clock: Clock
    mint: Callable[[int], str]

    async def confirm(self, asked: Confirmation, *, by_person: bool) -> Remembered:
        """A model may only confirm what was put to it as a choice; a person may choose anybody in the book."""
        if asked.resolution_token:
            token_hash, chosen = await self._under_token(asked, asked.resolution_token)
        else:
            token_hash, chosen = None, await self._by_address(asked, by_person)
        memory = await self.store.remember(await self._memory(asked, chosen), token_hash)
        if memory is None:
            raise Refused(Code.RESOLUTION_STALE, "the contact changed since it was shown; resolve the name again")
        return memory

    async def _under_token(self, asked: Confirmation, token: str) -> tuple[str, Candidate]:
        secret, _, place = token.partition(".")
        offer = await self.store.offered(hash_token(secret), asked.owner_agent, self.clock.now_us())
        if offer is None or offer.query != keys_of(asked.query).normal:
            raise Refused(
                Code.RESOLUTION_EXPIRED,
                "the resolution_token is unknown, used, expired or for another name; resolve the name again",
            )
        return offer.token_hash, _choice(offer, place, asked.agent_address)

    async def _by_address(self, asked: Confirmation, by_person: bool) -> Candidate:
        address = asked.agent_address or ""
        if by_person:
            contact = await self.store.contact_by_address(asked.owner_agent, address)
            shown = await self.resolver.resolve(asked.owner_agent, address) if contact else None
        else:
            shown = await self.resolver.resolve(asked.owner_agent, asked.query, input_mode=InputMode.TEXT)
        candidate = _named_in(shown, address)
        if candidate is None:
            raise Refused(
                Code.CONTACT_NOT_FOUND,
                "nobody with this address in this book has a name like this one; "
                "add it there as an alias, or let a person confirm it",
            )
        return candidate

    async def _memory(self, asked: Confirmation, chosen: Candidate) -> Remembered:
        keys, now = keys_of(asked.query), self.clock.now_us()
        glance = await self.resolver.memories.glance(asked.owner_agent, keys.normal, "")
        found = await self.resolver.search(asked.owner_agent, keys, glance.version)
        return Remembered(
            id=self.mint(now),
            owner_agent=asked.owner_agent,
            query=keys.normal,
            contact_id=chosen.contact_id,
            agent_address=chosen.agent_address,
            alias=chosen.display_name if chosen.alias == chosen.agent_address else chosen.alias,
            fingerprint=chosen.fingerprint,
            rival=standing(chosen.contact_id, found)[1],
            book_version=glance.version,
            source=str(asked.source),
            confirm_count=1,
            created_at_us=now,
            confirmed_at_us=now,
        )


def _choice(offer: Offer, place: str, address: str | None) -> Candidate:
    if place.isdecimal() and int(place) < len(offer.candidates):
        chosen = offer.candidates[int(place)]
        if address is None or address == chosen.agent_address:
            return chosen
    elif not place and address is not None:
        for candidate in offer.candidates:
            if candidate.agent_address == address:
                return candidate
    elif not place and len(offer.candidates) == 1:
        return offer.candidates[0]
    raise Refused(Code.RESOLUTION_EXPIRED, "the resolution_token does not say which of the candidates is meant")


def _named_in(shown: Resolution | None, address: str) -> Candidate | None:
    candidates = shown.candidates if shown else ()
    return next((one for one in candidates if one.contact_id and one.agent_address == address), None)
