"""“Send me a link”: found, limited, sent through delivery; to a stranger it looks the same whatever came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.capabilities import Capabilities
from postroom.domain.clock import Clock
from postroom.domain.console_session import LinkToSend, SignInWay
from postroom.domain.delivery import Priority
from postroom.domain.outgoing import Outgoing
from postroom.domain.person import Person
from postroom.domain.ports import Outbound
from postroom.domain.sign_in_link import SIGN_IN_ORIGIN, LinkWish
from postroom.domain.time import seconds
from postroom.work.people.may_sign_in import HeldTokens, admitted, where_to_write

_SWEEP_SECONDS: Final = 5.0  # for what another process asked us to send
_LONGEST: Final = 320
_SUBJECT: Final = "Your link to the console"
_ASKED: Final = """\
A link to sign in to the console was asked for. It works once, for ten minutes, in the browser that asked for it:

{link}

If it was not you, do nothing: without that browser the link is of no use."""
_INVITED: Final = """\
You are invited to sign in to the console of this household. The link works once, for ten minutes:

{link}

There you can register a passkey, so that the next time needs no link."""


class Everybody(Protocol):
    async def find(self, owner_agent: str, who: str) -> Sequence[Person]: ...

    async def at(self, owner_agent: str, channel: str, address: str) -> Sequence[Person]: ...


class LinkStore(Protocol):
    async def is_invited(self, person_id: str) -> bool: ...

    async def ask(self, wish: LinkWish | None, *, sender: str, browser: str, now_us: int) -> None: ...

    async def send(self, wish: LinkWish, now_us: int) -> None: ...


class LinkQueue(Protocol):
    async def take(self, now_us: int) -> Sequence[LinkToSend]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLinks:
    """`channels` are those that are set up; `ring` wakes the one who sends."""

    people: Everybody
    store: LinkStore
    tokens: HeldTokens
    channels: Sequence[str]
    ring: Callable[[], object] = lambda: None

    async def ask(self, who: str, *, sender: str, browser: str, now_us: int) -> None:
        """The same steps for everybody who is named, known or not."""
        typed = who.strip()[:_LONGEST]
        wish = await self._wish(await self._named(typed), typed, SignInWay.LINK)
        await self.store.ask(wish, sender=sender, browser=browser, now_us=now_us)
        self.ring()

    async def send_invitation(self, person: Person, now_us: int) -> bool:
        """False when there is no verified address to send it to."""
        wish = await self._wish(person, "", SignInWay.INVITATION)
        if wish is None:
            return False
        await self.store.send(wish, now_us)
        self.ring()
        return True

    async def _named(self, typed: str) -> Person | None:
        """Exactly one person, by name, alias, id or address; a name that several have is no one's."""
        found = {one.id: one for one in await self.people.find(HOUSEHOLD_OWNER, typed)} if typed else {}
        for channel in self.channels:
            for one in await self.people.at(HOUSEHOLD_OWNER, channel, typed) if typed else ():
                if where_to_write(one, typed, self.channels) is not None:
                    found.setdefault(one.id, one)
        return next(iter(found.values())) if len(found) == 1 else None

    async def _wish(self, person: Person | None, typed: str, way: SignInWay) -> LinkWish | None:
        is_invited = await self.store.is_invited(person.id if person else "")
        coming = admitted(person, self.tokens, is_invited=is_invited) if person else None
        place = where_to_write(person, typed, self.channels) if person else None
        if person is None or coming is None or place is None:
            return None
        return LinkWish(
            person_id=person.id,
            principal=coming.principal,
            token_ids=coming.token_ids,
            channel=place.channel,
            address=place.address,
            way=way,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPost:
    """Runs where deliveries are made; what cannot be sent is asked for again by the person."""

    queue: LinkQueue
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
