"""What the page's script and the server say to each other when a passkey is made or shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from postroom.console.frame import local_path
from postroom.console.visit import ConsolePage, Visit, anybody, browser_secret, keep_browser, read_form
from postroom.people.signing_in.pages import SignInPages
from postroom.people.signing_in.passkey_site import device_words, site_of
from postroom.people.signing_in.passkeys import Passkey, PasskeyRefused, Passkeys
from postroom.people.signing_in.rules import ROOT, SignIn, SignInWay, new_secret, person_of

_NOT_HERE: Final = "Passkeys need HTTPS and a name, or http://localhost."
_NO_RECORD: Final = "The household has no record of you that a passkey could belong to: ask its owner."
_MAY_NOT: Final = "This passkey's person may not sign in any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyDoor:
    passkeys: Passkeys
    sign_in: SignInPages

    async def question(self, request: Request) -> Response:
        await read_form(request)
        site = site_of(request)
        if site is None:
            return _refused(_NOT_HERE)
        browser = browser_secret(request) or new_secret()
        response = _json(await self.passkeys.question(site, browser))
        keep_browser(response, request, browser)
        return response

    async def enter(self, request: Request) -> Response:
        form, site = await read_form(request), site_of(request)
        if site is None:
            return _refused(_NOT_HERE)
        try:
            shown = await self.passkeys.recognise(form.get("credential"), site, browser_secret(request))
        except PasskeyRefused as error:
            return _refused(str(error))
        secret = await self._begun(request, shown)
        if secret is None:
            return _refused(_MAY_NOT)
        response = JSONResponse({"next": local_path(form.get("next"))})
        await self.sign_in.come_in(request, response, secret)
        return response

    async def _begun(self, request: Request, shown: Passkey) -> str | None:
        coming = await self.sign_in.admissions.of(shown.person_id)
        if coming is None:
            return None
        sign_in = SignIn(
            principal=coming.principal,
            token_ids=coming.token_ids,
            way=SignInWay.PASSKEY,
            device=device_words(request.headers.get("user-agent", "")),
            credential=shown.id,
        )
        return await self.sign_in.admissions.sessions.begin(sign_in, self.passkeys.clock.now_us())

    async def registration(self, visit: Visit) -> Response:
        site, browser = site_of(visit.request), browser_secret(visit.request) or new_secret()
        if site is None:
            return _refused(_NOT_HERE)
        person_id = person_of(visit.principal)
        response = _json(await self.passkeys.registration(person_id, visit.name, site, browser))
        keep_browser(response, visit.request, browser)
        return response

    async def register(self, visit: Visit) -> Response:
        site, person_id = site_of(visit.request), person_of(visit.principal)
        if site is None:
            return _refused(_NOT_HERE)
        if await self.sign_in.admissions.of(person_id) is None:
            return _refused(_NO_RECORD)
        label = visit.form.get("label") or device_words(visit.request.headers.get("user-agent", ""))
        try:
            await self.passkeys.register(
                person_id,
                str(visit.principal),
                visit.form.get("credential"),
                label,
                site,
                browser_secret(visit.request),
            )
        except PasskeyRefused as error:
            return _refused(str(error))
        return JSONResponse({"next": f"{ROOT}/account"})

    async def remove(self, visit: Visit) -> Response:
        person_id = person_of(visit.principal)
        if await self.passkeys.store.remove(person_id, visit.path["id"], str(visit.principal), visit.now_us):
            return visit.go("/account", "The passkey was removed, and what it signed in was signed out.")
        return visit.go("/account", "There is no such passkey any more.", "bad")

    def routes(self) -> Sequence[Route]:
        return [
            Route("/login/passkey/options", self.question, methods=["POST"]),
            Route("/login/passkey", self.enter, methods=["POST"]),
        ]

    def pages(self) -> Sequence[ConsolePage]:
        return [
            ConsolePage("/account/passkeys/options", self.registration, "POST", open_to=anybody),
            ConsolePage("/account/passkeys", self.register, "POST", open_to=anybody),
            ConsolePage("/account/passkeys/{id}/remove", self.remove, "POST", open_to=anybody),
        ]


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _refused(sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status_code=403)
