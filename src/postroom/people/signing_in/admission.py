"""Who may sign in, and what lets them: invitations, links, passkeys; and the post that takes the links to people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.channel import Capabilities, Outbound
from postroom.message.delivery import Priority
from postroom.message.outgoing import Outgoing
from postroom.people.model import Person
from postroom.people.signing_in.passkeys import StoredPasskeys
from postroom.people.signing_in.rules import (
    SIGN_IN_ORIGIN,
    SIGNING_IN,
    LinkToSend,
    LinkWish,
    SignIn,
    SignInWay,
    admitted,
    where_to_write,
)
from postroom.people.signing_in.store import ConsoleSessions, StoredSignInLinks
from postroom.people.store.people import StoredPeople

_MOST_LISTED: Final = 200
_LONGEST: Final = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class Admissions:
    """`channels` are those that are set up; `ring` wakes the one who sends links."""

    people: StoredPeople
    links: StoredSignInLinks
    passkeys: StoredPasskeys
    sessions: ConsoleSessions
    channels: Sequence[str]
    base_url: str
    ring: Callable[[], object] = lambda: None

    async def household(self) -> Sequence[Person]:
        """Those whose role lets them sign in."""
        found = [
            await self.people.page(HOUSEHOLD_OWNER, role=role, after=None, limit=_MOST_LISTED) for role in SIGNING_IN
        ]
        return [one for some in found for one in some]

    async def get(self, person_id: str) -> Person | None:
        return await self.people.get(HOUSEHOLD_OWNER, person_id)

    async def of(self, person_id: str) -> SignIn | None:
        """As whom this person may come in now."""
        person = await self.get(person_id)
        return await self._admitted(person) if person else None

    async def invite(self, person: Person, by: str, now_us: int, *, door: str = "console") -> None:
        """From now on, until it is withdrawn."""
        await self.links.grant(person.id, by, now_us, door=door)

    async def link(self, person: Person, now_us: int, *, way: SignInWay = SignInWay.INVITATION) -> str:
        coming = await self.of(person.id)
        if coming is None:
            raise LookupError(f"{person.id} may not sign in")
        return await self.sessions.link_for(self.base_url, replace(coming, way=way), now_us)

    async def send(self, person: Person, now_us: int) -> bool:
        """A link to the first verified address; False when there is none."""
        wish = await self._wish(person, "", SignInWay.INVITATION)
        if wish is None:
            return False
        await self.links.send(wish, now_us)
        self.ring()
        return True

    async def ask(self, who: str, *, sender: str, browser: str, now_us: int) -> None:
        """“Send me a link”: the same steps for everybody who is named, known or not, and nothing said of it."""
        typed = who.strip()[:_LONGEST]
        wish = await self._wish(await self._named(typed), typed, SignInWay.LINK)
        await self.links.ask(wish, sender=sender, browser=browser, now_us=now_us)
        self.ring()

    async def withdraw(self, person_id: str) -> bool:
        """With the passkeys, so that a later invitation begins anew."""
        gone = await self.links.withdraw(person_id)
        return bool(await self.passkeys.remove_all(person_id)) or gone

    async def _named(self, typed: str) -> Person | None:
        """Exactly one person, by name, alias, id or address; a name that several have is no one's."""
        found = {one.id: one for one in await self.people.find(HOUSEHOLD_OWNER, typed)} if typed else {}
        for channel in self.channels:
            for one in await self.people.at(HOUSEHOLD_OWNER, channel, typed) if typed else ():
                if where_to_write(one, typed, self.channels) is not None:
                    found.setdefault(one.id, one)
        return next(iter(found.values())) if len(found) == 1 else None

    async def _wish(self, person: Person | None, typed: str, way: SignInWay) -> LinkWish | None:
        coming = await self._admitted(person)
        place = where_to_write(person, typed, self.channels) if person else None
        if person is None or coming is None or place is None:
            return None
        return LinkWish(sign_in=replace(coming, way=way), channel=place.channel, address=place.address)

    async def _admitted(self, person: Person | None) -> SignIn | None:
        """The database is asked also when there is nobody, so that a stranger cannot tell by the time it takes."""
        is_invited = await self.links.is_invited(person.id if person else "")
        return admitted(person, self.sessions.tokens, is_invited=is_invited) if person else None


# The post: runs where deliveries are made.

_SWEEP_SECONDS: Final = 5.0  # for what another process asked us to send
_SUBJECT: Final = "Your link to the console"
_ASKED: Final = """\
A link to sign in to the console was asked for. It works once, for ten minutes, in the browser that asked for it:

{link}

If it was not you, do nothing: without that browser the link is of no use."""
_INVITED: Final = """\
You are invited to sign in to the console of this household. The link works once, for ten minutes:

{link}

There you can register a passkey, so that the next time needs no link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPost:
    """What cannot be sent is asked for again by the person."""

    queue: StoredSignInLinks
    outbound: Outbound
    channels: Callable[[str], Capabilities | None]
    clock: Clock
    base_url: str

    async def look(self) -> int:
        """One round of a loop; when the next is due."""
        now_us = self.clock.now_us()
        for one in await self.queue.take(now_us):
            await self.outbound.submit(self.letter(one), request_id=one.digest[:32], wait_seconds=0)
        return now_us + seconds(_SWEEP_SECONDS)

    def letter(self, one: LinkToSend) -> Outgoing:
        can = self.channels(one.channel)
        body = _INVITED if one.way is SignInWay.INVITATION else _ASKED
        return Outgoing(
            origin_butler=SIGN_IN_ORIGIN,
            idempotency_key=f"sign-in:{one.digest[:32]}",
            channel=one.channel,
            recipient=one.address,
            subject=_SUBJECT if can is not None and can.style == "letter" else None,
            message=body.format(link=f"{self.base_url}/console/login?key={one.secret}"),
            priority=Priority.HIGH,
            released=True,
        )
