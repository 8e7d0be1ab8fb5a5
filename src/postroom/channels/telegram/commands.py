"""`postroom owner`: where the owner is reached, and who has written to the bot while no household reads it."""

from __future__ import annotations

import asyncio
import os
import re
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE
from typing import Annotated, Any, Final

import typer

from postroom.channels.telegram.channel import AnotherReader, Telegram
from postroom.cli.doctor.doctor import household_at
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.files import replace_file
from postroom.kernel.running.terminal import Home, Json, Roster, complain, say, say_json, seconds_of
from postroom.kernel.values.errors import Mistyped, SettingsError, UserError
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.settings import Settings
from postroom.settings.load import from_process
from postroom.settings.roster import MESSENGER, ButlerConfig, load_roster, port_for

_POLL_SECONDS: Final = 25.0
_LONGEST_WAIT_SECONDS: Final = 3_600.0
_LONGEST_NAME: Final = 64
_VARIABLE: Final = "POSTROOM_OWNER__TELEGRAM_CHAT_ID"


class BotTaken(UserError):
    """Somebody else reads what people write to the bot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    chat_id: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} (id {self.chat_id})"


async def refuse_while_running(settings: Settings, roster: Sequence[ButlerConfig]) -> None:
    """Two readers of one bot take each other's messages away."""
    for config in roster:
        port = port_for(settings, config)
        if config.name == MESSENGER and await household_at(settings.host, port, MESSENGER) == settings.household_id:
            raise BotTaken("The household is running and reads the bot's messages itself: stop it, then ask again.")


async def new_senders(bot: Telegram, clock: Clock, within_seconds: float) -> AsyncIterator[list[Sender]]:
    """Those who had written before we asked, then others as they write, until the time is over."""
    deadline_us, offset, known = clock.now_us() + seconds(within_seconds), None, set[str]()
    while (left_us := deadline_us - clock.now_us()) > 0:
        try:
            updates = await bot.updates(offset, min(_POLL_SECONDS, left_us / SECOND_US))
        except AnotherReader:
            raise BotTaken(
                "Another program reads this bot's messages (409): stop the household or program that uses it, "
                "or remove its webhook, then ask again."
            ) from None
        found = [one for one in senders(updates) if one.chat_id not in known]
        known |= {one.chat_id for one in found}
        if found:
            yield found
        offset = next((one["update_id"] + 1 for one in reversed(updates) if "update_id" in one), offset)


def senders(updates: Sequence[Mapping[str, Any]]) -> list[Sender]:
    """People in a chat of their own with the bot, each once; a group's messages say nothing of where the owner is."""
    found = [_sender(update.get("message")) for update in updates]
    return list({one.chat_id: one for one in found if one is not None}.values())


def _sender(message: object) -> Sender | None:
    chat, person = (message.get("chat"), message.get("from")) if isinstance(message, Mapping) else (None, None)
    if not isinstance(chat, Mapping) or not isinstance(person, Mapping) or person.get("is_bot"):
        return None
    if chat.get("type") != "private" or not isinstance(chat.get("id"), int):
        return None
    return Sender(chat_id=str(chat["id"]), name=_name(person))


def _name(person: Mapping[str, Any]) -> str:
    """They chose it themselves: nothing of it may move the cursor or turn the line around."""
    words = [person.get(part) for part in ("first_name", "last_name")]
    words.append(f"@{person['username']}" if person.get("username") else None)
    text = " ".join(word for word in words if isinstance(word, str))
    return "".join(letter for letter in text if letter.isprintable())[:_LONGEST_NAME].strip() or "somebody"


# -- The command --


def owner(
    telegram: Annotated[
        bool, typer.Option("--telegram", help="Wait for a message to the bot, and make its sender the owner.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take the sender without asking, if there is only one.")
    ] = False,
    wait: Annotated[
        str, typer.Option("--wait", help="How long to wait for a message, such as 90s or 5m; an hour at most.")
    ] = "2m",
    home: Home = None,
    roster: Roster = None,
    json: Json = False,
) -> None:
    """Show where the owner is reached, or find the owner's chat with the bot and write it into the settings."""
    settings, sources = from_process({"home": home, "roster": roster})
    if not telegram:
        _show(settings, json)
        return
    if not 0 < (wait_seconds := seconds_of(wait, "--wait")) <= _LONGEST_WAIT_SECONDS:
        raise Mistyped("--wait: must be more than nothing and at most an hour.")
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
    from postroom.butlers.loading import with_credentials
    from postroom.household.channels import build_channels

    roster = load_roster(settings, os.environ)
    settings = with_credentials(settings, roster, os.environ)
    bot = None if settings.in_sandbox else build_channels(settings, None).get("telegram")
    if not isinstance(bot, Telegram):
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
    file = (settings.home / "postroom.toml").resolve()
    before = file.read_bytes().decode() if file.exists() else ""
    after = None if os.environ.get("POSTROOM_CONFIG") else with_owner_chat(before, chat_id)
    if after is None:
        complain("Your settings file is not changed by this command. Write there:")
        say(f"[owner]\n{owner_line(chat_id)}")
        return None
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file, after.encode(), mode=S_IMODE(file.stat().st_mode) if file.exists() else 0o644)
    return file


# Write the owner's chat into the text of a settings file, and leave every other byte of it alone.

_HEADER = re.compile(r"^[ \t]*\[[ \t]*owner[ \t]*\][ \t]*(#[^\r\n]*)?(?=\r?$)", re.M)
_NEXT_TABLE = re.compile(r"^[ \t]*\[", re.M)
_KEY = re.compile(r"^([ \t]*telegram_chat_id[ \t]*=[ \t]*)(\"[^\"\n]*\"|'[^'\n]*'|-?\d+)", re.M)


def owner_line(chat_id: str) -> str:
    return f'telegram_chat_id = "{chat_id}"'


def with_owner_chat(text: str, chat_id: str) -> str | None:
    """None when the file is written in a way that only a person should change."""
    changed = _changed(text, chat_id)
    wanted = _parsed(text)
    if wanted is None or not isinstance(wanted.setdefault("owner", {}), dict):
        return None
    wanted["owner"]["telegram_chat_id"] = chat_id
    return changed if _parsed(changed) == wanted else None  # whatever else it looked like, it must say only this


def _changed(text: str, chat_id: str) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    header = _HEADER.search(text)
    if header is None:
        gap = "" if not text or text.endswith(end * 2) else end if text.endswith("\n") else end * 2
        return f"{text}{gap}[owner]{end}{owner_line(chat_id)}{end}"
    start = header.end()
    following = _NEXT_TABLE.search(text, start)
    stop = following.start() if following else len(text)
    if key := _KEY.search(text, start, stop):
        return f'{text[: key.start()]}{key[1]}"{chat_id}"{text[key.end() :]}'
    return f"{text[:start]}{end}{owner_line(chat_id)}{text[start:]}"


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
