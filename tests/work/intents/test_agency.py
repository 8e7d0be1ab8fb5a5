from __future__ import annotations

import pytest

from postroom.domain.errors import Code, Refused
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.work.intents.agency import Agency

AGENCY = Agency(lambda name: ("agent://household/owner", "agent://household/second") if name == "chatgpt" else ())
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")


@pytest.mark.parametrize(
    ("principal", "claimed", "sender"),
    [
        (CHATGPT, None, "agent://household/owner"),
        (CHATGPT, "AGENT://household/second", "agent://household/second"),
        (Principal(Role.BUTLER, "health"), None, "agent://butler/health"),
        (Principal(Role.USER, "Ann A."), None, "agent://user/ann-a-9cf446c81c1b2a03"),
        (Principal(Role.PERSON, "ann"), None, "agent://user/ann"),
        (Principal(Role.PERSON, "owner"), None, "agent://household/owner"),
        (OPERATOR, None, "agent://household/owner"),
        (OPERATOR, "agent://anybody/at-all", "agent://anybody/at-all"),
    ],
)
def test_the_sender_comes_from_the_token(principal: Principal, claimed: str | None, sender: str) -> None:
    assert AGENCY.sender(principal, claimed) == sender


@pytest.mark.parametrize(
    ("principal", "claimed", "code"),
    [
        (CHATGPT, "agent://household/eve", Code.POLICY_DENIED),
        (Principal(Role.CONNECTOR, "unknown"), None, Code.POLICY_DENIED),
        (Principal(Role.BUTLER, "health"), "agent://butler/general", Code.POLICY_DENIED),
        (Principal(Role.PROGRAM, "ci", person="ann"), None, Code.POLICY_DENIED),
        (Principal(Role.PROGRAM, "ci", person="ann"), "agent://user/ann", Code.POLICY_DENIED),
        (Principal(Role.USER, "owner"), "agent://household/owner", Code.POLICY_DENIED),
        (CHATGPT, "owner", Code.INVALID_AGENT_ADDRESS),
    ],
)
def test_nobody_speaks_for_somebody_else(principal: Principal, claimed: str | None, code: Code) -> None:
    with pytest.raises(Refused) as refused:
        AGENCY.sender(principal, claimed)

    assert refused.value.code is code


@pytest.mark.parametrize(
    ("principal", "agent", "name"),
    [
        (CHATGPT, "agent://household/owner", "connector:chatgpt"),
        (CHATGPT, "agent://contact/bob", "connector:chatgpt"),
        (CHATGPT, "agent://own/program", "agent://own/program"),
        (Principal(Role.BUTLER, "health"), "agent://butler/health", "agent://butler/health"),
        (Principal(Role.USER, "ann"), "agent://user/ann", "agent://user/ann"),
        (OPERATOR, "agent://user/ann", "agent://household/owner"),
    ],
)
def test_a_program_never_acts_under_the_name_of_a_person(principal: Principal, agent: str, name: str) -> None:
    assert AGENCY.name(principal, agent) == name
