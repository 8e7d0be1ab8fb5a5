"""Who may sign in: the owner invites people, signs them out, and takes an invitation back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.console_session import OpenSession, principal_of
from postroom.domain.person import Person, PersonRole
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.visit import ConsolePage, Visit
from postroom.work.people.may_sign_in import SIGNING_IN, Admitted


class Comers(Protocol):
    """Those who may sign in, and what lets them."""

    async def household(self) -> Sequence[Person]:
        """Those whose role lets them sign in."""
        ...

    async def get(self, person_id: str) -> Person | None: ...

    async def of(self, person_id: str) -> Admitted | None: ...

    async def passkeys(self, person_ids: Sequence[str]) -> Mapping[str, int]: ...

    async def invite(self, person: Person, by: str, now_us: int) -> None:
        """From now on, until it is withdrawn."""
        ...

    async def send(self, person: Person, now_us: int) -> bool:
        """A link to the first verified address; False when there is none."""
        ...

    async def link(self, person: Person, now_us: int) -> str: ...

    async def withdraw(self, person_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Comer:
    """One line of the list."""

    person: Person
    may_come: bool
    has_address: bool
    passkeys: int
    sessions: Sequence[OpenSession]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPages:
    comers: Comers
    sessions: ConsoleSessions

    async def show(self, visit: Visit) -> Response:
        people = await self.comers.household()
        passkeys = await self.comers.passkeys([one.id for one in people])
        return visit.show(
            "access.html", comers=[await self._comer(one, passkeys.get(one.id, 0), visit.now_us) for one in people]
        )

    async def invite(self, visit: Visit) -> Response:
        """Sent to a verified address, or shown on this one page and nowhere again."""
        person, shows = await self._person(visit), visit.form.get("how") == "show"
        if not shows and not _reachable(person):
            return visit.go("/access", f"{person.name} has no verified address: show the link instead.", "bad")
        await self.comers.invite(person, str(visit.principal), visit.now_us)
        if shows:
            return visit.show("invited.html", person=person, link=await self.comers.link(person, visit.now_us))
        if await self.comers.send(person, visit.now_us):
            return visit.go("/access", f"A link is on its way to {person.name}. It works once, for ten minutes.")
        return visit.go("/access", f"{person.name} cannot be written to just now: show the link instead.", "bad")

    async def sign_out(self, visit: Visit) -> Response:
        person = await self._person(visit)
        many = await self.sessions.end_all(principal_of(person.id), visit.now_us)
        return visit.go("/access", f"{person.name} was signed out on {many} device{'' if many == 1 else 's'}.")

    async def withdraw(self, visit: Visit) -> Response:
        person = await self._person(visit)
        if not await self.comers.withdraw(person.id):
            return visit.go("/access", f"{person.name} was not invited.", "bad")
        await self.sessions.end_all(principal_of(person.id), visit.now_us)
        return visit.go("/access", f"{person.name} was signed out and may sign in no more, unless by a token.")

    async def _comer(self, person: Person, passkeys: int, now_us: int) -> Comer:
        return Comer(
            person=person,
            may_come=await self.comers.of(person.id) is not None,
            has_address=_reachable(person),
            passkeys=passkeys,
            sessions=await self.sessions.open_of(person.id, now_us),
        )

    async def _person(self, visit: Visit) -> Person:
        person = await self.comers.get(visit.path["id"])
        if person is None or person.role not in SIGNING_IN or person.role is PersonRole.OWNER:
            raise HTTPException(404)
        return person


def _reachable(person: Person) -> bool:
    return any(one.verified_at_us and not one.closed for one in person.addresses)


def access_pages(pages: AccessPages) -> Sequence[ConsolePage]:
    return [
        ConsolePage("/access", pages.show),
        ConsolePage("/access/{id}/invite", pages.invite, "POST"),
        ConsolePage("/access/{id}/sign-out", pages.sign_out, "POST"),
        ConsolePage("/access/{id}/withdraw", pages.withdraw, "POST"),
    ]
