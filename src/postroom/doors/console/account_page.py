"""A person's own account: where they are signed in, and their passkeys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from postroom.domain.console_session import digest, person_of
from postroom.doors.console.passkey_site import KnownPasskeys, is_this_machine, local_address, site_of
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.root import ROOT
from postroom.doors.console.visit import ConsolePage, Visit, anybody


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPages:
    sessions: ConsoleSessions
    passkeys: KnownPasskeys

    async def show(self, visit: Visit) -> Response:
        person_id, request = person_of(visit.principal), visit.request
        found = await self.sessions.open_of(person_id, visit.now_us)
        return visit.show(
            "account.html",
            shown_as=visit.shown_as,
            sessions=found,
            this=next((one.id for one in found if digest(visit.secret).startswith(one.id)), ""),
            passkeys=await self.passkeys.of(person_id),
            has_passkeys=site_of(request) is not None,
            local_address=f"{local_address(request)}{ROOT}/account" if is_this_machine(request) else "",
        )

    async def end_one(self, visit: Visit) -> Response:
        if await self.sessions.end_one(person_of(visit.principal), visit.path["id"], visit.now_us):
            return visit.go("/account", "Signed out there.")
        return visit.go("/account", "That device was signed out already.", "bad")

    async def end_others(self, visit: Visit) -> Response:
        many = await self.sessions.end_all(visit.principal, visit.now_us, but=visit.secret)
        return visit.go("/account", f"Signed out on {many} other device{'' if many == 1 else 's'}.")


def account_pages(pages: AccountPages) -> Sequence[ConsolePage]:
    return [
        ConsolePage("/account", pages.show, open_to=anybody),
        ConsolePage("/account/sessions/end", pages.end_others, "POST", open_to=anybody),
        ConsolePage("/account/sessions/{id}/end", pages.end_one, "POST", open_to=anybody),
    ]
