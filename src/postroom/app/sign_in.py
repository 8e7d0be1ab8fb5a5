"""Signing in put together: who may, and by which links and passkeys."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from postroom.app.known_channels import configured_channels
from postroom.app.store import OpenedStore
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.console_session import SignInWay
from postroom.domain.ids import IdMint
from postroom.domain.person import Person
from postroom.doors.console.access_page import AccessPages, access_pages
from postroom.doors.console.account_page import AccountPages, account_pages
from postroom.doors.console.audit_page import AuditPages, audit_section
from postroom.doors.console.navigation import NavigationGroup
from postroom.doors.console.passkey_routes import PasskeyDoor
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.root import ROOT
from postroom.doors.console.sign_in import SignInPages
from postroom.doors.console.visit import ConsoleSection
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings import Settings
from postroom.system.signal import Signal
from postroom.work.people.may_sign_in import SIGNING_IN, Admitted, admitted
from postroom.work.people.normalise import keys_of
from postroom.work.people.passkeys import Passkeys
from postroom.work.people.sign_in_links import SignInLinks
from postroom.world.store.people.passkeys import StoredPasskeys
from postroom.world.store.people.people_search import StoredPeopleSearch
from postroom.world.store.people.sign_in_links import StoredSignInLinks
from postroom.world.store.shared.audit import StoredAudit
from postroom.world.store.shared.console_sessions import StoredConsoleSessions

_MOST_LISTED = 200
_CHALLENGE_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Admissions:
    """Who may sign in, and what lets them; `due` wakes the one who sends links."""

    settings: Settings
    store: OpenedStore
    tokens: TokenFile
    mint: IdMint
    base_url: str
    due: Signal

    @property
    def grants(self) -> StoredSignInLinks:
        return StoredSignInLinks(self.store.database, self.mint.mint)

    @property
    def keys(self) -> StoredPasskeys:
        return StoredPasskeys(self.store.database, self.mint.mint)

    @property
    def links(self) -> SignInLinks:
        return SignInLinks(
            people=self.store.people,
            store=self.grants,
            tokens=self.tokens,
            channels=list(configured_channels(self.settings)),
            ring=self.due.ring,
        )

    async def household(self) -> Sequence[Person]:
        search = StoredPeopleSearch(self.store.database, keys_of)
        found = [
            await search.listed(HOUSEHOLD_OWNER, begins=None, role=role, after=None, limit=_MOST_LISTED)
            for role in SIGNING_IN
        ]
        return [one for some in found for one in some]

    async def get(self, person_id: str) -> Person | None:
        return await self.store.people.get(HOUSEHOLD_OWNER, person_id)

    async def of(self, person_id: str) -> Admitted | None:
        person = await self.get(person_id)
        invited = await self.grants.is_invited(person_id)
        return admitted(person, self.tokens, is_invited=invited) if person else None

    async def passkeys(self, person_ids: Sequence[str]) -> Mapping[str, int]:
        return await self.keys.counts(person_ids)

    async def invite(self, person: Person, by: str, now_us: int, *, door: str = "console") -> None:
        await self.grants.grant(person.id, by, now_us, door=door)

    async def send(self, person: Person, now_us: int) -> bool:
        return await self.links.send_invitation(person, now_us)

    async def link(self, person: Person, now_us: int, *, way: SignInWay = SignInWay.INVITATION) -> str:
        coming = await self.of(person.id)
        if coming is None:
            raise LookupError(f"{person.id} may not sign in")
        sessions = StoredConsoleSessions(self.store.database, self.mint.mint)
        secret = await sessions.invite(coming.principal, now_us, token_ids=coming.token_ids, way=way)
        return f"{self.base_url}{ROOT}/login?key={secret}"

    async def withdraw(self, person_id: str) -> bool:
        """With the passkeys, so that a later invitation begins anew."""
        gone = await self.grants.withdraw(person_id)
        return bool(await self.keys.remove_all(person_id)) or gone

    def sections(self, sessions: ConsoleSessions, audit: StoredAudit) -> Sequence[ConsoleSection]:
        """A person's own account, behind which the owner sees who may sign in; and for the owner who did what."""
        pages = [
            *account_pages(AccountPages(sessions=sessions, passkeys=self.keys)),
            *access_pages(AccessPages(comers=self, sessions=sessions)),
        ]
        record = AuditPages(record=audit, household=self.household)
        account = ConsoleSection(name="Account", group=NavigationGroup.YOURS, pages=pages)
        return [account, audit_section(record)]

    def passkey_door(self, sessions: ConsoleSessions, clock: Clock) -> Callable[[SignInPages], PasskeyDoor]:
        passkeys = Passkeys(store=self.keys, clock=clock, new_challenge=lambda: secrets.token_bytes(_CHALLENGE_BYTES))
        return lambda pages: PasskeyDoor(
            passkeys=passkeys, known=self.keys, admission=self, sessions=sessions, sign_in=pages
        )
