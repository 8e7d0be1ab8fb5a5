"""A running household writes down when tokens were used, once a minute and at its end."""

from __future__ import annotations

from pathlib import Path

from tests.app.living import living
from tests.clock import FakeClock
from tests.system.counted import CountedLoops

from postroom.domain.principal import Principal, Role
from postroom.domain.time import to_text
from postroom.doors.guard.keep_last_use import keeping_last_use
from postroom.doors.guard.last_use import WRITE_SECONDS
from postroom.doors.guard.token_document import token_id
from postroom.doors.guard.tokens import TokenFile

ADA = Principal(Role.PERSON, "ada")


async def test_uses_are_written_once_a_minute_and_at_the_end(tmp_path: Path) -> None:
    clock = FakeClock()
    tokens = TokenFile(tmp_path / "tokens.json", clock.now_us)
    token = tokens.create(ADA)

    async with keeping_last_use(tokens, CountedLoops(clock)):
        await clock.parked()
        tokens.verify(token)
        first = to_text(clock.now_us())
        assert tokens.last_use.read() == {}
        await clock.advance(WRITE_SECONDS)
        await clock.parked()
        assert tokens.last_use.read() == {token_id(token): first}
        tokens.verify(token)

    assert tokens.last_use.read() == {token_id(token): to_text(clock.now_us())}


async def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    tokens = TokenFile(tmp_path / "tokens.json", clock.now_us)
    token = tokens.create(ADA)

    async with keeping_last_use(tokens, CountedLoops(clock)):
        await clock.parked()
        (tmp_path / "tokens-last-use.json").mkdir()
        tokens.verify(token)
        await clock.advance(WRITE_SECONDS)
        await clock.parked()
        (tmp_path / "tokens-last-use.json").rmdir()
        tokens.verify(token)

    assert list(tokens.last_use.read()) == [token_id(token)]


async def test_a_call_over_http_is_a_use_of_its_token(tmp_path: Path) -> None:
    async with living(tmp_path, only=("api",)) as home:
        token = home.tokens.create(ADA, label="phone")
        unused = home.tokens.create(ADA, label="laptop")
        url = f"{home.household.addresses['api']}/notifications/unread-count"
        async with home.http.get(url, headers={"Authorization": f"Bearer {token}"}) as response:
            assert response.status == 200

    used = TokenFile(tmp_path / "tokens.json").last_use.read()
    assert token_id(token) in used and token_id(unused) not in used
