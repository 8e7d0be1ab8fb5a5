"""Access to a mailbox as a provider grants it: whom one asks, the grant kept sealed, the token, and the log-in."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from aiohttp import web
from cryptography.exceptions import InvalidTag

from postroom.channels.email.kind import EmailAccount, EmailSettings
from postroom.kernel.http.answers import json_object
from postroom.kernel.http.tokens import Granted, NotGranted, granted, send_form
from postroom.kernel.running.files import alone_with, replace_file
from postroom.kernel.running.process import Seal, household_key
from postroom.kernel.values.errors import CredentialsRefused, TargetUnavailable

# Whom one asks for access to a mailbox, where, and for what.

_GOOGLE_SCOPES: Final = ("https://mail.google.com/",)
_MICROSOFT_SCOPES: Final = (
    "offline_access",
    "https://outlook.office.com/IMAP.AccessAsUser.All",
    "https://outlook.office.com/SMTP.Send",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OauthProvider:
    """Google shows a page in the browser and sends the answer to this machine; Microsoft shows a code to type."""

    name: str
    title: str
    scopes: tuple[str, ...]
    token_url: str
    authorize_url: str = ""
    device_url: str = ""


def mail_provider(options: EmailSettings | EmailAccount) -> OauthProvider:
    """Addresses that are set stand in for the provider's own."""
    if options.oauth_provider == "google":
        return OauthProvider(
            name="google",
            title="Google",
            scopes=_GOOGLE_SCOPES,
            token_url=options.oauth_token_url or "https://oauth2.googleapis.com/token",
            authorize_url=options.oauth_authorize_url or "https://accounts.google.com/o/oauth2/v2/auth",
        )
    base = f"https://login.microsoftonline.com/{options.oauth_tenant}/oauth2/v2.0"
    return OauthProvider(
        name="microsoft",
        title="Microsoft",
        scopes=_MICROSOFT_SCOPES,
        token_url=options.oauth_token_url or f"{base}/token",
        device_url=options.oauth_device_url or f"{base}/devicecode",
    )


# What a provider's token endpoint says: a token, not yet, or no.

_CALL_SECONDS: Final = 30.0
_NOT_YET: Final = ("authorization_pending", "slow_down")
_NO_MORE: Final = ("invalid_grant", "invalid_client", "unauthorized_client", "interaction_required")


async def _ask(provider: OauthProvider, fields: dict[str, str], again: str) -> Granted:
    """`again` is what one does to be let in anew. Raises NotGranted while the person has not decided."""
    try:
        return granted(await send_form(provider.title, provider.token_url, fields, _CALL_SECONDS))
    except NotGranted as refused:
        if refused.code in _NOT_YET:
            raise
        if refused.code in _NO_MORE or refused.status in (400, 401, 403):
            said = f" ({refused.code})" if refused.code else ""
            told = f"{provider.title} does not let us into the mailbox any more{said}: {again}"
            raise CredentialsRefused(told) from None
        told = f"{provider.title} gave no access to the mailbox just now ({refused.status})"
        raise TargetUnavailable(told) from None


# Access to a mailbox as a provider granted it, sealed in a file of the household's home.


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """With the client it was granted to, so that it can be renewed without any setting."""

    client_id: str
    client_secret: str = field(default="", repr=False)
    refresh_token: str = field(repr=False)
    access_token: str = field(default="", repr=False)
    expires_at: float = 0.0
    """By the clock of this machine, in seconds since 1970."""


class GrantFile:
    """Only its owner may read it, and what it holds opens with the household's key alone."""

    def __init__(self, home: Path, account: str, key: bytes) -> None:
        self.path = home / "mail-oauth" / f"{account}.sealed"
        self._about = f"mail-oauth:{account}"
        self._seal = Seal(key)

    def read(self) -> Grant | None:
        """None when there is none, or when it was sealed with another key."""
        try:
            return Grant(**json.loads(self._seal.unseal(self.path.read_text("ascii"), self._about)))
        except (FileNotFoundError, InvalidTag, ValueError, TypeError):
            return None

    def write(self, grant: Grant) -> None:
        """As a whole or not at all: a token that was renewed may be the only one that is still good."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self.path, self._seal.seal(json.dumps(asdict(grant)), self._about).encode())

    def alone(self) -> AbstractContextManager[None]:
        """Several processes send: one of them renews, and the others find it done."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return alone_with(self.path)


def grant_file(name: str, home: Path) -> GrantFile:
    return GrantFile(home, name, household_key(home, "mail access"))


# The access token of a mailbox: renewed before it ends, and at once when a server refuses it.

