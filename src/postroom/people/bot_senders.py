"""Who has written to the bot: asked while no household reads its messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.channels.telegram.channel import AnotherReader, Telegram
from postroom.cli.doctor.doctor import household_at
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import UserError
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.settings import Settings
from postroom.settings.roster import MESSENGER, ButlerConfig, port_for

_POLL_SECONDS: Final = 25.0
_LONGEST_NAME: Final = 64


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
