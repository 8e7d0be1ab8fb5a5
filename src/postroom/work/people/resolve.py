"""From a name to somebody: explicit address, memory, exact, fuzzy, smart fuzzy, in this order."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from postroom.domain.agent_address import CONTACT_PREFIX, parse_address
from postroom.domain.clock import Clock
from postroom.domain.contact import Candidate, DecisionMode, InputMode, MatchType, Resolution
from postroom.domain.contact_book import BookGlance, Entry, Keys, Offer, Remembered
from postroom.domain.person import Person
from postroom.domain.time import seconds, to_text
from postroom.work.people.decision import MatchVerdict, decide
from postroom.work.people.hint import hint_of
from postroom.work.people.memory import still_holds
from postroom.work.people.normalise import keys_of, normalise

if TYPE_CHECKING:
    from postroom.work.people.book import Book, FoundEntry

TOKEN_SECONDS: Final = 600
_BOOKS_KEPT: Final = 50
_INLINE: Final = 500  # a small book is searched faster than a thread is woken


class BookStore(Protocol):
    async def entry_ids(self, owner_agent: str) -> set[str]: ...

    async def entries(self, owner_agent: str, only: set[str] | None = None) -> Sequence[Entry]: ...

    async def people(self, owner_agent: str, ids: Sequence[str]) -> Mapping[str, Person]: ...


class MemoryStore(Protocol):
    async def glance(self, owner_agent: str, query: str, address: str) -> BookGlance: ...

    async def offer(self, offer: Offer) -> None: ...

    async def refreshed(self, memory: Remembered, book_version: int) -> None:
        """Looked at again under this version of the book, and still good."""
        ...

    async def drop(self, memory: Remembered) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    books: BookStore
    memories: MemoryStore
    clock: Clock
    new_token: Callable[[], str]
    _held: dict[str, tuple[int, Book]] = field(default_factory=dict)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict)  # to change a book, or to look through it in a thread

    async def resolve(
        self,
        owner_agent: str,
        query: str,
        *,
        input_mode: InputMode = InputMode.TEXT,
        limit: int = 5,
    ) -> Resolution:
        keys = keys_of(query)
        glance = await self.memories.glance(owner_agent, keys.normal, query.strip())
        if explicit := _explicit(query, keys, glance.addressed):
            return explicit
        if glance.memory and glance.memory.book_version == glance.version and glance.remembered:
            return _remembered(keys, glance.memory, glance.remembered)
        found = await self.search(owner_agent, keys, glance.version)
        if glance.memory and (known := await self._recall(keys, glance, found)):
            return known
        verdict = decide(found, query, input_mode, limit)
        return await self._answer(owner_agent, keys, verdict)

    async def search(self, owner_agent: str, keys: Keys, version: int) -> list[FoundEntry]:
        book = await self._book(owner_agent, version)
        if len(book) <= _INLINE:
            return book.search(keys)
        async with self._turn(owner_agent):
            return await asyncio.to_thread(book.search, keys)

    async def _recall(self, keys: Keys, glance: BookGlance, found: list[FoundEntry]) -> Resolution | None:
        memory, contact = glance.memory, glance.remembered
        if memory is None:
            return None
        if contact is None or not still_holds(memory, contact, found):
            await self.memories.drop(memory)
            return None
        await self.memories.refreshed(memory, glance.version)
        return _remembered(keys, memory, contact)

    async def _answer(self, owner_agent: str, keys: Keys, verdict: MatchVerdict) -> Resolution:
        contacts = await self.books.people(owner_agent, [one.entry.contact_id for one in verdict.found])
        candidates = tuple(
            _candidate(contact, one) for one in verdict.found if (contact := contacts.get(one.entry.contact_id))
        )
        if not candidates:
            return Resolution(query=keys.normal, decision_mode=DecisionMode.CONTACT_NOT_FOUND, why=verdict.why)
        plain = Resolution(
            query=keys.normal,
            decision_mode=verdict.mode,
            why=verdict.why,
            match_type=candidates[0].match_type,
            candidates=candidates,
        )
        return plain if plain.resolved else await self._offered(owner_agent, plain)

    async def _offered(self, owner_agent: str, plain: Resolution) -> Resolution:
        """With one candidate the token stands for it; with several each has a token of its own."""
        token, now = self.new_token(), self.clock.now_us()
        expires = now + seconds(TOKEN_SECONDS)
        await self.memories.offer(
            Offer(
                token_hash=hash_token(token),
                owner_agent=owner_agent,
                query=plain.query,
                candidates=plain.candidates,
                created_at_us=now,
                expires_at_us=expires,
            )
        )
        named = tuple(replace(one, resolution_token=f"{token}.{place}") for place, one in enumerate(plain.candidates))
        return replace(plain, candidates=named, resolution_token=token, expires_at=to_text(expires))

    async def _book(self, owner_agent: str, version: int) -> Book:
        """Loaded once, then kept in step by what came and went."""
        held = self._held.get(owner_agent)
        if held and held[0] == version:
            return held[1]
        async with self._turn(owner_agent):
            held = self._held.get(owner_agent)
            if held and held[0] == version:
                return held[1]
            book = held[1] if held else None
            if book is None:
                from postroom.work.people.book import Book  # with what compares names, which not every household does

                entries = await self.books.entries(owner_agent)
                book = await asyncio.to_thread(Book, entries) if len(entries) > _INLINE else Book(entries)
            else:
                await self._catch_up(owner_agent, book)
            self._keep(owner_agent, version, book)
            return book

    async def _catch_up(self, owner_agent: str, book: Book) -> None:
        now = await self.books.entry_ids(owner_agent)
        for gone in book.ids - now:
            book.remove(gone)
        if new := now - book.ids:
            for entry in await self.books.entries(owner_agent, new):
                book.add(entry)

    def _turn(self, owner_agent: str) -> asyncio.Lock:
        return self._turns.setdefault(owner_agent, asyncio.Lock())

    def _keep(self, owner_agent: str, version: int, book: Book) -> None:
        self._held.pop(owner_agent, None)
        self._held[owner_agent] = (version, book)
        while len(self._held) > _BOOKS_KEPT:
            oldest = next(iter(self._held))
            del self._held[oldest]
            self._turns.pop(oldest, None)


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _explicit(query: str, keys: Keys, addressed: Person | None) -> Resolution | None:
    address = parse_address(query)
    if addressed is not None:
        return resolved(keys.normal, _named(addressed, query.strip(), MatchType.EXPLICIT, "the address itself"))
    if address is None:
        return None
    if address.startswith(CONTACT_PREFIX):
        return Resolution(
            query=keys.normal, decision_mode=DecisionMode.CONTACT_NOT_FOUND, why="no contact has this address"
        )
    return explicit(address)


def explicit(address: str) -> Resolution:
    """Somebody named by address needs no book."""
    candidate = Candidate(
        agent_address=address,
        display_name=address,
        alias=address,
        match_type=MatchType.EXPLICIT,
        score=1.0,
        hint="",
        why="the address itself",
    )
    return resolved(normalise(address), candidate)


def resolved(query: str, candidate: Candidate) -> Resolution:
    return Resolution(
        query=query,
        decision_mode=DecisionMode.RESOLVED,
        why=candidate.why,
        match_type=candidate.match_type,
        candidates=(candidate,),
    )


def _remembered(keys: Keys, memory: Remembered, contact: Person) -> Resolution:
    return resolved(keys.normal, _named(contact, memory.alias, MatchType.MEMORY, "confirmed before"))


def _candidate(contact: Person, found: FoundEntry) -> Candidate:
    named = _named(contact, found.entry.alias, found.match.match_type, found.match.why)
    return replace(named, score=found.match.score)


def _named(contact: Person, alias: str, match_type: MatchType, why: str) -> Candidate:
    return Candidate(
        agent_address=contact.agent_address,
        display_name=contact.name,
        alias=alias,
        match_type=match_type,
        score=1.0,
        hint=hint_of(contact),
        why=why,
        contact_id=contact.id,
        fingerprint=contact.fingerprint,
    )
