"""Let a person grant access to a mailbox: by a code they type elsewhere, or by a page that answers this machine."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from postroom.domain.errors import CredentialsRefused, TargetUnavailable
from postroom.world.channels.mail_oauth.grant import Grant
from postroom.world.channels.mail_oauth.provider import OauthProvider
from postroom.world.channels.mail_oauth.token_answer import Granted, NotYet, ask, document, granted

Say = Callable[[str], object]
Sleep = Callable[[float], Awaitable[object]]
PATIENCE_SECONDS: Final = 900.0
_AGAIN: Final = "start again"
_SLOWER_SECONDS: Final = 5.0
_DONE: Final = "You can close this page and go back to the terminal."


async def by_code(
    provider: OauthProvider, client_id: str, client_secret: str, say: Say, sleep: Sleep = asyncio.sleep
) -> Grant:
    """RFC 8628, as Microsoft offers it."""
    client = _client(client_id, client_secret)
    answer = await ask(
        provider.title, provider.device_url, {"client_id": client_id, "scope": " ".join(provider.scopes)}
    )
    told = document(answer)
    code, shown, where = (told.get(name) for name in ("device_code", "user_code", "verification_uri"))
    if answer.status != 200 or not (isinstance(code, str) and isinstance(shown, str) and isinstance(where, str)):
        raise TargetUnavailable(f"{provider.title} gave no code ({answer.status}): check the client id")
    say(f"Open {_line(where)} in any browser, and enter the code {_line(shown)}")
    pause, left = _number(told.get("interval"), 5.0), _number(told.get("expires_in"), PATIENCE_SECONDS)
    fields = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": code, **client}
    while left > 0:
        await sleep(pause)
        left -= pause
        try:
            return _grant(
                client_id,
                client_secret,
                granted(provider.title, await ask(provider.title, provider.token_url, fields), _AGAIN),
            )
        except NotYet as not_yet:
            pause += _SLOWER_SECONDS if not_yet.slower else 0.0
    raise CredentialsRefused(f"{provider.title} has waited long enough for the code: {_AGAIN}")


async def by_page(
    provider: OauthProvider, client_id: str, client_secret: str, say: Say, *, port: int = 0, user: str = ""
) -> Grant:
    """The loopback flow of RFC 8252 with PKCE, as Google offers it to programs on a desktop."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    runner = web.AppRunner(_listener(state, answered), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        back = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        say(
            f"Open this page in the browser of this machine:\n{_page(provider, client_id, back, verifier, state, user)}"
        )
        code = await _patiently(provider, answered)
    finally:
        await runner.cleanup()
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier}
    answer = await ask(provider.title, provider.token_url, fields | _client(client_id, client_secret))
    return _grant(client_id, client_secret, granted(provider.title, answer, _AGAIN))


async def _patiently(provider: OauthProvider, answered: asyncio.Future[str]) -> str:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await answered
    except TimeoutError:
        raise CredentialsRefused(f"no answer came from {provider.title}'s page: {_AGAIN}") from None


def _page(provider: OauthProvider, client_id: str, back: str, verifier: str, state: str, user: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {
        "client_id": client_id,
        "redirect_uri": back,
        "response_type": "code",
        "scope": " ".join(provider.scopes),
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "access_type": "offline",
        "prompt": "consent",
        **({"login_hint": user} if user else {}),
    }
    return f"{provider.authorize_url}?{urlencode(asked)}"


def _listener(state: str, answered: asyncio.Future[str]) -> web.Application:
    async def hear(request: web.Request) -> web.Response:
        """A page of another origin knows neither the state nor the verifier."""
        if not secrets.compare_digest(request.query.get("state", ""), state) or answered.done():
            return web.Response(status=404, text="This is not the page you are looking for.")
        if code := request.query.get("code"):
            answered.set_result(code)
        else:
            answered.set_exception(CredentialsRefused(f"access to the mailbox was not granted: {_AGAIN}"))
        return web.Response(text=_DONE, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})

    app = web.Application()
    app.router.add_get("/", hear)
    return app


def _grant(client_id: str, client_secret: str, told: Granted) -> Grant:
    if not told.refresh_token:
        raise CredentialsRefused(f"access was granted for one hour only, without a refresh token: {_AGAIN}")
    return Grant(
        client_id=client_id,
        client_secret=client_secret,
        refresh_token=told.refresh_token,
        access_token=told.access_token,
        expires_at=time.time() + told.lasts_seconds,
    )


def _client(client_id: str, client_secret: str) -> dict[str, str]:
    return {"client_id": client_id, **({"client_secret": client_secret} if client_secret else {})}


def _number(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value <= PATIENCE_SECONDS else otherwise


def _line(text: str) -> str:
    return "".join(character for character in text[:200] if character.isprintable())
