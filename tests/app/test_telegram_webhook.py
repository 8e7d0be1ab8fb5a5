"""Telegram brings what people write: to one address, with a secret, each update once, whatever fails in between."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from postroom.app.account_channel import hook_secret
from postroom.domain.question_states import QuestionStatus
from postroom.doors.channels.webhook_route import SECRET_HEADER
from postroom.programs.sandbox.bot_name import sandbox_token
from tests.app.asked_household import ask, labels, parts, phone, press
from tests.app.talking import SECONDS, Talking, reply, script, talking

pytestmark = pytest.mark.asyncio(loop_scope="module")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def by_webhook(port: int) -> dict[str, Any]:
    return {"telegram": {"webhook": f"http://127.0.0.1:{port}"}, "ports": {"api": port}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("webhook")
    async with talking(folder / "home", folder, by_webhook(free_port())) as one:
        yield one


async def bot(house: Talking, method: str, **body: Any) -> dict[str, Any]:
    url = house.household.addresses["sandbox"].removesuffix("sandbox/")
    async with house.http.post(f"{url}bot{sandbox_token('')}/{method}", json=body) as answer:
        told: dict[str, Any] = await answer.json()
        return told


async def bring(house: Talking, body: Any, secret: str | None, account: str = "telegram") -> int:
    headers = {} if secret is None else {SECRET_HEADER: secret}
    url = f"{house.household.addresses['api']}/channels/{account}/webhook"
    data = {"data": body} if isinstance(body, bytes) else {"json": body}
    async with house.http.post(url, headers=headers, **data) as answer:
        return answer.status


def secret(house: Talking) -> str:
    return hook_secret(house.settings.home, "telegram")


def pushes(house: Talking) -> list[dict[str, Any]]:
    return house.rows("(select *, number as id, received_at as created_at from pushed_updates)")


def update(number: int, text: str, chat: int = 2010, message_id: int = 1) -> dict[str, Any]:
    person = {"id": chat, "is_bot": False, "first_name": "A"}
    message = {"message_id": message_id, "date": 1, "chat": {"id": chat, "type": "private"}, "text": text}
    return {"update_id": number, "message": message | {"from": person}}


@pytest.mark.requirement("talk:webhook")
async def test_what_a_person_writes_is_brought_stored_and_answered(house: Talking) -> None:
    asked = await house.write(2001, "/general " + script(reply("At noon.")))

    [answer] = await house.said(2001)
    await house.kept(2001, "answered")

    assert (answer["text"], answer["reply_to_message_id"]) == ("At noon.", asked)
    info = (await bot(house, "getWebhookInfo"))["result"]
    assert info["url"].endswith("/channels/telegram/webhook") and info["pending_update_count"] == 0
    assert info["allowed_updates"] == ["message", "edited_message", "callback_query", "my_chat_member"]
    assert (await bot(house, "getUpdates"))["error_code"] == 409
    async with asyncio.timeout(SECONDS):
        while [row["content"] for row in pushes(house) if row["handled_at"] is None]:
            await asyncio.sleep(0.02)
    assert {row["content"] for row in pushes(house)} == {"{}"}  # the words are gone with the handling


@pytest.mark.requirement("talk:webhook")
async def test_a_pressed_button_is_brought_and_answers_the_question(house: Talking) -> None:
    view = await ask(house, question="Ship it by webhook?")
    card = await phone(house, "Ship it by webhook?")

    await press(house, card, labels(card)[0])

    async with asyncio.timeout(SECONDS):
        while (found := await parts(house).store.get(view.question.id)) is None or found.answer is None:
            await asyncio.sleep(0.02)
    assert found.status is QuestionStatus.ANSWERED


@pytest.mark.requirement("talk:webhook-secret")
@pytest.mark.parametrize(
    ("given", "account", "status"),
    [(None, "telegram", 401), ("wrong", "telegram", 401), ("", "telegram", 401), ("right", "pigeon", 404)],
)
async def test_who_does_not_know_the_secret_stores_nothing(
    house: Talking, given: str | None, account: str, status: int
) -> None:
    known = secret(house) if given == "right" else given

    assert await bring(house, update(9_000_001, "/general hi"), known, account) == status
    assert not [row for row in pushes(house) if row["number"] == 9_000_001]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"update_id": "x"}', 400), (b'{"update_id": true}', 400), (b"x" * 1_100_000, 413)],
)
async def test_what_is_no_update_is_refused(house: Talking, body: bytes, status: int) -> None:
    before = len(pushes(house))

    assert await bring(house, body, secret(house)) == status
    assert len(pushes(house)) == before


@pytest.mark.requirement("talk:webhook-once")
async def test_an_update_that_is_brought_again_is_answered_once(house: Talking) -> None:
    asked = await house.write(2010, "/help")
    await house.said(2010)
    number = max(row["number"] for row in pushes(house))

    again = update(number, "/help", message_id=asked)
    assert [await bring(house, again, secret(house)) for _ in range(3)] == [200, 200, 200]
    other = update(9_000_010, "/help", message_id=asked)  # the same message under another number
    assert await bring(house, other, secret(house)) == 200
    await house.write(2010, "/asks")

    await house.kept(2010, "handled", "handled")
    assert len(await house.said(2010, 2)) == 2
    assert len([row for row in pushes(house) if row["number"] == number]) == 1


@pytest.mark.requirement("talk:webhook-once")
async def test_the_way_back_to_asking_takes_the_webhook_away_and_loses_nothing(tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    async with talking(home, tmp_path, by_webhook(port)) as house:
        await house.write(2002, "/help")
        await house.said(2002)
    async with talking(home, tmp_path) as house:
        await bot(house, "setWebhook", url=f"http://127.0.0.1:{port}/channels/telegram/webhook")
        await house.write(2002, "/status")

        assert len(await house.said(2002, 2)) == 2
        assert (await bot(house, "getWebhookInfo"))["result"]["url"] == ""


async def test_another_programs_webhook_is_left_alone(tmp_path: Path) -> None:
    async with talking(tmp_path / "home", tmp_path) as house:
        url = f"http://127.0.0.1:{free_port()}/other"
        await bot(house, "setWebhook", url=url)
        async with asyncio.timeout(SECONDS):
            while not house.rows("(select *, source as id, since as created_at from inbound_troubles)"):
                await asyncio.sleep(0.05)

        assert (await bot(house, "getWebhookInfo"))["result"]["url"] == url
