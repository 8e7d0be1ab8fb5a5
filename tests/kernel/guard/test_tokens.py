"""A running household writes down when tokens were used, once a minute and at its end."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.clock import FakeClock
from tests.household.living import living
from tests.support.counted import CountedLoops

from postroom.kernel.guard.tokens import (
    WRITE_SECONDS,
    SessionTokens,
    TokenFile,
    TokenFileError,
    keeping_last_use,
    token_id,
)
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import OPERATOR, Principal, Role, SessionId, SessionPrincipal

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


def test_a_call_writes_nothing_and_the_next_round_writes_when_it_was(tmp_path: Path) -> None:
    running, shell = TokenFile(tmp_path / "tokens.json", lambda: seconds(7)), TokenFile(tmp_path / "tokens.json")
    used, unused = shell.create(ADA, label="phone"), shell.create(ADA, label="laptop")
    before = sorted(tmp_path.iterdir())

    for _ in range(100):
        assert running.verify(used) == ADA
    running.verify("of no caller at all")

    assert sorted(tmp_path.iterdir()) == before
    running.write_last_use(running.last_use.take())
    assert shell.last_use.read() == {token_id(used): "1970-01-01T00:00:07.000000Z"}
    assert unused not in "".join(file.read_text() for file in tmp_path.glob("tokens-last-use.json"))
    assert (tmp_path / "tokens-last-use.json").stat().st_mode & 0o077 == 0


def test_of_several_processes_the_latest_use_counts_and_revoked_tokens_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    now = [seconds(20)]
    one, other = TokenFile(path, lambda: now[0]), TokenFile(path, lambda: seconds(10))
    kept, gone = one.create(ADA), one.create(OPERATOR)
    for tokens in (one, other):
        tokens.verify(kept)
        tokens.verify(gone)
        tokens.write_last_use(tokens.last_use.take())
    assert set(one.last_use.read().values()) == {"1970-01-01T00:00:20.000000Z"}

    one.revoke(OPERATOR)
    one.verify(kept)
    one.write_last_use(one.last_use.take())

    assert list(one.last_use.read()) == [token_id(kept)]


def test_a_file_that_cannot_be_read_is_begun_anew(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.create(ADA)
    for broken in ("", "[]", "{", json.dumps({token_id(token): 5})):
        (tmp_path / "tokens-last-use.json").write_text(broken)
        assert tokens.last_use.read() == {}
        tokens.verify(token)
        tokens.write_last_use(tokens.last_use.take())
        assert list(tokens.last_use.read()) == [token_id(token)]


@pytest.fixture
def household(tmp_path: Path) -> TokenFile:
    file = TokenFile(tmp_path / "tokens.json")
    file.ensure([OPERATOR, Principal(Role.BUTLER, "general")])
    return file


def test_a_session_speaks_for_its_butler_and_is_never_a_person(household: TokenFile) -> None:
    tokens = SessionTokens("general", household)

    principal = tokens.verify(tokens.mint(SessionId("s1")))

    assert isinstance(principal, SessionPrincipal)
    assert (str(principal), principal.session_id) == ("butler:general", "s1")
    assert principal.is_butler("general") and not principal.is_person


def test_a_token_dies_with_its_session_and_no_other_does(household: TokenFile) -> None:
    tokens = SessionTokens("general", household)
    first, second = tokens.mint(SessionId("s1")), tokens.mint(SessionId("s2"))

    tokens.end(first)
    tokens.end(first)

    assert tokens.verify(first) is None
    assert tokens.verify(second) is not None


def test_other_servers_and_other_processes_do_not_know_it(household: TokenFile) -> None:
    token = SessionTokens("general", household).mint(SessionId("s1"))

    assert household.verify(token) is None
    assert SessionTokens("general", household).verify(token) is None


def test_the_households_own_tokens_are_as_good_as_ever(household: TokenFile) -> None:
    tokens = SessionTokens("general", household)

    assert tokens.verify(household.token_of(OPERATOR) or "") == OPERATOR
    assert tokens.verify("") is None
    assert tokens.verify("\ud800") is None


HEALTH = Principal(Role.BUTLER, "health")
ANN = Principal(Role.USER, "ann")
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")
CI = Principal(Role.PROGRAM, "ci", person="ada")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "tokens.json"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_tokens_are_made_once_and_only_the_owner_can_read_them(path: Path) -> None:
    TokenFile(path).ensure([OPERATOR, HEALTH])
    before = path.read_text()
    TokenFile(path).ensure([OPERATOR, HEALTH])

    assert path.read_text() == before
    assert mode(path) == 0o600
    assert set(json.loads(before)) == {"operator", "butlers", "made_at"}
    assert sorted(file.name for file in path.parent.iterdir()) == [".tokens.json.lock", "tokens.json"]


def test_a_file_others_can_read_is_closed_to_them(path: Path) -> None:
    TokenFile(path).ensure([OPERATOR])
    path.chmod(0o644)

    TokenFile(path).ensure([OPERATOR])

    assert mode(path) == 0o600


@pytest.mark.parametrize("principal", [OPERATOR, HEALTH, ANN, CHATGPT, ADA, CI], ids=str)
def test_a_token_stands_for_its_principal_until_it_is_revoked(path: Path, principal: Principal) -> None:
    running, shell = TokenFile(path), TokenFile(path)
    token = shell.create(principal)
    assert running.verify(token) == principal
    assert running.token_of(principal) == token

    newer = shell.create(principal)
    assert (running.verify(token), running.verify(newer)) == (principal, principal)

    assert shell.revoke(principal)
    assert (running.verify(token), running.verify(newer)) == (None, None)
    assert not shell.revoke(principal)
    assert principal not in shell.principals()


@pytest.mark.requirement("house:several-tokens")
@pytest.mark.parametrize("principal", [OPERATOR, HEALTH, ANN, CHATGPT, ADA, CI], ids=str)
def test_revoking_one_token_leaves_the_others(path: Path, principal: Principal) -> None:
    running, shell = TokenFile(path, lambda: seconds(1)), TokenFile(path, lambda: seconds(1))
    shell.ensure([principal])
    own = shell.token_of(principal) or ""
    phone, laptop = shell.create(principal, label="phone"), shell.create(principal, label="laptop")

    assert [(one.label, one.created_at) for one in running.held()] == [
        ("", "1970-01-01T00:00:01.000000Z"),
        ("phone", "1970-01-01T00:00:01.000000Z"),
        ("laptop", "1970-01-01T00:00:01.000000Z"),
    ]
    assert shell.revoke_one(token_id(phone)) and not shell.revoke_one(token_id(phone))

    assert [running.verify(one) for one in (own, phone, laptop)] == [principal, None, principal]
    assert running.ids_of(principal) == (token_id(own), token_id(laptop))
    assert shell.revoke_one(token_id(own))
    assert [running.verify(one) for one in (own, laptop)] == [None, principal]


def test_a_file_of_the_first_version_keeps_working_and_takes_more_tokens(path: Path) -> None:
    path.parent.mkdir()
    old = {
        "operator": "pr_operator_" + "a" * 43,
        "butlers": {"health": "pr_butler_" + "b" * 43},
        "connectors": {"chatgpt": "pr_connector_" + "c" * 43},
        "connector_agents": {"chatgpt": ["agent://household/owner"]},
        "users": {"ann": "pr_user_" + "d" * 43},
    }
    path.write_text(json.dumps(old))
    tokens = TokenFile(path)

    assert tokens.principals() == [OPERATOR, HEALTH, CHATGPT, ANN]
    assert tokens.verify(old["users"]["ann"]) == ANN  # type: ignore[index]
    assert all(one.created_at is None and one.id for one in tokens.held())
    assert tokens.agents_of("chatgpt") == ("agent://household/owner",)
    tokens.ensure([OPERATOR, HEALTH, CHATGPT])
    assert json.loads(path.read_text()) == old

    newer = tokens.create(ANN, label="phone")
    assert tokens.revoke_one(token_id("pr_user_" + "d" * 43))
    assert [tokens.verify(one) for one in ("pr_user_" + "d" * 43, newer)] == [None, ANN]
    assert tokens.revoke(CHATGPT) and tokens.agents_of("chatgpt") == ()


def test_the_household_keeps_a_token_of_its_own_beside_those_people_make(path: Path) -> None:
    tokens = TokenFile(path)
    laptop = tokens.create(HEALTH, label="laptop")

    tokens.ensure([HEALTH])

    own = tokens.token_of(HEALTH)
    assert own not in (None, laptop)
    assert tokens.revoke_one(token_id(laptop))
    assert tokens.verify(own or "") == HEALTH


def test_a_program_of_one_name_serves_one_person(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.create(CI)

    with pytest.raises(TokenFileError, match="serves ada"):
        tokens.create(Principal(Role.PROGRAM, "ci", person="bob"))
    tokens.create(CI)
    tokens.revoke(CI)
    tokens.create(Principal(Role.PROGRAM, "ci", person="bob"))


def test_tokens_that_were_revoked_are_held_no_more(path: Path) -> None:
    running, shell = TokenFile(path), TokenFile(path)
    first, second = token_id(shell.create(ADA)), token_id(shell.create(ADA))
    assert running.still_holds([first, second]) and not running.still_holds([])

    shell.revoke_one(second)

    assert running.still_holds([first])
    assert not running.still_holds([first, second])


@pytest.mark.parametrize("token", ["", " ", "None", "null", "pr_operator_", "\ud800", "x" * 100_000])
def test_what_is_no_token_is_nobody(path: Path, token: str) -> None:
    tokens = TokenFile(path)
    assert tokens.verify(token) is None
    tokens.ensure([OPERATOR])
    assert tokens.verify(token) is None


@pytest.mark.parametrize(
    "document",
    [
        {"operator": None, "butlers": {"health": None, "general": ""}},
        {"operator": 5, "butlers": {"health": ["None"]}},
        {"operator": "short", "butlers": [], "users": "all", "connectors": None},
        {"operator": True, "users": {"ann": {"token": "x" * 40}}},
        {"operator": ["x" * 40], "tokens": {"token": "x" * 40}, "made_at": []},
        {"tokens": [5, None, {}, {"token": "None", "role": "person", "name": "ann"}]},
        {"tokens": [{"token": "x" * 40, "role": "king", "name": "ann"}, {"token": "x" * 40, "role": "person"}]},
        {"tokens": [{"token": "x" * 40, "role": "operator", "name": "ann"}]},
        {"tokens": [{"token": "x" * 40, "role": "program", "name": "ci"}]},
        {"tokens": [{"token": "x" * 40, "role": [], "name": "ci", "for": "ann"}]},
    ],
)
def test_a_strange_entry_opens_no_door(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    tokens = TokenFile(path)

    for token in ("None", "", "5", "short", "True", "['None']", "all", "x" * 40):
        assert tokens.verify(token) is None
    assert not tokens.revoke(ANN)
    tokens.ensure([OPERATOR, HEALTH])
    assert tokens.verify(tokens.token_of(HEALTH) or "") == HEALTH
    assert tokens.revoke(HEALTH)


@pytest.mark.parametrize("content", ["", "{", "[]", '"text"', "\x00"])
def test_a_broken_file_lets_nobody_in_and_is_not_overwritten(path: Path, content: str) -> None:
    tokens = TokenFile(path)
    token = tokens.create(OPERATOR)
    assert tokens.verify(token) == OPERATOR
    path.write_text(content)

    assert tokens.verify(token) is None
    for change in (lambda: tokens.ensure([HEALTH]), lambda: tokens.create(HEALTH), lambda: tokens.revoke(OPERATOR)):
        with pytest.raises(TokenFileError, match=r"tokens\.json"):
            change()
    assert path.read_text() == content


def test_a_file_that_is_gone_lets_nobody_in(path: Path) -> None:
    tokens = TokenFile(path)
    token = tokens.create(OPERATOR)
    tokens.verify(token)

    path.unlink()

    assert tokens.verify(token) is None


def test_processes_that_start_together_agree_on_their_tokens(path: Path) -> None:
    barrier = threading.Barrier(8)

    def start(number: int) -> tuple[str | None, str | None]:
        tokens = TokenFile(path)
        barrier.wait()
        tokens.ensure([OPERATOR, HEALTH, Principal(Role.BUTLER, f"butler-{number}")])
        return tokens.token_of(OPERATOR), tokens.token_of(HEALTH)

    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(start, range(8)))

    assert len(seen) == 1
    assert len(TokenFile(path).principals()) == 10


def test_a_write_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = TokenFile(path)
    token = tokens.create(OPERATOR)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        tokens.create(HEALTH)

    assert tokens.verify(token) == OPERATOR
    assert sorted(file.name for file in path.parent.iterdir()) == [".tokens.json.lock", "tokens.json"]


async def test_the_file_is_looked_at_once_in_a_turn_however_many_doors_a_call_passes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, looks = TokenFile(path), list[object]()
    token = tokens.create(ADA)
    look = os.stat
    monkeypatch.setattr(os, "stat", lambda name, **asked: looks.append(name) or look(name, **asked))

    assert [tokens.verify(token) for _ in range(4)] == [ADA] * 4
    assert looks.count(str(path)) == 1

    await asyncio.sleep(0)
    assert tokens.verify(token) == ADA
    assert looks.count(str(path)) == 2


async def test_a_token_that_was_revoked_elsewhere_is_nobodys_in_the_next_turn(path: Path) -> None:
    tokens = TokenFile(path)
    token = tokens.create(ADA)
    assert tokens.verify(token) == ADA

    assert tokens.known_of(ADA) == token

    TokenFile(path).revoke(ADA)
    await asyncio.sleep(0)

    assert tokens.verify(token) is None
    assert tokens.known_of(ADA) is None


async def test_a_token_that_is_revoked_here_is_nobodys_at_once(path: Path) -> None:
    tokens = TokenFile(path)
    token = tokens.create(ADA)
    assert tokens.verify(token) == ADA

    tokens.revoke(ADA)

    assert tokens.verify(token) is None


@pytest.mark.parametrize(
    ("approvers", "named"), [([], ["ann", "ci"]), (["ann"], ["ci"]), (["ann", "ci"], None)], ids=str
)
async def test_users_that_are_not_named_as_approvers_are_named_at_start(
    tmp_path: Path, approvers: list[str], named: list[str] | None
) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    for principal in (Principal(Role.USER, "ci"), Principal(Role.USER, "ann"), Principal(Role.PERSON, "ben")):
        tokens.create(principal)

    with capture_logs() as logs:
        async with living(tmp_path, {"approvals": {"approvers": approvers}}, only=("messenger", "sandbox")):
            pass

    told = [one["users"] for one in logs if one["event"] == "tokens.users_decide_nothing"]
    assert told == ([named] if named else [])
