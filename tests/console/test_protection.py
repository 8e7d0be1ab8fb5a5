"""What keeps other sites, other doors and other people out of the console."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import OPERATOR
from tests.console.http import Caller, key_of
from tests.household.living import Living, living

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    """A household that allows another site to call its API, which does not make that site welcome here."""
    async with living(tmp_path_factory.mktemp("home"), {"allowed_origins": ["https://friend.example"]}) as one:
        yield one


async def sign_in(home: Living, caller: Caller) -> dict[str, str]:
    assert home.household.sign_in is not None
    return await caller.sign_in(await home.household.sign_in())


FOREIGN = {
    "another site": {"Origin": "https://evil.example"},
    "a site the API allows": {"Origin": "https://friend.example"},
    "nowhere": {"Origin": "null"},
    "no word": {},
    "the browser says cross-site": {"Sec-Fetch-Site": "cross-site"},
    "the browser says same-site": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_a_form_from_elsewhere_does_nothing(home: Living, caller: Caller, headers: dict[str, str]) -> None:
    cookies = await sign_in(home, caller)
    token = await caller.form_token(cookies)

    answer = await caller.post("/console/logout", {"form_token": token}, cookies, headers)

    assert answer.status == 403
    assert (await caller.get("/console/", cookies)).status == 200


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_nobody_is_signed_in_from_elsewhere(home: Living, caller: Caller, headers: dict[str, str]) -> None:
    assert home.household.sign_in is not None
    link = await home.household.sign_in()

    answer = await caller.post("/console/login", {"key": key_of(link)}, headers=headers)

    assert answer.status == 403 and "postroom_console" not in answer.cookies


async def test_a_form_needs_the_token_of_its_own_session(home: Living, caller: Caller) -> None:
    mine, others = await sign_in(home, caller), await sign_in(home, caller)
    wrong = [{}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": await caller.form_token(others)}]

    answers = [await caller.post("/console/logout", form, mine) for form in wrong]

    assert [answer.status for answer in answers] == [403] * len(wrong)
    assert (await caller.get("/console/", mine)).status == 200


async def test_a_form_that_is_none_is_refused(home: Living, caller: Caller) -> None:
    cookies = await sign_in(home, caller)
    token = await caller.form_token(cookies)
    plain = {**caller.origin, "Content-Type": "text/plain"}

    assert (await caller.post("/console/logout", {"form_token": token}, cookies, plain)).status == 403


@pytest.mark.parametrize("path", ["/api/notifications", "/v1/intents", "/contacts/resolve", "/mcp"])
async def test_the_cookie_opens_no_other_door(home: Living, caller: Caller, path: str) -> None:
    cookies = await sign_in(home, caller)

    assert (await caller.get(path, cookies)).status == 401


async def test_a_bearer_token_opens_no_page(home: Living, caller: Caller) -> None:
    token = home.tokens.token_of(OPERATOR)

    answer = await caller.get("/console/", Authorization=f"Bearer {token}")

    assert answer.status == 401 and "Sign in" in answer.text


@pytest.mark.parametrize(
    "path", ["/console/../v1/intents", "/console/..%2Fv1%2Fintents", "/console%2F", "/consolex", "/console//v1/intents"]
)
async def test_no_spelling_of_the_path_leads_past_the_guard(caller: Caller, path: str) -> None:
    assert (await caller.get(path)).status in (401, 404)


PAGES = {
    "page": "/console/",
    "sign in": "/console/login?key=x",
    "not found": "/console/nowhere",
    "file": "/console/static/console.css",
}


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
async def test_every_answer_is_protected(home: Living, caller: Caller, path: str) -> None:
    answer = await caller.get(path, await sign_in(home, caller))

    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == ("no-cache" if "static" in path else "no-store")


async def test_no_page_has_script_or_style_of_its_own(home: Living, caller: Caller) -> None:
    text = (await caller.get("/console/", await sign_in(home, caller))).text

    assert "<style" not in text and " style=" not in text and " onclick" not in text
    assert text.count("<script") == text.count("<script src=")


async def test_a_foreign_host_is_refused(caller: Caller) -> None:
    assert (await caller.get("/console/", Host="evil.example")).status == 421
