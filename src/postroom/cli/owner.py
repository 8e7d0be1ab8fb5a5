"""`postroom owner`: where the household's owner is reached."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.output import Home, Json, Roster, complain, say, say_json
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process

if TYPE_CHECKING:
    from postroom.cli.bot_senders import Sender

_VARIABLE = "POSTROOM_OWNER__TELEGRAM_CHAT_ID"

Telegram = Annotated[
    bool, typer.Option("--telegram", help="Wait for a message to the bot, and make its sender the owner.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Take the sender without asking, if there is only one.")]
Wait = Annotated[float, typer.Option("--wait", min=0.1, max=3600, help="Seconds to wait for a message.")]


def owner(
    telegram: Telegram = False,
    yes: Yes = False,
    wait_seconds: Wait = 120.0,
    home: Home = None,
    roster: Roster = None,
    json: Json = False,
) -> None:
    """Show where the owner is reached, or find the owner's Telegram chat and write it into the settings."""
    settings, sources = from_process({"home": home, "roster": roster})
    if not telegram:
        _show(settings, json)
        return
    sender = asyncio.run(_found(settings, yes, wait_seconds, json))
    file = _remember(settings, sender.chat_id)
    if json:
        say_json({"telegram_chat_id": sender.chat_id, "name": sender.name, "file": str(file) if file else None})
    elif file:
        say(f"{sender} is the owner now, by {file}.")
    if sources.get("owner.telegram_chat_id") == _VARIABLE and settings.owner.telegram_chat_id != sender.chat_id:
        complain(f"{_VARIABLE} is set to another chat and wins over the file: unset it.")


def _show(settings: Settings, json: bool) -> None:
    if json:
        say_json(settings.owner.model_dump())
        return
    known = (("telegram", settings.owner.telegram_chat_id), ("email", settings.owner.email))
    further = (one.replace(":", " ", 1) for one in settings.owner.addresses)
    reached = ", ".join([*(f"{channel} {address}" for channel, address in known if address), *further])
    say(
        f"{settings.owner.name or 'The owner'}: {reached or 'no address yet; `postroom owner --telegram` finds a chat'}"
    )


async def _found(settings: Settings, yes: bool, wait_seconds: float, as_json: bool) -> Sender:
    from postroom.app.channels import build_channels
    from postroom.cli.bot_senders import Updates, new_senders, refuse_while_running
    from postroom.doors.butler.modules.credentials import with_credentials
    from postroom.system.clock import SystemClock
    from postroom.system.roster.load import load_roster

    roster = load_roster(settings, os.environ)
    settings = with_credentials(settings, roster, os.environ)
    bot = None if settings.in_sandbox else build_channels(settings, None).get("telegram")
    if bot is None or not isinstance(bot, Updates):
        raise SettingsError("There is no bot: set BUTLER_TELEGRAM_TOKEN, as @BotFather gave it.")
    await refuse_while_running(settings, roster)
    try:
        complain(f"Write any message to your bot now; waiting {wait_seconds:.0f} s …")
        async for found in new_senders(bot, SystemClock(), wait_seconds):
            if (chosen := _chosen(found, yes, as_json)) is not None:
                return chosen
    finally:
        await bot.close()
    raise SettingsError(
        f"No owner wrote to the bot within {wait_seconds:.0f} s; write to it and try again, with a longer --wait."
    )


def _chosen(found: list[Sender], yes: bool, as_json: bool) -> Sender | None:
    if yes and len(found) > 1:
        raise SettingsError(
            f"Several people wrote to the bot, so --yes does not choose: {', '.join(map(str, found))}. Leave it out."
        )
    return next((one for one in found if yes or _is_owner(one, as_json)), None)


def _is_owner(one: Sender, as_json: bool) -> bool:
    return typer.confirm(f"{one} wrote to the bot. Is that the owner?", err=as_json)


def _remember(settings: Settings, chat_id: str) -> Path | None:
    """In the household's own file; into one that is kept elsewhere, or cannot be changed safely, a person writes."""
    from postroom.system.settings.owner_line import owner_line, with_owner_chat

    file = (settings.home / "postroom.toml").resolve()
    before = file.read_bytes().decode() if file.exists() else ""
    after = None if os.environ.get("POSTROOM_CONFIG") else with_owner_chat(before, chat_id)
    if after is None:
        complain("Your settings file is not changed by this command. Write there:")
        say(f"[owner]\n{owner_line(chat_id)}")
        return None
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_name(f".{file.name}.new")
    beside.write_bytes(after.encode())
    if file.exists():
        shutil.copymode(file, beside)
    beside.replace(file)
    return file
