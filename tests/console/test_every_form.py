"""No form of the console, whichever it is, does anything for another site, another session or nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroom.overview.audit import BEFORE_SIGN_IN
from tests.console.http import Caller
from tests.console.routes import filled, routes
from tests.household.living import Living, living

pytestmark = pytest.mark.asyncio(loop_scope="module")

# By its own path: nobody is signed in yet, so there is no session whose token a form could carry.
SIGN_IN = frozenset(BEFORE_SIGN_IN)
FOREIGN = {
    "another site": {"Origin": "https://evil.example"},
    "a sandboxed page": {"Origin": "null"},
    "no word": {},
    "cross-site": {"Sec-Fetch-Site": "cross-site"},
    "same-site": {"Sec-Fetch-Site": "same-site"},
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), {"approvals": {"enabled": True}}) as one:
        yield one


async def signed_in(home: Living, caller: Caller) -> tuple[dict[str, str], str]:
    assert home.household.sign_in is not None
    cookies = await caller.sign_in(await home.household.sign_in())
    return cookies, await caller.form_token(cookies)


async def posts(home: Living) -> list[str]:
    found = await routes(home, "POST")
    assert len(found) > 25, "the application was not asked for its routes"
    return found


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_another_site_posts_in_vain(home: Living, caller: Caller, headers: dict[str, str]) -> None:
    cookies, token = await signed_in(home, caller)

    answers = {
        path: (await caller.post(f"/console{filled(path)}", {"form_token": token}, cookies, headers)).status
        for path in await posts(home)
    }

    assert set(answers.values()) == {403}, answers


async def test_a_form_without_the_token_of_its_session_is_refused(home: Living, caller: Caller) -> None:
    cookies, _ = await signed_in(home, caller)
    _, other = await signed_in(home, caller)

    for form in ({}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": other}):
        answers = {
            path: (await caller.post(f"/console{filled(path)}", form, cookies)).status
            for path in await posts(home)
            if path not in SIGN_IN
        }
        assert set(answers.values()) == {403}, (form, answers)


async def test_nobody_in_particular_posts_in_vain(home: Living, caller: Caller) -> None:
    answers = {
        path: (await caller.post(f"/console{filled(path)}", {})).status
        for path in await posts(home)
        if path not in SIGN_IN
    }

    assert set(answers.values()) == {401}, answers


async def test_a_page_that_acts_never_answers_a_get(home: Living, caller: Caller) -> None:
    """A link or an image carries the cookie as well, and no token."""
    cookies, _ = await signed_in(home, caller)
    readable = set(await routes(home, "GET"))

    answers = {
        path: (await caller.get(f"/console{filled(path)}", cookies)).status
        for path in await posts(home)
        if path not in readable
    }

    assert set(answers.values()) <= {404, 405}, answers


async def test_a_page_asked_for_with_nonsense_answers_with_a_page(home: Living, caller: Caller) -> None:
    """No address, however odd, is an error of ours."""
    cookies, _ = await signed_in(home, caller)
    odd = "?cursor=%00%ff&q=%00&of=%00&chat=%f0%9f&before=%00&shelf=x&status=x&seen=%00"

    answers = {
        path: (await caller.get(f"/console{filled(path, '%00x')}{odd}", cookies)).status
        for path in await routes(home, "GET")
        if path != "/events"
    }

    assert {status for status in answers.values() if status >= 500} == set(), answers
