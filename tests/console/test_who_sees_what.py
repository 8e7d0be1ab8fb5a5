"""Every page of the console for everybody who might open it: the list of pages is the application's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroom.people.model import PersonRole
from tests.console.comers import change_role, let_in, person
from tests.console.http import Caller
from tests.console.routes import filled, routes
from tests.household.living import Living, living
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

# What is a person's own: shown to all who are signed in, each their own. Everything else is the owner's.
OWN = {
    "/",
    "/account",
    "/attention",
    "/attention/policy",
    "/attention/notices/{id}",
    "/contacts",
    "/contacts/{rest:path}",
    "/conversations",
    "/conversations/{id}",
    "/devices",
    "/devices/messages/{id}",
    "/inbox",
    "/inbox/preferences",
    "/inbox/{id}",
    "/people",
    "/people/new",
    "/people/{id}",
    "/questions",
    "/questions/{id}",
}
APPROVERS = {
    "/approvals",
    "/approvals/rules",
    "/approvals/{id}",
    "/approvals/{id}/files/{number}",
}
OPEN = {"/login", "/manifest.webmanifest", "/offline", "/service-worker.js"}
STREAMS = {"/events"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), {"approvals": {"enabled": True}}) as one:
        yield one


async def pages(home: Living) -> list[str]:
    found = [path for path in await routes(home, "GET") if path not in STREAMS]
    assert len(found) > 25, "the application was not asked for its routes"
    return found


def may_see(path: str, role: PersonRole | None) -> bool:
    if path in OPEN:
        return True
    if role is None or role is PersonRole.CONTACT:
        return False
    theirs = path in OWN or (path in APPROVERS and role is PersonRole.APPROVER)
    return role is PersonRole.OWNER or theirs


async def seen(home: Living, caller: Caller, cookies: dict[str, str], value: str) -> dict[str, int]:
    return {path: (await caller.get(f"/console{filled(path, value)}", cookies)).status for path in await pages(home)}


async def known_to_all(caller: Caller, cookies: dict[str, str], role: PersonRole) -> None:
    """Made by another process, an approver is known to this one within two seconds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while role is PersonRole.APPROVER and (await caller.get("/console/approvals", cookies)).status == 403:
            await asyncio.sleep(0.05)


@pytest.mark.requirement("side:roles")
@pytest.mark.parametrize("role", [PersonRole.OWNER, PersonRole.APPROVER, PersonRole.MEMBER, None], ids=str)
async def test_every_page_is_shown_to_those_it_is_for_and_to_no_others(
    home: Living, caller: Caller, role: PersonRole | None
) -> None:
    cookies: dict[str, str] = {}
    if role is PersonRole.OWNER:
        assert home.household.sign_in is not None
        cookies = await caller.sign_in(await home.household.sign_in())
    elif role is not None:
        cookies = await let_in(home, caller, await person(home, f"Somebody {role}", role))
        await known_to_all(caller, cookies, role)

    answers = await seen(home, caller, cookies, "00000000-0000-7000-8000-000000000000")

    wrong = {path: status for path, status in answers.items() if status < 300 and not may_see(path, role)}
    barred = {path: status for path, status in answers.items() if status in (401, 403) and may_see(path, role)}
    assert (wrong, barred) == ({}, {})
    refused = 401 if role is None else 403
    assert {status for path, status in answers.items() if not may_see(path, role)} <= {refused}


@pytest.mark.requirement("side:contacts-do-not-sign-in")
async def test_a_contact_has_no_link_and_one_who_becomes_a_contact_sees_nothing_from_then_on(
    home: Living, caller: Caller
) -> None:
    stranger = await person(home, "Carl", PersonRole.CONTACT)
    with pytest.raises(LookupError):
        await let_in(home, caller, stranger)
    falling = await person(home, "Dora", PersonRole.MEMBER)
    cookies = await let_in(home, caller, falling)
    assert (await caller.get("/console/inbox", cookies)).status == 200

    await change_role(home, falling, PersonRole.CONTACT)

    answers = await seen(home, caller, cookies, "x")
    assert {status for path, status in answers.items() if path not in OPEN} == {401}


@pytest.mark.requirement("side:own-pages-only")
@pytest.mark.parametrize("role", [PersonRole.APPROVER, PersonRole.MEMBER], ids=str)
async def test_what_is_another_persons_is_not_found(home: Living, caller: Caller, role: PersonRole) -> None:
    """By the other's own ids, in every place a path has one."""
    other = await person(home, f"Eve, beside a {role}", PersonRole.MEMBER, chat=f"77{len(str(role))}")
    cookies = await let_in(home, caller, await person(home, f"Finn the {role}", role))

    answers = await seen(home, caller, cookies, other.id)
    asked = {
        path: await caller.get(path, cookies)
        for path in (f"/console/attention?of={other.id}", f"/console/attention/policy?of={other.id}")
    }

    shown = {path for path, status in answers.items() if "{" in path and status < 300}
    assert shown == set()
    assert {path: answer.status for path, answer in asked.items()} == dict.fromkeys(asked, 404)


async def test_who_is_signed_in_is_said_by_name_and_role(home: Living, caller: Caller) -> None:
    cookies = await let_in(home, caller, await person(home, "Gus <b>", PersonRole.APPROVER))

    page = (await caller.get("/console/", cookies)).text

    assert "Gus &lt;b&gt; (approver)" in page and "operator" not in page