_EARLY_SECONDS: Final = 120.0


class MailAccess:
    """Shared by sending and listening; of those who ask at the same time one asks the provider."""

    def __init__(
        self, file: GrantFile, provider: OauthProvider, account: str, now: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._provider = provider
        self._again = f"run `postroom login-mail {account}`"
        self._now = now
        self._lock = asyncio.Lock()

    async def token(self, *, refused: str | None = None) -> str:
        """Another one than `refused`. Raises CredentialsRefused when a person has to log in again."""
        async with self._lock:
            kept, is_good = await self._kept(refused)
            return kept.access_token if is_good else await self._renewed(refused)

    async def _kept(self, refused: str | None) -> tuple[Grant, bool]:
        """What was granted, and whether its token is still to be shown."""
        grant = await asyncio.to_thread(self._file.read)
        if grant is None:
            raise CredentialsRefused(f"no access to this mailbox has been granted yet: {self._again}")
        return grant, grant.access_token not in ("", refused) and grant.expires_at - _EARLY_SECONDS > self._now()

    async def _renewed(self, refused: str | None) -> str:
        """Another process may have done it while we waited for the lock."""
        held = self._file.alone()
        await asyncio.to_thread(held.__enter__)
        try:
            grant, is_good = await self._kept(refused)
            if not is_good:
                grant = await self._asked(grant)
                await asyncio.to_thread(self._file.write, grant)
            return grant.access_token
        finally:
            await asyncio.to_thread(held.__exit__, None, None, None)

    async def _asked(self, grant: Grant) -> Grant:
        """Microsoft gives another refresh token each time, and the old one ends some day."""
        fields = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
        fields |= _client(grant.client_id, grant.client_secret)
        if self._provider.name == "microsoft":
            fields["scope"] = " ".join(self._provider.scopes)
        told = await _ask(self._provider, fields, self._again)
        return replace(
            grant,
            access_token=told.access_token,
            refresh_token=told.refresh_token or grant.refresh_token,
            expires_at=self._now() + told.lasts_seconds,
        )


def xoauth2(user: str, token: str) -> bytes:
    return f"user={user}\x01auth=Bearer {token}\x01\x01".encode()


# Let a person grant access to a mailbox: by a code they type elsewhere, or by a page that answers this machine.

_Say = Callable[[str], object]
_Sleep = Callable[[float], Awaitable[object]]
_PATIENCE_SECONDS: Final = 900.0
_AGAIN: Final = "start again"
_SLOWER_SECONDS: Final = 5.0
_DONE: Final = "You can close this page and go back to the terminal."


async def by_code(
    provider: OauthProvider, client_id: str, client_secret: str, say: _Say, sleep: _Sleep = asyncio.sleep
) -> Grant:
    """RFC 8628, as Microsoft offers it."""
    client = _client(client_id, client_secret)
    asked = {"client_id": client_id, "scope": " ".join(provider.scopes)}
    answer = await send_form(provider.title, provider.device_url, asked, _CALL_SECONDS)
    told = json_object(answer.body)
    code, shown, where = (told.get(name) for name in ("device_code", "user_code", "verification_uri"))
    if answer.status != 200 or not (isinstance(code, str) and isinstance(shown, str) and isinstance(where, str)):
        raise TargetUnavailable(f"{provider.title} gave no code ({answer.status}): check the client id")
    say(f"Open {_line(where)} in any browser, and enter the code {_line(shown)}")
    pause, left = _number(told.get("interval"), 5.0), _number(told.get("expires_in"), _PATIENCE_SECONDS)
    fields = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": code, **client}
    while left > 0:
        await sleep(pause)
        left -= pause
        try:
            return _grant(client_id, client_secret, await _ask(provider, fields, _AGAIN))
        except NotGranted as not_yet:
            pause += _SLOWER_SECONDS if not_yet.code == "slow_down" else 0.0
    raise CredentialsRefused(f"{provider.title} has waited long enough for the code: {_AGAIN}")


async def by_page(
    provider: OauthProvider, client_id: str, client_secret: str, say: _Say, *, port: int = 0, user: str = ""
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
    return _grant(client_id, client_secret, await _ask(provider, fields | _client(client_id, client_secret), _AGAIN))


async def _patiently(provider: OauthProvider, answered: asyncio.Future[str]) -> str:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
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
    return float(value) if isinstance(value, int | float) and 0 < value <= _PATIENCE_SECONDS else otherwise


def _line(text: str) -> str:
    return "".join(character for character in text[:200] if character.isprintable())
