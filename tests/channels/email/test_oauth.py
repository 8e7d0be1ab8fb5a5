"""Tokens are renewed in time, by one of those who need them, and kept sealed."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from tests.channels.email.token_server import TokenServer
from tests.patience import PATIENCE_SECONDS

from postroom.channels.email.kind import EmailSettings
from postroom.channels.email.oauth import (
    Grant,
    GrantFile,
    MailAccess,
    OauthProvider,
    by_code,
    by_page,
    mail_provider,
    xoauth2,
)
from postroom.kernel.values.errors import CredentialsRefused, TargetUnavailable

KEY = b"k" * 32
NOW = 1_000_000.0


def kept(home: Path, refresh_token: str = "canary-refresh-0", **changes: float | str) -> GrantFile:
    file = GrantFile(home, "email", KEY)
    file.write(Grant(client_id="client", client_secret="canary-secret", refresh_token=refresh_token, **changes))  # type: ignore[arg-type]
    return file


def access(file: GrantFile, tokens: TokenServer, provider: str = "microsoft", now: float = NOW) -> MailAccess:
    return MailAccess(file, granter(provider, f"{tokens.url}/token"), "email", lambda: now)


def granter(name: str, token_url: str, **more: str) -> OauthProvider:
    set_so = {"auth": "oauth2", "oauth_provider": name, "oauth_token_url": token_url, **more}
    return mail_provider(EmailSettings.model_validate(set_so))


@pytest.mark.requirement("mail:oauth2")
async def test_a_token_is_used_until_shortly_before_it_ends(tokens: TokenServer, tmp_path: Path) -> None:
    file = kept(tmp_path, access_token="still-good", expires_at=NOW + 600)

    assert await access(file, tokens).token() == "still-good"
    assert await access(file, tokens, now=NOW + 500).token() == "canary-access-1"
    assert await access(file, tokens).token() == "canary-access-1"
    assert len(tokens.asked) == 1


@pytest.mark.requirement("mail:oauth2")
async def test_a_new_refresh_token_takes_the_place_of_the_old_one(tokens: TokenServer, tmp_path: Path) -> None:
    file = kept(tmp_path)
    first = await access(file, tokens).token()
    second = await access(file, tokens).token(refused=first)

    assert (first, second) == ("canary-access-1", "canary-access-2")
    assert [one["refresh_token"] for one in tokens.asked] == ["canary-refresh-0", "canary-refresh-1"]
    assert tokens.asked[0]["client_secret"] == "canary-secret"
    assert "https://outlook.office.com/SMTP.Send" in tokens.asked[0]["scope"]


async def test_google_keeps_its_refresh_token(tokens: TokenServer, tmp_path: Path) -> None:
    tokens.rotates = False
    file = kept(tmp_path)
    await access(file, tokens, "google").token()

    grant = file.read()
    assert grant is not None and grant.refresh_token == "canary-refresh-0"
    assert "scope" not in tokens.asked[0]


async def test_of_many_who_need_one_one_asks(tokens: TokenServer, tmp_path: Path) -> None:
    file = kept(tmp_path)
    others = [access(GrantFile(tmp_path, "email", KEY), tokens) for _ in range(5)]  # as other processes would

    async with asyncio.timeout(PATIENCE_SECONDS):
        found = await asyncio.gather(*(one.token() for one in [access(file, tokens), *others]))

    assert set(found) == {"canary-access-1"} and len(tokens.asked) == 1


@pytest.mark.requirement("mail:oauth2-refused")
async def test_access_that_is_taken_back_is_said_with_what_to_do(tokens: TokenServer, tmp_path: Path) -> None:
    tokens.refuses = "invalid_grant"
    with pytest.raises(CredentialsRefused) as refused:
        await access(kept(tmp_path), tokens).token()

    assert "(invalid_grant): run `postroom login-mail email`" in refused.value.message
    assert "canary" not in refused.value.message


async def test_without_a_grant_it_says_how_to_get_one(tokens: TokenServer, tmp_path: Path) -> None:
    with pytest.raises(CredentialsRefused, match="login-mail email"):
        await access(GrantFile(tmp_path, "email", KEY), tokens).token()


async def test_a_provider_that_is_away_is_no_refusal(tmp_path: Path) -> None:
    provider = granter("google", "http://127.0.0.1:9/token")
    with pytest.raises(TargetUnavailable) as away:
        await MailAccess(kept(tmp_path), provider, "email").token()

    assert not isinstance(away.value, CredentialsRefused)


@pytest.mark.requirement("mail:login-mail")
def test_a_grant_at_rest_tells_nothing_and_opens_with_the_households_key_alone(tmp_path: Path) -> None:
    file = kept(tmp_path)
    raw = file.path.read_bytes()

    assert b"canary" not in raw and b"client" not in raw
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert GrantFile(tmp_path, "email", b"x" * 32).read() is None
    file.path.rename(file.path.with_name("other.sealed"))
    assert GrantFile(tmp_path, "other", KEY).read() is None  # sealed for another account
    assert "canary" not in repr(Grant(client_id="c", refresh_token="canary", access_token="canary"))


def test_the_words_that_are_shown_to_a_server() -> None:
    assert xoauth2("someuser@example.com", "ya29.x") == b"user=someuser@example.com\x01auth=Bearer ya29.x\x01\x01"


def provider(tokens: TokenServer, name: str) -> OauthProvider:
    here = {"oauth_device_url": f"{tokens.url}/devicecode", "oauth_authorize_url": "https://accounts.example/auth"}
    return granter(name, f"{tokens.url}/token", **here)


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.mark.requirement("mail:login-mail")
async def test_microsoft_shows_a_code_and_is_asked_until_it_was_typed(tokens: TokenServer) -> None:
    tokens.pending = ["authorization_pending", "slow_down", "authorization_pending"]
    said: list[str] = []
    pauses = Pauses()
    grant = await by_code(provider(tokens, "microsoft"), "client", "", said.append, pauses)

    assert said == ["Open https://microsoft.com/devicelogin in any browser, and enter the code ABCD1234"]
    assert (grant.refresh_token, grant.access_token) == ("canary-refresh-1", "canary-access-1")
    assert pauses == [5.0, 5.0, 10.0, 10.0]
    assert tokens.asked[0]["scope"].split() == [
        "offline_access",
        "https://outlook.office.com/IMAP.AccessAsUser.All",
        "https://outlook.office.com/SMTP.Send",
    ]
    assert tokens.asked[-1]["device_code"] == "canary-device"


async def test_a_code_that_is_declined_ends_it(tokens: TokenServer) -> None:
    tokens.pending = ["access_denied"]
    with pytest.raises(CredentialsRefused, match="access_denied"):
        await by_code(provider(tokens, "microsoft"), "client", "", lambda _: None, Pauses())


async def visit(page: str, tokens: TokenServer, **changes: str) -> tuple[int, dict[str, str]]:
    asked = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
    tokens.code, tokens.challenge = "canary-code", asked["code_challenge"]
    back = {"state": asked["state"], "code": "canary-code"} | changes
    async with aiohttp.ClientSession() as http, http.get(asked["redirect_uri"], params=back) as response:
        return response.status, asked


@pytest.mark.requirement("mail:login-mail")
async def test_google_shows_a_page_that_answers_this_machine(tokens: TokenServer) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    waiting = asyncio.create_task(by_page(provider(tokens, "google"), "client", "secret", said.put_nowait, user="a@b"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        page = (await said.get()).splitlines()[-1]
        assert (await visit(page, tokens, state="another"))[0] == 404  # of another page in the same browser
        status, asked = await visit(page, tokens)
        grant = await waiting

    assert status == 200 and grant.refresh_token == "canary-refresh-1"
    assert (asked["scope"], asked["access_type"], asked["login_hint"]) == ("https://mail.google.com/", "offline", "a@b")
    assert urlsplit(asked["redirect_uri"]).hostname == "127.0.0.1"
    assert tokens.asked[-1]["redirect_uri"] == asked["redirect_uri"]


async def test_without_a_refresh_token_nothing_is_kept(tokens: TokenServer) -> None:
    tokens.rotates = False
    with pytest.raises(CredentialsRefused, match="without a refresh token"):
        await by_code(provider(tokens, "microsoft"), "client", "", lambda _: None, Pauses())
