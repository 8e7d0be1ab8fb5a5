"""A person grants access: by a code, or by a page that answers this machine."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS
from tests.world.channels.mail_oauth.token_server import TokenServer

from postroom.channels.email.oauth import OauthProvider, by_code, by_page, oauth_provider
from postroom.kernel.values.errors import CredentialsRefused


def provider(tokens: TokenServer, name: str) -> OauthProvider:
    here = {"token_url": f"{tokens.url}/token", "device_url": f"{tokens.url}/devicecode"}
    return oauth_provider(name, **here, authorize_url="https://accounts.example/auth")


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
