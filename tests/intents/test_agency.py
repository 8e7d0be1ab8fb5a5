from __future__ import annotations

import pytest

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.refused import Code, Refused
from postroom.intents.agency import Agency

AGENCY = Agency(lambda name: ("agent://household/owner", "agent://household/second") if name == "chatgpt" else ())
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")


@pytest.mark.parametrize(
    ("principal", "claimed", "sender"),
    [
        (CHATGPT, None, "agent://household/owner"),
        (CHATGPT, "AGENT://household/second", "agent://household/second"),
        (Principal(Role.BUTLER, "health"), None, "agent://butler/health"),
        (Principal(Role.USER, "Ann A."), None, "agent://user/ann-a-9cf446c81c1b2a03"),
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
        (CHATGPT, "owner", Code.INVALID_AGENT_ADDRESS),
    ],
)
def test_nobody_speaks_for_somebody_else(principal: Principal, claimed: str | None, code: Code) -> None:
    with pytest.raises(Refused) as refused:
        AGENCY.sender(principal, claimed)

    assert refused.value.code is code
