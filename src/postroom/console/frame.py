"""What every page of the console has around it: headers, people by name, and where one can go."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role, person_id_of
from postroom.message.delivery import HeldAddress, folded
from postroom.message.outgoing import known_as
from postroom.people.signing_in.rules import ROOT
from postroom.people.store.rows import StoredHeldAddresses

# -- What every answer says to the browser that shows it --

_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
HEADERS: Final = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with it a browser hides the origin of our own forms from us, too.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Protected:
    """Pages are kept nowhere; files of ours may be kept, but are asked for again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # a file from outside comes under stricter rules
                is_file = "/static/" in scope["path"]
                headers["Cache-Control"] = "no-cache" if is_file else "no-store"
            await send(message)

        await self._app(scope, receive, protected)


# -- Where a person goes after signing in: a page of the console, and never another site --

_LONGEST: Final = 1_000
_PLAIN: Final = re.compile(r"[!-\[\]-~]+")  # printable ASCII without the backslash, which browsers take for a slash
_FIRST: Final = f"{ROOT}/"


def local_path(wanted: str) -> str:
    """The first page for everything that is not clearly one of ours."""
    if len(wanted) > _LONGEST or not _PLAIN.fullmatch(wanted) or not wanted.startswith(_FIRST):
        return _FIRST
    parts = urlsplit(wanted)
    walks = "//" in parts.path or "/." in parts.path or "%" in parts.path[: len(_FIRST) + 1]
    own_door = parts.path.startswith((f"{ROOT}/login", f"{ROOT}/events", f"{ROOT}/logout"))
    return _FIRST if parts.scheme or parts.netloc or walks or own_door else wanted


def asked_path(request: Request) -> str:
    """Where this request wanted to go, if it was a page."""
    if request.method != "GET":
        return _FIRST
    query = f"?{request.url.query}" if request.url.query else ""
    return local_path(request.url.path + query)


# -- People instead of addresses: who stands behind each address of a page, and how they are shown --

Place = tuple[str, str]
"""A channel, and an address on it."""
_HUES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPerson:
    """Somebody on a page, for the macro `person`; without a name, only an address that no person has."""

    channel: str = ""
    address: str = ""
    person_id: str | None = None
    name: str = ""
    is_me: bool = False
    page: str = ""
    """Of this person, or where they can be looked up; empty when it is not for this visitor."""
    add: str = ""
    """Where the address can be given to a person; empty when the visitor may not."""

    @property
    def shown(self) -> str:
        return "You" if self.is_me else self.name or self.address

    @property
    def initials(self) -> str:
        return initials(self.name)

    @property
    def hue(self) -> int:
        return zlib.crc32((self.person_id or self.name).encode()) % _HUES

    @property
    def where(self) -> str:
        """The address in words, for what one tap shows."""
        return " ".join(part for part in (self.channel, self.address) if part)


def initials(name: str) -> str:
    """Of the first and the last word; a word is taken by its first letter or digit in whatever script."""
    letters = [letter for word in name.split() if (letter := _letter(word))]
    return "".join((letters[0], letters[-1]) if len(letters) > 1 else letters)


