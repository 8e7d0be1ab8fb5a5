"""Coming in: once, in time, by a person; and staying no longer than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
import pytest_asyncio
from tests.console.http import Caller, key_of
from tests.household.living import Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.household.store import connect_store
from postroom.kernel.database.engine import Database
from postroom.kernel.guard.tokens import TokenFile, token_id
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.signing_in.rules import LINK_LIFE_SECONDS, SESSION_LIFE_SECONDS
from postroom.people.signing_in.store import ConsoleSessions

NOW = seconds(1_800_000_000)
ANN = Principal(Role.USER, "ann")


@pytest.fixture
def sessions(database: Database, tmp_path: Path) -> ConsoleSessions:
    tokens = TokenFile(tmp_path / "tokens.json")
    tokens.ensure([OPERATOR, ANN])
    return ConsoleSessions(database, tokens)


async def new_key(sessions: ConsoleSessions, who: Principal = ANN) -> str:
    return key_of(await sessions.link("http://localhost", who, NOW))


async def test_a_link_opens_one_session_and_never_another(sessions: ConsoleSessions) -> None:
    link = await new_key(sessions)

    first, second = await sessions.redeem(link, NOW + 1), await sessions.redeem(link, NOW + 2)

    assert first is not None and second is None
    found = await sessions.find(first, NOW + 3)
    assert found is not None and found.principal == ANN


async def test_of_many_who_use_a_link_at_once_one_comes_in(sessions: ConsoleSessions) -> None:
    link = await new_key(sessions, OPERATOR)

    opened = await asyncio.gather(*(sessions.redeem(link, NOW) for _ in range(20)))

    assert sum(one is not None for one in opened) == 1


async def test_a_link_is_good_for_ten_minutes(sessions: ConsoleSessions) -> None:
    link = await new_key(sessions, OPERATOR)

    assert await sessions.redeem(link, NOW + seconds(LINK_LIFE_SECONDS)) is None


async def test_a_link_nobody_made_opens_nothing(sessions: ConsoleSessions) -> None:
    assert await sessions.redeem("x" * 43, NOW) is None
    assert await sessions.redeem("", NOW) is None


async def test_a_session_ends_by_itself_by_hand_and_everywhere(sessions: ConsoleSessions) -> None:
    secrets = [await sessions.redeem(await new_key(sessions), NOW) or "" for _ in range(3)]

    assert await sessions.find(secrets[0], NOW + seconds(SESSION_LIFE_SECONDS)) is None
    await sessions.end(secrets[0], NOW + 1)
    assert await sessions.find(secrets[0], NOW + 2) is None
    assert await sessions.find(secrets[1], NOW + 2) is not None
    unused = await new_key(sessions)
    assert await sessions.end_all(ANN, NOW + 3) == 2
    assert await sessions.find(secrets[1], NOW + 4) is None
    assert await sessions.redeem(unused, NOW + 4) is None


async def test_neither_links_nor_sessions_are_stored_as_they_are(database: Database, sessions: ConsoleSessions) -> None:
    link = await new_key(sessions)
    secret = await sessions.redeem(link, NOW) or ""
    schema = "" if type(database).__name__ == "SqliteDatabase" else "shared."

    kept = await database.read(
        lambda connection: [
            str(row)
            for table in ("console_links", "console_sessions")
            for row in connection.exec_driver_sql(f"SELECT * FROM {schema}{table}")
        ]
    )

    assert len(kept) == 2
    assert link not in "".join(kept) and secret not in "".join(kept)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home")) as one:
        yield one


async def link(home: Living) -> str:
    assert home.household.sign_in is not None
    return await home.household.sign_in()


@pytest.mark.asyncio(loop_scope="module")
class TestOverHttp:
    async def test_looking_at_a_link_does_not_use_it_up(self, home: Living, caller: Caller) -> None:
        made = await link(home)
        for _ in range(3):
            looked = await caller.get(f"/console/login?key={key_of(made)}")
            assert looked.status == 200 and not looked.cookies

        assert "postroom_console" in await caller.sign_in(made)

    async def test_a_used_link_says_so_and_sets_no_cookie(self, home: Living, caller: Caller) -> None:
        made = await link(home)
        await caller.sign_in(made)

        again = await caller.post("/console/login", {"key": key_of(made)})

        assert again.status == 403 and "does not work any more" in again.text and not again.cookies

    async def test_the_cookie_is_for_the_console_alone(self, home: Living, caller: Caller) -> None:
        answer = await caller.post("/console/login", {"key": key_of(await link(home))})

        morsel = SimpleCookie(answer.headers["Set-Cookie"])["postroom_console"]
        assert morsel["httponly"] and morsel["samesite"].lower() == "strict" and morsel["path"] == "/console"
        assert int(morsel["max-age"]) == SESSION_LIFE_SECONDS and not morsel["secure"]

    async def test_behind_https_the_cookie_is_secure(self, home: Living, caller: Caller) -> None:
        origin = {"Origin": caller.base.replace("http:", "https:")}

        answer = await caller.post("/console/login", {"key": key_of(await link(home))}, headers=origin)

        assert SimpleCookie(answer.headers["Set-Cookie"])["postroom_console"]["secure"]

    @pytest.mark.parametrize("value", ["", "forged", "x" * 5000, '"; DROP', "é"])
    async def test_a_forged_cookie_opens_nothing(self, caller: Caller, value: str) -> None:
        answer = await caller.get("/console/", {"postroom_console": value})

        assert answer.status in (400, 401) and "Today" not in answer.text

    async def test_without_a_session_every_page_asks_to_sign_in(self, caller: Caller) -> None:
        for path in ("/console/", "/console/events"):
            assert (await caller.get(path)).status == 401

    async def test_signing_out_ends_the_session_for_good(self, home: Living, caller: Caller) -> None:
        cookies = await caller.sign_in(await link(home))
        token = await caller.form_token(cookies)

        left = await caller.post("/console/logout", {"form_token": token}, cookies)

        assert left.status == 200 and "Signed out" in left.text
        assert (await caller.get("/console/", cookies)).status == 401

    @pytest.mark.parametrize("who", [OPERATOR, ANN, Principal(Role.PERSON, "ann")], ids=str)
    async def test_revoking_a_token_ends_its_sessions_at_once(
        self, home: Living, caller: Caller, who: Principal
    ) -> None:
        """And neither a new token nor an unused link brings them back."""
        home.tokens.ensure([who])
        laptop = home.tokens.create(who, label="laptop")
        store = connect_store(home.settings)
        try:
            sessions = ConsoleSessions(store.database, home.tokens)
            links = [await sessions.link(caller.base, who, SystemClock().now_us()) for _ in range(2)]
        finally:
            await store.database.close()
        cookies = await caller.sign_in(links[0])
        page = "/console/" if who == OPERATOR else "/console/inbox"
        home.tokens.create(who, label="phone")
        assert (await caller.get(page, cookies)).status == 200

        assert TokenFile(home.settings.tokens_file).revoke_one(token_id(laptop))

        assert (await caller.get(page, cookies)).status == 401
        assert (await caller.get("/console/events", cookies)).status == 401
        home.tokens.create(who)
        assert (await caller.get(page, cookies)).status == 401
        assert (await caller.post("/console/login", {"key": key_of(links[1])})).status == 403

    async def test_a_page_that_listens_hears_no_more_after_its_token_is_revoked(
        self, home: Living, caller: Caller
    ) -> None:
        laptop = home.tokens.create(OPERATOR, label="laptop")
        cookies = await caller.sign_in(await link(home))
        worn = {"Cookie": f"postroom_console={cookies['postroom_console']}"}
        async with caller.http.get(f"{caller.base}/console/events", headers=worn) as stream:
            assert b"retry" in await stream.content.readline()
            home.tokens.revoke_one(token_id(laptop))
            await home.notify(message="Something happened")
            async with asyncio.timeout(PATIENCE_SECONDS):
                rest = await stream.content.read()

        assert b"deliveries" not in rest

    async def test_the_bare_address_leads_to_the_console(self, caller: Caller) -> None:
        answer = await caller.get("/")

        assert answer.status == 307 and answer.headers["Location"] == "/console/"
