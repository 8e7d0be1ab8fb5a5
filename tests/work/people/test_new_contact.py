from __future__ import annotations

import pytest

from postroom.domain.errors import Refused
from postroom.work.people.new_contact import new_contact


@pytest.mark.parametrize(
    ("field", "values"),
    [
        pytest.param("name", {"name": " .!"}, id="no letters"),
        pytest.param("name", {"name": "a\x00b"}, id="NUL"),
        pytest.param("aliases[1]", {"name": "Bob", "aliases": ["ok", ""]}, id="blank alias"),
        pytest.param("aliases", {"name": "Bob", "aliases": ["x"] * 51}, id="too many aliases"),
        pytest.param("agent", {"name": "Bob", "agent": "bob"}, id="no address"),
        pytest.param("agent", {"name": "Bob", "agent": "agent://household/owner"}, id="the owner's address"),
        pytest.param("agent", {"name": "Bob", "agent": "agent://contact/x"}, id="another contact's address"),
        pytest.param("telegram_chat_id", {"name": "Bob", "telegram_chat_id": "0"}, id="no chat"),
        pytest.param("email", {"name": "Bob", "email": "a@b\r\nBcc: c@d"}, id="header in an e-mail address"),
    ],
)
def test_what_is_wrong_is_named(field: str, values: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        new_contact(**values)  # type: ignore[arg-type]

    assert [item.field for item in refused.value.fields] == [field]


def test_a_good_contact_is_tidied() -> None:
    made = new_contact(
        name=" Bob ", aliases=[" Rob "], agent="AGENT://Home/Bob", email=" B@X.org ", telegram_chat_id="@BobM"
    )

    assert (made.name, made.aliases, made.agent_address, made.address_on("email"), made.address_on("telegram")) == (
        "Bob",
        ("Rob",),
        "agent://home/bob",
        "b@x.org",
        "@bobm",
    )
