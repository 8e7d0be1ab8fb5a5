"""`postroom owner --telegram`: write to the bot once, and the settings know where the owner is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from postroom.programs.sandbox.server import Sandbox, SandboxOptions
from tests.app.living import QUICK, living
from tests.cli.command import Done, postroom, postroom_beside
from tests.contract.bot_api import BotApi, refused
from tests.services.ports import free_port

TOKEN = "4242:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
SETTINGS = "# mine, with a tab\t\n[owner]\nname = 'Ada'   # me\n\n[ports]\napi=40777\n"


@pytest.fixture
async def bot(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    monkeypatch.setenv("BUTLER_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("POSTROOM_PORTS__MESSENGER", str(free_port()))
    async with Sandbox(SandboxOptions(token=TOKEN)) as sandbox:
        monkeypatch.setenv("POSTROOM_TELEGRAM__API_BASE_URL", sandbox.bot_api_url)
        yield sandbox


async def write_to(bot: Sandbox, chat_id: int = 4711, name: str = "Ada") -> None:
    body = {"chat_id": chat_id, "text": "hello", "from_name": name}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{bot.bot_api_url}/sandbox/telegram/inbound", json=body) as response,
    ):
        assert response.status == 200


async def owner(*arguments: str, typed: str | None = None) -> Done:
    return await asyncio.to_thread(lambda: postroom("owner", "--telegram", *arguments, typed=typed))


async def test_a_message_that_comes_while_it_waits_makes_its_sender_the_owner(bot: Sandbox, home: Path) -> None:
    file = home / "postroom.toml"
    file.write_text(SETTINGS)
    waiting = asyncio.create_task(owner("--yes", "--wait", "30"))
    await write_to(bot)
    done = await waiting
    shown = await postroom_beside("owner")

    assert done.code == 0 and "Ada (id 4711) is the owner now" in done.out
    assert file.read_text() == SETTINGS.replace("[owner]\n", '[owner]\ntelegram_chat_id = "4711"\n')
    assert shown.out == "Ada: telegram 4711\n"
    assert TOKEN not in done.out + done.error


async def test_a_person_is_asked_about_each_sender_in_turn(bot: Sandbox, home: Path) -> None:
    await write_to(bot, 1, "Mallory")
    await write_to(bot, 2, "Ada")

    done = await owner("--wait", "30", typed="n\ny\n")

    assert done.code == 0 and "Mallory (id 1) wrote to the bot" in done.out
    assert (home / "postroom.toml").read_text() == '[owner]\ntelegram_chat_id = "2"\n'


async def test_without_a_question_nothing_is_chosen_among_several(bot: Sandbox, home: Path) -> None:
    await write_to(bot, 1, "Mallory")
    await write_to(bot, 2, "Ada")

    done = await owner("--yes", "--wait", "30")

    assert done.code == 1 and "Mallory (id 1), Ada (id 2)" in done.error
    assert not (home / "postroom.toml").exists()


async def test_a_file_that_is_kept_elsewhere_is_not_touched(
    bot: Sandbox, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "settings.toml"
    elsewhere.write_text(SETTINGS)
    monkeypatch.setenv("POSTROOM_CONFIG", str(elsewhere))
    await write_to(bot)

    done = await owner("--yes", "--wait", "30")

    assert done.code == 0 and done.out == '[owner]\ntelegram_chat_id = "4711"\n'
    assert elsewhere.read_text() == SETTINGS and not (home / "postroom.toml").exists()


async def test_a_variable_that_wins_over_the_file_is_named(
    bot: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_OWNER__TELEGRAM_CHAT_ID", "99")
    await write_to(bot)

    assert "POSTROOM_OWNER__TELEGRAM_CHAT_ID is set to another chat" in (await owner("--yes", "--wait", "30")).error


async def test_time_that_passes_without_a_message_is_a_sentence(bot: Sandbox) -> None:
    done = await owner("--wait", "0.1")

    assert done.code == 1 and "No owner wrote to the bot" in done.error


async def test_a_running_household_reads_the_bots_messages_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("BUTLER_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("POSTROOM_PORTS__MESSENGER", str(port))
    async with living(home, QUICK, {"ports": {"messenger": port}}):
        done = await owner("--wait", "1")

    assert done.code == 1 and "stop it, then ask again" in done.error


async def test_another_reader_of_the_bot_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUTLER_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("POSTROOM_PORTS__MESSENGER", str(free_port()))
    async with BotApi() as provider:
        provider.behave(refused(409, "Conflict: terminated by other getUpdates request"))
        monkeypatch.setenv("POSTROOM_TELEGRAM__API_BASE_URL", provider.url)
        done = await owner("--wait", "5")

    assert done.code == 1 and "(409)" in done.error and TOKEN not in done.error


@pytest.mark.usefixtures("home")
def test_without_a_bot_it_says_where_one_comes_from() -> None:
    done = postroom("owner", "--telegram")

    assert done.code == 1 and "BUTLER_TELEGRAM_TOKEN" in done.error


@pytest.mark.usefixtures("home")
def test_without_an_option_it_shows_where_the_owner_is_reached() -> None:
    assert "postroom owner --telegram" in postroom("owner").out
    assert json.loads(postroom("owner", "--json").out) == {
        "name": "",
        "telegram_chat_id": None,
        "email": None,
        "addresses": [],
    }
