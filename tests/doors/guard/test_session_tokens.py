from __future__ import annotations

from pathlib import Path

import pytest

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.session_id import SessionId
from postroom.domain.session_principal import SessionPrincipal
from postroom.doors.guard.session_tokens import SessionTokens
from postroom.doors.guard.tokens import TokenFile
from postroom.system.telemetry.log import scrub


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


def test_a_log_would_hide_it(household: TokenFile) -> None:
    token = SessionTokens("general", household).mint(SessionId("s1"))

    assert token not in scrub(f"called with {token}")
