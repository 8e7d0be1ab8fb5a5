"""How Slack shows that an answer is being worked on: a status in the thread, or where that is refused a reaction."""

from __future__ import annotations

from typing import Final

from postroom.domain.errors import CredentialsRefused, PostroomError, TargetUnavailable, ValidationError
from postroom.world.channels.slack.refusals import ReactionStands
from postroom.world.channels.slack.web_api import SlackWebApi

STATUS: Final = "assistant.threads.setStatus"
WORDS: Final = "is working on it…"
EMOJI: Final = "eyes"
_MOST: Final = 1_000


class SlackWorkSign:
    """
    The status takes no scope but `chat:write`, and Slack lets it go when the answer comes or after two minutes.

    A reaction takes `reactions:write` and has to be removed; without that scope nothing is shown.
    """

    def __init__(self, api: SlackWebApi) -> None:
        self._api = api
        self._reacted: dict[tuple[str, str], bool] = {}  # False: this message can be given no sign

    async def show(self, channel: str, message_id: str, thread: str, timeout_seconds: float) -> bool:
        try:
            if (channel, message_id) not in self._reacted:
                return await self._say(channel, message_id, thread, timeout_seconds)
        except PostroomError:
            return False
        return self._reacted[channel, message_id]

    async def hide(self, channel: str, message_id: str, thread: str, timeout_seconds: float) -> None:
        """An answer elsewhere, as to /stop, takes no status away."""
        reacted = self._reacted.pop((channel, message_id), None)
        try:
            if reacted is None:
                await self._status(channel, thread, "", timeout_seconds)
            elif reacted:
                await self._api.call("reactions.remove", _reaction(channel, message_id), timeout_seconds)
        except PostroomError:
            return

    async def _say(self, channel: str, message_id: str, thread: str, timeout_seconds: float) -> bool:
        try:
            await self._status(channel, thread, WORDS, timeout_seconds)
        except (ValidationError, CredentialsRefused, TargetUnavailable):  # the last where it has no such method
            return await self._react(channel, message_id, timeout_seconds)
        return True

    async def _react(self, channel: str, message_id: str, timeout_seconds: float) -> bool:
        stands = True
        try:
            await self._api.call("reactions.add", _reaction(channel, message_id), timeout_seconds)
        except ReactionStands:
            pass
        except (ValidationError, CredentialsRefused):
            stands = False
        if len(self._reacted) >= _MOST:
            self._reacted.clear()
        self._reacted[channel, message_id] = stands
        return stands

    async def _status(self, channel: str, thread: str, words: str, timeout_seconds: float) -> None:
        body = {"channel_id": channel, "thread_ts": thread, "status": words}
        await self._api.call(STATUS, body, timeout_seconds)


def _reaction(channel: str, message_id: str) -> dict[str, str]:
    return {"channel": channel, "timestamp": message_id, "name": EMOJI}
