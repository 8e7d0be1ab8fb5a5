"""The webhook on the wire, by Telegram's documentation."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.errors import PostroomError, TargetUnavailable
from postroom.domain.push_state import PushState
from postroom.world.channels.telegram_webhook import HookKeeper, TelegramHook, hook_info, hook_url, took_away_own

URL = "https://post.example.org/channels/telegram/webhook"


class BotApi:
    def __init__(self, **answers: Any) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.answers = answers

    async def ask(self, method: str, body: Any, timeout_seconds: float) -> dict[str, Any]:
        self.calls.append((method, body))
        answer = self.answers.get(method, True)
        if isinstance(answer, PostroomError):
            raise answer
        return {"ok": True, "result": answer}


@pytest.mark.requirement("talk:webhook")
async def test_the_webhook_is_set_once_with_its_secret_and_again_when_it_was_taken_away() -> None:
    api = BotApi(getWebhookInfo={"url": URL, "pending_update_count": 0})
    hook = HookKeeper(TelegramHook(url=URL, secret="s3cret"), api.ask, ["message", "callback_query"])

    await hook.kept(5.0)
    await hook.kept(5.0)
    api.answers["getWebhookInfo"] = {"url": "", "pending_update_count": 0}
    await hook.kept(5.0)
    await hook.kept(5.0)

    body = {"url": URL, "secret_token": "s3cret", "allowed_updates": ["message", "callback_query"]}
    assert [one for one in api.calls if one[0] == "setWebhook"] == [("setWebhook", body | {"max_connections": 10})] * 2


def test_what_telegram_says_about_the_webhook_is_read_without_trust() -> None:
    failed = {
        "last_error_date": 100,
        "last_error_message": "Bad s3cret\nGateway",
        "pending_update_count": 2,
        "url": URL,
    }

    found = hook_info({"result": failed}, ["s3cret"])

    assert found.state == PushState(waiting=2, error="Bad *** Gateway", error_at_us=100_000_000)
    assert hook_info({"result": None}).state == PushState()
    assert hook_info({"result": {"url": 7, "pending_update_count": "x", "last_error_date": "y"}}).url == ""


@pytest.mark.parametrize("base", ["https://post.example.org", "https://post.example.org/", URL])
def test_the_address_ends_with_the_accounts_path(base: str) -> None:
    assert hook_url(base, "telegram") == URL


@pytest.mark.parametrize("secret", ["", "a b", "x" * 257, "é"])
def test_a_secret_is_one_that_telegram_takes(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        TelegramHook(url=URL, secret=secret)


@pytest.mark.requirement("talk:webhook-once")
@pytest.mark.parametrize(
    ("info", "gone"),
    [({"url": URL}, True), ({"url": "https://other.example/hook"}, False), ({"url": ""}, False)],
)
async def test_only_our_own_webhook_is_deleted_and_no_update_with_it(info: dict[str, str], gone: bool) -> None:
    api = BotApi(getWebhookInfo=info)

    assert await took_away_own("telegram", api.ask, 5.0) is gone
    deleted = [("deleteWebhook", {"drop_pending_updates": False})] if gone else []
    assert api.calls[1:] == deleted


async def test_when_nothing_is_known_nothing_is_deleted() -> None:
    api = BotApi(getWebhookInfo=TargetUnavailable("away"))

    assert await took_away_own("telegram", api.ask, 5.0) is False
