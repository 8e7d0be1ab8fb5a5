"""What is taken from a person counts at their next request, by which process ever it was taken."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from tests.console.comers import admissions, change_role, invitation, let_in, person
from tests.console.http import Caller, key_of
from tests.household.living import Living, living

from postroom.kernel.guard.tokens import token_id
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Principal, Role
from postroom.people.model import Person, PersonRole
from postroom.people.signing_in.rules import principal_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home")) as one:
        yield one


async def removed(home: Living, one: Person) -> None:
    async with admissions(home) as here:
        await here.people.delete(HOUSEHOLD_OWNER, one.id, now_us=1)


async def promoted(home: Living, one: Person) -> None:
    await change_role(home, one, PersonRole.APPROVER)


async def uninvited(home: Living, one: Person) -> None:
    async with admissions(home) as here:
        assert await here.withdraw(one.id)


async def signed_out(home: Living, one: Person) -> None:
    async with admissions(home) as here:
        assert await here.sessions.end_all(principal_of(one.id), SystemClock().now_us()) >= 1


ENDINGS: dict[str, Callable[[Living, Person], Awaitable[None]]] = {
    "removed": removed,
    "another role": promoted,
    "invitation withdrawn": uninvited,
    "signed out everywhere": signed_out,
}


@pytest.mark.requirement("side:sessions-end-at-once")
@pytest.mark.parametrize("how", ENDINGS)
async def test_a_session_without_a_token_ends_at_once(home: Living, caller: Caller, how: str) -> None:
    one = await person(home, f"Person {how}")
    cookies, unused = await let_in(home, caller, one), await invitation(home, one)
    assert (await caller.get("/console/inbox", cookies)).status == 200

    await ENDINGS[how](home, one)

    assert (await caller.get("/console/inbox", cookies)).status == 401
    if how != "another role":  # who is still invited comes in as what they are now
        assert (await caller.post("/console/login", {"key": key_of(unused)})).status == 403


@pytest.mark.requirement("side:sessions-end-at-once")
async def test_who_has_a_token_as_well_is_out_as_soon_as_it_is_revoked(home: Living, caller: Caller) -> None:
    one = await person(home, "Hana")
    token = home.tokens.create(Principal(Role.PERSON, one.id), label="laptop")
    cookies = await let_in(home, caller, one)
    assert (await caller.get("/console/inbox", cookies)).status == 200

    home.tokens.revoke_one(token_id(token))

    assert (await caller.get("/console/inbox", cookies)).status == 401


async def test_one_device_is_signed_out_and_the_others_stay(home: Living, caller: Caller) -> None:
    one = await person(home, "Ida")
    phone, laptop = await let_in(home, caller, one), await let_in(home, caller, one)
    other = await let_in(home, caller, await person(home, "Jon"))
    token = await caller.form_token(laptop)
    async with admissions(home) as here:
        found = await here.sessions.open_of(one.id, SystemClock().now_us())
    assert len(found) == 2

    foreign = await caller.post(
        f"/console/account/sessions/{found[1].id}/end", {"form_token": await caller.form_token(other)}, other
    )
    assert (await caller.get("/console/inbox", phone)).status == 200 and foreign.status == 303
    await caller.post(f"/console/account/sessions/{found[1].id}/end", {"form_token": token}, laptop)

    assert (await caller.get("/console/inbox", phone)).status == 401
    assert (await caller.get("/console/inbox", laptop)).status == 200


async def test_signing_in_gives_a_new_secret_and_ends_what_this_browser_had(home: Living, caller: Caller) -> None:
    one = await person(home, "Kim")
    before, link = await let_in(home, caller, one), await invitation(home, one)

    answer = await caller.post("/console/login", {"key": key_of(link)}, before)

    assert answer.status == 303 and answer.cookies["postroom_console"] != before["postroom_console"]
    assert (await caller.get("/console/inbox", before)).status == 401
