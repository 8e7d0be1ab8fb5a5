"""From a name to somebody: explicit address, memory, exact, fuzzy, smart fuzzy, in this order."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import CONTACT_PREFIX, HOUSEHOLD_OWNER, parse_address
from postroom.message.delivery import folded
from postroom.people.model import (
    Candidate,
    ConfirmSource,
    DecisionMode,
    InputMode,
    Keys,
    MatchType,
    Offer,
    Person,
    PersonAddress,
    Remembered,
    Resolution,
)
from postroom.people.names.normalise import has_alias, keys_of, normalise
from postroom.people.store.people import StoredMemory, StoredPeople

if TYPE_CHECKING:
    from postroom.people.names.matching import Book, FoundEntry


TOKEN_SECONDS: Final = 600
_BOOKS_KEPT: Final = 50
_INLINE: Final = 500  # a small book is searched faster than a thread is woken


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    books: StoredPeople
    memories: StoredMemory
    clock: Clock
    new_token: Callable[[], str]
    mint: Callable[[int], str]
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
        memory = glance.memory
        if memory and memory.book_version == glance.version and glance.remembered:
            return _remembered(keys, memory, glance.remembered)
        found = await self.search(owner_agent, keys, glance.version)
        if memory and glance.remembered and still_holds(memory, glance.remembered, found):
            await self.memories.refreshed(memory, glance.version)
            return _remembered(keys, memory, glance.remembered)
        if memory:
            await self.memories.drop(memory)
        verdict = decide(found, query, input_mode, limit)
        return await self._answer(owner_agent, keys, verdict)

    async def search(self, owner_agent: str, keys: Keys, version: int) -> list[FoundEntry]:
        book = await self._book(owner_agent, version)
        if len(book) <= _INLINE:
            return book.search(keys)
        async with self._turn(owner_agent):
            return await asyncio.to_thread(book.search, keys)

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
                entries = await self.books.entries(owner_agent)
                from postroom.people.names.matching import Book  # with what compares names, which few households do

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

    # Remember whom a person meant, on proof that a person was asked.

    async def confirm(
        self,
        owner_agent: str,
        query: str,
        *,
        token: str | None = None,
        address: str | None = None,
        source: ConfirmSource = ConfirmSource.USER_CHOICE,
        by_person: bool,
    ) -> Remembered:
        """
        A choice under a token, or of an address.

        A model may only confirm what was put to it as a choice; a person may choose anybody in the book.
        """
        keys, now_us = keys_of(query), self.clock.now_us()
        token_hash = None
        if token:
            offer = await self._offer_under(owner_agent, keys, token, now_us)
            token_hash, chosen = offer.token_hash, _choice(offer, token.partition(".")[2], address)
        else:
            chosen = await self._by_address(owner_agent, query, address or "", by_person)
        glance = await self.memories.glance(owner_agent, keys.normal, "")
        found = await self.search(owner_agent, keys, glance.version)
        wanted = Remembered(
            id=self.mint(now_us),
            owner_agent=owner_agent,
            query=keys.normal,
            contact_id=chosen.contact_id,
            agent_address=chosen.agent_address,
            alias=chosen.display_name if chosen.alias == chosen.agent_address else chosen.alias,
            fingerprint=chosen.fingerprint,
            rival=standing(chosen.contact_id, found)[1],
            book_version=glance.version,
            source=str(source),
            confirm_count=1,
            created_at_us=now_us,
            confirmed_at_us=now_us,
        )
        memory = await self.memories.remember(wanted, token_hash)
        if memory is None:
            raise Refused(Code.RESOLUTION_STALE, "the contact changed since it was shown; resolve the name again")
        return memory

    async def _offer_under(self, owner_agent: str, keys: Keys, token: str, now_us: int) -> Offer:
        offer = await self.memories.offered(hash_token(token.partition(".")[0]), owner_agent, now_us)
        if offer is None or offer.query != keys.normal:
            raise Refused(
                Code.RESOLUTION_EXPIRED,
                "the resolution_token is unknown, used, expired or for another name; resolve the name again",
            )
        return offer

    async def _by_address(self, owner_agent: str, query: str, address: str, by_person: bool) -> Candidate:
        if by_person:
            contact = await self.books.by_address(owner_agent, address)
            shown = (await self.resolve(owner_agent, address)).candidates if contact else ()
        else:
            shown = (await self.resolve(owner_agent, query)).candidates
        for candidate in shown:
            if candidate.contact_id and candidate.agent_address == address:
                return candidate
        raise Refused(
            Code.CONTACT_NOT_FOUND,
            "nobody with this address in this book has a name like this one; "
            "add it there as an alias, or let a person confirm it",
        )


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


# A few characters of an address: enough to tell two people of one name apart.


def hint_of(person: Person) -> str:
    return ", ".join(_masked(one) for one in person.addresses) or person.agent_address


def _masked(place: PersonAddress) -> str:
    """Of a mailbox the domain says most, of any other address its end."""
    name, at, domain = place.address.partition("@")
    if name and at:
        return f"{name[:1]}…@{domain}"
    return f"{place.channel.capitalize()} …{place.address[-2:]}"


# Whether what was found is certain enough to send, worth asking about, or nobody.

CONFIRM_FROM: Final = 0.66
CONFIRM_FROM_VOICE: Final = 0.72
NAMESAKE_FROM: Final = 0.9  # the name is a whole word of theirs
BAND: Final = 0.06  # nobody can tell names this close apart
SHORT_WHEN_HEARD: Final = 4


@dataclass(frozen=True, slots=True)
class MatchVerdict:
    mode: DecisionMode
    found: tuple[FoundEntry, ...]
    why: str


def decide(found: Sequence[FoundEntry], query: str, input_mode: InputMode, limit: int = 5) -> MatchVerdict:
    """
    Only a name that is exactly one contact's goes through by itself.

    Nothing in the letters tells "Marta Rossi" from a slip in "Maria Rossi", so
    likeness, however great, is always put to the person.
    """
    threshold = CONFIRM_FROM_VOICE if input_mode is InputMode.VOICE else CONFIRM_FROM
    exact = [one for one in found if one.match.match_type is MatchType.EXACT]
    if len(exact) > 1:
        others = [one for one in found if one not in exact and one.match.score >= NAMESAKE_FROM]
        offered = (*exact, *others)[:limit]
        return MatchVerdict(DecisionMode.NEEDS_DISAMBIGUATION, offered, "several contacts have this name")
    if exact and not _is_easily_misheard(query, input_mode):
        return MatchVerdict(DecisionMode.RESOLVED, (exact[0],), exact[0].match.why)
    if exact:
        return MatchVerdict(DecisionMode.NEEDS_CONFIRMATION, (exact[0],), "a name this short is easily misheard")
    if not found or found[0].match.score < threshold:
        return MatchVerdict(DecisionMode.CONTACT_NOT_FOUND, (), "nobody in the book has a name like this")
    near = [one for one in found if one.match.score >= max(threshold, found[0].match.score - BAND)]
    if len(near) > 1:
        return MatchVerdict(
            DecisionMode.NEEDS_DISAMBIGUATION, tuple(near[:limit]), "several contacts are equally alike"
        )
    return MatchVerdict(DecisionMode.NEEDS_CONFIRMATION, (near[0],), f"not the exact name: {near[0].match.why}")


def _is_easily_misheard(query: str, input_mode: InputMode) -> bool:
    return input_mode is InputMode.VOICE and sum(one.isalnum() for one in query) < SHORT_WHEN_HEARD


# Choices a person has confirmed, and when they no longer count.


def still_holds(memory: Remembered, contact: Person, found: Sequence[FoundEntry]) -> bool:
    """Not once the contact moved or lost the name, nor once somebody fits the words better."""
    if contact.fingerprint != memory.fingerprint or not has_alias(contact, memory.alias):
        return False
    mine, best_other = standing(memory.contact_id, found)
    return not (best_other > memory.rival and best_other >= mine)


def standing(contact_id: str, found: Sequence[FoundEntry]) -> tuple[float, float]:
    """The score of this contact, and the best of all the others."""
    mine = max((one.match.score for one in found if one.entry.contact_id == contact_id), default=0.0)
    others = max((one.match.score for one in found if one.entry.contact_id != contact_id), default=0.0)
    return mine, others


# Which of the candidates that were offered under a token is meant.


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


# Whom the words of a search name, so that a list can be searched by person.

_MOST_LOOKED_AT: Final = 100
_MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    book: StoredPeople

    async def people(self, words: str) -> Sequence[Person]:
        """Of the household's people those who are called so; nobody for words that are no name."""
        if not words.strip():
            return []
        found = await self.book.search(HOUSEHOLD_OWNER, words, after=None, limit=_MOST_LOOKED_AT)
        return [one for one in found if is_called(one, words)][:_MOST_NAMED]

    async def places(self, words: str) -> Sequence[str]:
        """Their addresses, as the ledger keeps whom a delivery is for."""
        people = await self.people(words)
        return [f"{one.channel}:{folded(one.address)}" for person in people for one in person.addresses]


def is_called(person: Person, words: str) -> bool:
    """By any of their names, in whatever letters; from the beginning of a word, so that “art” is not Martin."""
    typed = keys_of(words)
    names = [keys_of(name) for name in (person.name, *person.aliases)]
    return any(_begins(name.folded, typed.folded) or _begins(name.latin, typed.latin) for name in names)


def _begins(name: str, typed: str) -> bool:
    return typed != "" and f" {typed}" in f" {name}"
