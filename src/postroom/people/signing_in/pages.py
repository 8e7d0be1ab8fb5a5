"""Signing in to the console and out of it, one's own account, and who may sign in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from postroom.console.frame import local_path
from postroom.console.lists import Found, ListPage, ListQuery
from postroom.console.visit import (
    ConsolePage,
    Templates,
    Visit,
    anybody,
    browser_secret,
    drop_session,
    keep_browser,
    keep_session,
    keep_theme,
    keep_wanted,
    message,
    read_form,
    session_secret,
    theme_of,
    wanted_page,
)
from postroom.kernel.running.clock import Clock
from postroom.people.model import Person, PersonRole
from postroom.people.signing_in.admission import Admissions
from postroom.people.signing_in.passkeys import (
    Passkey,
    PasskeyRefused,
    Passkeys,
    Site,
    device_words,
    is_this_machine,
    local_address,
    site_of,
)
from postroom.people.signing_in.rules import (
    ROOT,
    SIGNING_IN,
    OpenSession,
    SignInWay,
    digest,
    new_secret,
    person_of,
    principal_of,
)
from postroom.people.signing_in.store import ConsoleSessions

_STALE: Final = (
    "This link does not work any more",
    "A link works once and for ten minutes. Ask for a new one on the sign-in page, or run “postroom login”.",
)
_ELSEWHERE: Final = (
    "Open this link where you asked for it",
    "It works in the browser that asked for it, and nowhere else, so that a forwarded link is of no use to others. "
    "Copy it there, or ask for a new one here.",
)
_SENT: Final = (
    "Look at your messages",
    "If that is a person who may sign in and has a verified address, a link is on its way there. It works once, for "
    "ten minutes, in this browser. Nothing came? At most three links are open at a time, and five are sent an hour.",
)
_NEXT_THEME: Final = {"auto": "light", "light": "dark", "dark": "auto"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPages:
    admissions: Admissions
    clock: Clock
    templates: Templates

    async def ask(self, request: Request) -> Response:
        """Opening a link uses nothing up: programs that look at links ahead of people must not sign in."""
        return sign_in_page(self.templates, request, wanted=local_path(request.query_params.get("next", "")))

    async def enter(self, request: Request) -> Response:
        form, now_us = await read_form(request), self.clock.now_us()
        key, browser = form.get("key"), browser_secret(request)
        device = device_words(request.headers.get("user-agent", ""))
        secret = await self.admissions.sessions.redeem(key, now_us, browser=browser, device=device)
        if secret is None:
            if await self.admissions.sessions.is_for_another_browser(key, browser, now_us):
                return self._elsewhere(request, key)
            return message(self.templates, request, *_STALE, status=403)
        asked = [local_path(one) for one in (form.get("next"), wanted_page(request))]
        response = RedirectResponse(next((one for one in asked if one != f"{ROOT}/"), f"{ROOT}/"), status_code=303)
        await self.come_in(request, response, secret)
        keep_wanted(response, request, "")
        return response

    def _elsewhere(self, request: Request, key: str) -> Response:
        """To a browser this machine has two names, and what it was given under one it does not show under the other."""
        if not is_this_machine(request):
            return message(self.templates, request, *_ELSEWHERE, status=403)
        way = ("Open it under the other name of this machine", f"{local_address(request)}{ROOT}/login?key={quote(key)}")
        return message(self.templates, request, *_ELSEWHERE, status=403, way=way)

    async def send_link(self, request: Request) -> Response:
        """The same answer to everybody."""
        form = await read_form(request)
        browser = browser_secret(request) or new_secret()
        sender = request.client.host if request.client else ""
        await self.admissions.ask(form.get("who"), sender=sender, browser=browser, now_us=self.clock.now_us())
        response = message(self.templates, request, *_SENT)
        keep_browser(response, request, browser)
        keep_wanted(response, request, local_path(form.get("next")))
        return response

    async def come_in(self, request: Request, response: Response, secret: str) -> None:
        """Always with a new secret; a session this browser had before ends."""
        if before := session_secret(request):
            await self.admissions.sessions.end(before, self.clock.now_us())
        keep_session(response, request, secret)

    def routes(self) -> Sequence[Route]:
        return [
            Route("/login", self.ask, methods=["GET"]),
            Route("/login", self.enter, methods=["POST"]),
            Route("/login/link", self.send_link, methods=["POST"]),
        ]


def sign_in_page(templates: Templates, request: Request, *, wanted: str, status: int = 200) -> Response:
    """`wanted` is the page to go to afterwards."""
    shown = templates.render(
        "sign_in.html",
        key=request.query_params.get("key", "") if status == 200 else "",
        wanted=wanted,
        is_page=wanted != f"{ROOT}/",
        has_passkeys=site_of(request) is not None,
        local_address=f"{local_address(request)}{ROOT}/login" if is_this_machine(request) else "",
        theme=theme_of(request),
    )
    return HTMLResponse(shown, status_code=status)


def sign_out_page(sessions: ConsoleSessions) -> ConsolePage:
    async def leave(visit: Visit) -> Response:
        await sessions.end(visit.secret, visit.now_us)
        response = message(visit.templates, visit.request, "Signed out", "You can close this page.")
        drop_session(response, visit.request)
        return response

    return ConsolePage("/logout", leave, "POST", open_to=anybody)


def theme_page() -> ConsolePage:
    async def switch(visit: Visit) -> Response:
        back = visit.form.get("back")
        response = visit.go(back.removeprefix(ROOT) if back.startswith(f"{ROOT}/") else "/")
        keep_theme(response, visit.request, _NEXT_THEME[theme_of(visit.request)])
        return response

    return ConsolePage("/theme", switch, "POST", open_to=anybody)


# A person's own account: where they are signed in, and their passkeys.


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPages:
    admissions: Admissions

    def listed(self) -> ListPage[OpenSession]:
        return ListPage(
            title="Account",
            parts="account.html",
            caption="Your sessions, newest first",
            look="sessions",
            find=self._find,
            columns={"Device": "", "How": "many", "Since": "rate", "Until": "when", "Sign out": "state act"},
        )

    async def _find(self, visit: Visit, _: ListQuery) -> Found[OpenSession]:
        person_id, request = person_of(visit.principal), visit.request
        found = await self.admissions.sessions.open_of(person_id, visit.now_us)
        around = {
            "shown_as": visit.shown_as,
            "this": next((one.id for one in found if digest(visit.secret).startswith(one.id)), ""),
            "passkeys": await self.admissions.passkeys.of(person_id),
            "has_passkeys": site_of(request) is not None,
            "local_address": f"{local_address(request)}{ROOT}/account" if is_this_machine(request) else "",
        }
        return Found(rows=found, around=around)

    async def end_one(self, visit: Visit) -> Response:
        if await self.admissions.sessions.end_one(person_of(visit.principal), visit.path["id"], visit.now_us):
            return visit.go("/account", "Signed out there.")
        return visit.go("/account", "That device was signed out already.", "bad")

    async def end_others(self, visit: Visit) -> Response:
        many = await self.admissions.sessions.end_all(visit.principal, visit.now_us, but=visit.secret)
        return visit.go("/account", f"Signed out on {many} other device{'' if many == 1 else 's'}.")


def account_pages(pages: AccountPages) -> Sequence[ConsolePage]:
    return [
        ConsolePage("/account", pages.listed().show, open_to=anybody),
        ConsolePage("/account/sessions/end", pages.end_others, "POST", open_to=anybody),
        ConsolePage("/account/sessions/{id}/end", pages.end_one, "POST", open_to=anybody),
    ]


# Who may sign in: the owner invites people, signs them out, and takes an invitation back.


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
    admissions: Admissions

    async def show(self, visit: Visit) -> Response:
        people = await self.admissions.household()
        passkeys = await self.admissions.passkeys.counts([one.id for one in people])
        return visit.show(
            "access.html", comers=[await self._comer(one, passkeys.get(one.id, 0), visit.now_us) for one in people]
        )

    async def invite(self, visit: Visit) -> Response:
        """Sent to a verified address, or shown on this one page and nowhere again."""
        person, shows = await self._person(visit), visit.form.get("how") == "show"
        if not shows and not _reachable(person):
            return visit.go("/access", f"{person.name} has no verified address: show the link instead.", "bad")
        await self.admissions.invite(person, str(visit.principal), visit.now_us)
        if shows:
            return visit.show("invited.html", person=person, link=await self.admissions.link(person, visit.now_us))
        if await self.admissions.send(person, visit.now_us):
            return visit.go("/access", f"A link is on its way to {person.name}. It works once, for ten minutes.")
        return visit.go("/access", f"{person.name} cannot be written to just now: show the link instead.", "bad")

    async def sign_out(self, visit: Visit) -> Response:
        person = await self._person(visit)
        many = await self.admissions.sessions.end_all(principal_of(person.id), visit.now_us)
        return visit.go("/access", f"{person.name} was signed out on {many} device{'' if many == 1 else 's'}.")

    async def withdraw(self, visit: Visit) -> Response:
        person = await self._person(visit)
        if not await self.admissions.withdraw(person.id):
            return visit.go("/access", f"{person.name} was not invited.", "bad")
        await self.admissions.sessions.end_all(principal_of(person.id), visit.now_us)
        return visit.go("/access", f"{person.name} was signed out and may sign in no more, unless by a token.")

    async def _comer(self, person: Person, passkeys: int, now_us: int) -> Comer:
        return Comer(
            person=person,
            may_come=await self.admissions.of(person.id) is not None,
            has_address=_reachable(person),
            passkeys=passkeys,
            sessions=await self.admissions.sessions.open_of(person.id, now_us),
        )

    async def _person(self, visit: Visit) -> Person:
        person = await self.admissions.get(visit.path["id"])
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


# What the page's script and the server say to each other when a passkey is made or shown.


Asked = TypeVar("Asked", Request, Visit)
_NO_RECORD: Final = "The household has no record of you that a passkey could belong to: ask its owner."
_MAY_NOT: Final = "This passkey's person may not sign in any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyDoor:
    passkeys: Passkeys
    sign_in: SignInPages

    async def question(self, request: Request) -> Response:
        await read_form(request)
        site = _site(request)
        browser = browser_secret(request) or new_secret()
        response = _json(await self.passkeys.question(site, browser))
        keep_browser(response, request, browser)
        return response

    async def enter(self, request: Request) -> Response:
        form, site = await read_form(request), _site(request)
        shown = await self.passkeys.recognise(form.get("credential"), site, browser_secret(request))
        secret = await self._begun(request, shown)
        response = JSONResponse({"next": local_path(form.get("next"))})
        await self.sign_in.come_in(request, response, secret)
        return response

    async def _begun(self, request: Request, shown: Passkey) -> str:
        coming = await self.sign_in.admissions.of(shown.person_id)
        if coming is None:
            raise PasskeyRefused(_MAY_NOT)
        device = device_words(request.headers.get("user-agent", ""))
        sign_in = replace(coming, way=SignInWay.PASSKEY, device=device, credential=shown.id)
        secret = await self.sign_in.admissions.sessions.begin(sign_in, self.passkeys.clock.now_us())
        if secret is None:
            raise PasskeyRefused(_MAY_NOT)
        return secret

    async def registration(self, visit: Visit) -> Response:
        site, browser = _site(visit.request), browser_secret(visit.request) or new_secret()
        person_id = person_of(visit.principal)
        response = _json(await self.passkeys.registration(person_id, visit.name, site, browser))
        keep_browser(response, visit.request, browser)
        return response

    async def register(self, visit: Visit) -> Response:
        site, person_id = _site(visit.request), person_of(visit.principal)
        if await self.sign_in.admissions.of(person_id) is None:
            raise PasskeyRefused(_NO_RECORD)
        label = visit.form.get("label") or device_words(visit.request.headers.get("user-agent", ""))
        answer, browser = visit.form.get("credential"), browser_secret(visit.request)
        await self.passkeys.register(person_id, str(visit.principal), answer, label, site, browser)
        return JSONResponse({"next": f"{ROOT}/account"})

    async def remove(self, visit: Visit) -> Response:
        person_id = person_of(visit.principal)
        if await self.passkeys.store.remove(person_id, visit.path["id"], str(visit.principal), visit.now_us):
            return visit.go("/account", "The passkey was removed, and what it signed in was signed out.")
        return visit.go("/account", "There is no such passkey any more.", "bad")

    def routes(self) -> Sequence[Route]:
        return [
            Route("/login/passkey/options", _answered(self.question), methods=["POST"]),
            Route("/login/passkey", _answered(self.enter), methods=["POST"]),
        ]

    def pages(self) -> Sequence[ConsolePage]:
        return [
            ConsolePage("/account/passkeys/options", _answered(self.registration), "POST", open_to=anybody),
            ConsolePage("/account/passkeys", _answered(self.register), "POST", open_to=anybody),
            ConsolePage("/account/passkeys/{id}/remove", self.remove, "POST", open_to=anybody),
        ]


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _site(request: Request) -> Site:
    if (site := site_of(request)) is None:
        raise PasskeyRefused("Passkeys need HTTPS and a name, or http://localhost.")
    return site


def _answered(step: Callable[[Asked], Awaitable[Response]]) -> Callable[[Asked], Awaitable[Response]]:
    """With the sentence, where it was refused."""

    async def answer(asked: Asked) -> Response:
        try:
            return await step(asked)
        except PasskeyRefused as error:
            return JSONResponse({"error": str(error)}, status_code=403)

    return answer
