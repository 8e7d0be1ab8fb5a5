"""How an agent in its own process finds the household, and what it is told when there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.inbox.api import Api, running_api

from postroom.agents.asks import LocalHousehold, RemoteHousehold
from postroom.inbox.model import NewNotification, Notification, NotificationQuery, NotificationType
from postroom.kernel.values.principal import OPERATOR, Principal, Role

ASKED = NewNotification(
    message="Hello", type=NotificationType.WARNING, user_id="ada", conversation_id="c1", correlation_id="k1"
)


@pytest.fixture
async def api(home: Path) -> AsyncIterator[Api]:
    """Of this home, where a process finds it by itself."""
    async with running_api(home) as api:
        yield api


async def kept(api: Api, user_id: str = "ada") -> list[Notification]:
    return list(await api.inbox.notes.page(user_id, NotificationQuery(), api.inbox.clock.now_us()))


@pytest.mark.requirement("inbox:context-user-id", "inbox:context-conversation-id", "inbox:context-correlation-id")
@pytest.mark.parametrize("role", [Role.USER, Role.OPERATOR], ids=["own token", "operator's token"])
async def test_over_http_the_context_arrives_as_it_was(api: Api, role: Role) -> None:
    token = api.token("ada", role) if role is Role.USER else api.tokens.token_of(OPERATOR)
    answer = await RemoteHousehold(url=api.url, token=token or "").send(ASKED)

    (one,) = await kept(api)
    assert answer == {
        "success": True,
        "action": "notification_created",
        "message": "Notification created: Hello",
        "notification_id": one.id,
        "type": "warning",
    }
    assert (one.conversation_id, one.correlation_id) == ("c1", "k1")


async def test_a_persons_token_writes_to_nobody_else(api: Api) -> None:
    answer = await RemoteHousehold(url=api.url, token=api.token("bob")).send(ASKED)

    assert (answer["success"], answer["action"]) == (False, "validation_error")
    assert await kept(api, "ada") == await kept(api, "bob") == []


@pytest.mark.requirement("inbox:response-system-error")
@pytest.mark.parametrize("token", ["wrong", "a butler's"])
async def test_a_token_that_is_not_accepted_is_a_failure_without_details(api: Api, token: str) -> None:
    known = api.tokens.token_of(Principal(Role.BUTLER, "health")) if token != "wrong" else token
    answer = await RemoteHousehold(url=api.url, token=known or "").send(ASKED)

    assert answer == {
        "success": False,
        "action": "error",
        "message": "Failed to create notification: the household cannot be reached or does not accept the token",
    }
    assert await kept(api) == []


@pytest.mark.requirement("inbox:response-system-error")
async def test_a_household_that_is_not_there_is_a_failure_without_details(free_port: int) -> None:
    answer = await RemoteHousehold(url=f"http://127.0.0.1:{free_port}", token="t").send(ASKED)

    assert answer["action"] == "error"
    assert str(free_port) not in answer["message"]


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(RemoteHousehold(url="http://x", token="secret"))


class TestOnThisMachine:
    @pytest.fixture
    def port(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        """The household took any port; otherwise the default would be found."""
        monkeypatch.setenv("POSTROOM_PORTS__API", api.url.rpartition(":")[2])

    @pytest.mark.usefixtures("port")
    async def test_a_user_id_is_enough(self, api: Api) -> None:
        assert (await LocalHousehold().send(NewNotification(message="Hello", user_id="ada")))["success"]
        assert len(await kept(api)) == 1

    @pytest.mark.usefixtures("port")
    async def test_a_person_with_a_token_is_served_by_it(self, api: Api) -> None:
        api.token("ada")
        api.tokens.revoke(OPERATOR)

        assert (await LocalHousehold().send(ASKED))["success"]

    async def test_a_url_and_a_token_may_be_given(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("POSTROOM_URL", f"{api.url}/")
        monkeypatch.setenv("POSTROOM_TOKEN", api.token("bob"))

        assert (await LocalHousehold().send(NewNotification(message="Hello", user_id="bob")))["success"]
        assert (await LocalHousehold().send(ASKED))["action"] == "validation_error"

    @pytest.mark.usefixtures("home")
    async def test_without_a_household_the_answer_says_what_to_do(self) -> None:
        assert await LocalHousehold().send(ASKED) == {
            "success": False,
            "action": "error",
            "message": "Failed to create notification: no household was found; "
            "start one with `postroom up`, or set POSTROOM_URL and POSTROOM_TOKEN",
        }

    @pytest.mark.usefixtures("home")
    async def test_settings_that_cannot_be_read_are_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("POSTROOM_INBOX__HOURLY_CAP", "many")

        answer: Any = await LocalHousehold().send(ASKED)
        assert answer["message"] == "Failed to create notification: the settings cannot be read"