def _letter(word: str) -> str:
    found = next((one for one in unicodedata.normalize("NFC", word) if one.isalnum()), "")
    return found.upper()[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The people of one page, by address and by id."""

    visitor: Principal
    by_place: Mapping[Place, Sequence[HeldAddress]] = field(default_factory=dict)
    by_id: Mapping[str, HeldAddress] = field(default_factory=dict)
    is_read: bool = True
    """False when the people could not be read: then an address without a name may still be a person's."""

    def at(self, channel: str, address: str) -> ShownPerson:
        found = (self.by_place.get((channel, form), ()) for form in _forms(address))
        holders = next((one for one in found if one), ())
        if not holders:
            return ShownPerson(channel=channel, address=address, add=self._add(channel, address))
        if len(holders) == 1:
            return self._known(holders[0], channel, address)
        others = holders[1].name if len(holders) == 2 else f"{len(holders) - 1} others"
        name = f"{holders[0].name} or {others}"
        return ShownPerson(channel=channel, address=address, name=name, page=self._search(address))

    def of(self, person_id: str, name: str = "") -> ShownPerson:
        """`name` is what stands in a record, for people who are no longer known."""
        if (known := self.by_id.get(person_id)) is not None:
            return self._known(known)
        is_me = person_id == person_id_of(self.visitor)
        return ShownPerson(person_id=person_id, name=name or person_id, is_me=is_me)

    def actor(self, actor: str) -> ShownPerson:
        """Who acted, as records write it: a person by name, anything else as it is."""
        person_id = actor_id(actor)
        return self.of(person_id) if person_id else ShownPerson(address=known_as(actor))

    def _known(self, one: HeldAddress, channel: str = "", address: str = "") -> ShownPerson:
        is_me = one.person_id == person_id_of(self.visitor)
        page = f"{ROOT}/people/{quote(one.person_id, safe='')}" if is_me or self.visitor.is_owner else ""
        return ShownPerson(
            channel=channel, address=address, person_id=one.person_id, name=one.name, is_me=is_me, page=page
        )

    def _search(self, address: str) -> str:
        return f"{ROOT}/people?" + urlencode({"q": address}) if self.visitor.is_owner else ""

    def _add(self, channel: str, address: str) -> str:
        if not (self.is_read and self.visitor.is_owner and channel and address):
            return ""
        return f"{ROOT}/people/new?" + urlencode({"channel": channel, "address": address})


@dataclass(frozen=True, slots=True, kw_only=True)
class NameBook:
    records: StoredHeldAddresses

    async def names(self, visitor: Principal, places: Iterable[Place], ids: Iterable[str] = ()) -> Names:
        """Of a whole page at once; a page is shown without names rather than not at all."""
        wanted = {(channel, form) for channel, address in places for form in _forms(address)}
        asked = set(ids)
        if not wanted and not asked:
            return Names(visitor=visitor)
        try:
            found = await self.records.held({address for _, address in wanted}, asked)
        except StoreUnavailable:
            return Names(visitor=visitor, is_read=False)
        return Names(
            visitor=visitor,
            by_place={place: holders for place in wanted if (holders := _holders(found, place))},
            by_id={one.person_id: one for one in found if one.channel is None},
        )


def _forms(address: str) -> Sequence[str]:
    """As it is, and without the thread that a delivery's target may end with."""
    whole = folded(address.strip())
    return list(dict.fromkeys((whole, whole.rpartition(":")[0] or whole, whole.partition(":")[0])))


def _holders(found: Sequence[HeldAddress], place: Place) -> Sequence[HeldAddress]:
    """The one who has proved it, or else all who say so."""
    here = [one for one in found if (one.channel, one.folded) == place]
    proved = [one for one in here if one.is_verified]
    return proved or sorted(here, key=lambda one: (one.name, one.person_id))


def actor_id(actor: str) -> str | None:
    """The person whom a record names as the one who acted; None for agents and programs."""
    role, _, name = actor.partition(":")
    if actor == str(OPERATOR):
        return OWNER
    return name if role in (Role.PERSON, Role.USER) and name else None


def actors(*records: str | None) -> list[str]:
    return [found for one in records if one and (found := actor_id(one))]


# -- Where a person can go: what is theirs first, then the household's, with how much waits behind each --

_IN_REACH: Final = 4  # on a phone, beside the rest behind one button


class NavigationGroup(StrEnum):
    YOURS = "Yours"
    HOUSEHOLD = "Household"


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationEntry:
    name: str
    path: str
    group: NavigationGroup
    waiting: int = 0

    def leads_to(self, here: str) -> bool:
        return here == self.path or (not self.path.endswith("/") and here.startswith(f"{self.path}/"))


@dataclass(frozen=True, slots=True)
class Navigation:
    entries: Sequence[NavigationEntry] = ()

    @property
    def groups(self) -> Sequence[tuple[NavigationGroup, Sequence[NavigationEntry]]]:
        sorted_in = [(group, [one for one in self.entries if one.group is group]) for group in NavigationGroup]
        return [(group, entries) for group, entries in sorted_in if entries]

    @property
    def quick(self) -> Sequence[NavigationEntry]:
        """What a thumb reaches: the first of what is theirs."""
        return [one for one in self.entries if one.group is NavigationGroup.YOURS][:_IN_REACH]

    @property
    def waiting_elsewhere(self) -> int:
        return sum(one.waiting for one in self.entries) - sum(one.waiting for one in self.quick)

    @property
    def reachable(self) -> frozenset[str]:
        return frozenset(one.path for one in self.entries)
