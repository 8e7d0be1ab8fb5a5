"""The methods of Slack's Web API: what is asked, done and answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.kernel.running.clock import Clock
from tests.fakes.ledger import KEPT_MESSAGES, FaceLedger
from tests.fakes.record import FaceMessage
from tests.fakes.slack.arguments import SlackArguments
from tests.fakes.slack.block_kit import checked, seen
from tests.fakes.slack.objects import message_object
from tests.fakes.slack.workspace import (
    BOT_ID,
    BOT_NAME,
    BOT_USER,
    TEAM_ID,
    SlackError,
    conversation,
    direct_message,
    writable,
)

_LONGEST_TEXT: Final = 40_000
_MOST_STATUSES: Final = 100

Told = dict[str, Any]


def stamp(now_us: int, number: int) -> str:
    """Unique in its channel, and growing."""
    return f"{now_us // 1_000_000}.{number % 1_000_000:06d}"


class SlackMethods:
    def __init__(self, ledger: FaceLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self.statuses: deque[Told] = deque(maxlen=_MOST_STATUSES)  # what people saw of the app, for a moment

    def auth_test(self, _: SlackArguments) -> Told:
        named = {"url": "https://sandbox.slack.com/", "team": "Sandbox", "user": BOT_NAME}
        return named | {"team_id": TEAM_ID, "user_id": BOT_USER, "bot_id": BOT_ID, "is_enterprise_install": False}

    def post(self, given: SlackArguments) -> Told:
        place = writable(given.text("channel"))
        content = _content(given)
        if (metadata := given.structure("metadata")) is not None:
            content["metadata"] = metadata
        kept = self._keep(place, content, thread=self._root(place, given.text("thread_ts")))
        return {"channel": place, "ts": kept.message_id, "message": message_object(kept)}

    def post_ephemeral(self, given: SlackArguments) -> Told:
        """Shown to one person, in nobody's history."""
        place, user = conversation(given.text("channel")), given.text("user")
        kept = self._keep(place, _content(given) | {"ephemeral_to": user}, thread=given.text("thread_ts") or None)
        return {"message_ts": kept.message_id}

    def update(self, given: SlackArguments) -> Told:
        """What is not given stays, except that a new text without blocks takes the old blocks away."""
        found = self._message(given, "ts")
        content = dict(found.body) | {name: value for name, value in _content(given).items() if value}
        if not given.structure("blocks"):
            content["blocks"] = []
        kept = self._ledger.edit(found, seen(content["text"], content["blocks"]), content)
        told = message_object(kept)
        return {"channel": kept.place, "ts": kept.message_id, "text": told["text"], "message": told}

    def delete(self, given: SlackArguments) -> Told:
        gone = self._ledger.delete(self._message(given, "ts"))
        return {"channel": gone.place, "ts": gone.message_id}

    def open_conversation(self, given: SlackArguments) -> Told:
        return {"channel": {"id": direct_message(given.text("users"))}}

    def history(self, given: SlackArguments) -> Told:
        """The newest first; what stands in threads is left out."""
        place = conversation(given.text("channel"))
        found = [one for one in reversed(self._public(place)) if one.thread in (None, one.message_id)]
        return _page(given, [one for one in found if _is_within(given, one)])

    def replies(self, given: SlackArguments) -> Told:
        """The first message of the thread, always, and then the rest of it."""
        place, wanted = conversation(given.text("channel")), given.text("ts")
        root = self._root(place, wanted)
        everything = self._public(place)
        if not any(one.message_id == root for one in everything):
            raise SlackError("thread_not_found")
        answers = [one for one in everything if one.thread == root and one.message_id != root]
        first = [one for one in everything if one.message_id == root]
        return _page(given, first + [one for one in answers if _is_within(given, one)])

    def react(self, given: SlackArguments) -> Told:
        message, name = self._reacted(given)
        if name in message.reactions:
            raise SlackError("already_reacted")
        self._ledger.react(message, [*message.reactions, name])
        return {}

    def unreact(self, given: SlackArguments) -> Told:
        message, name = self._reacted(given)
        if name not in message.reactions:
            raise SlackError("no_reaction")
        self._ledger.react(message, [one for one in message.reactions if one != name])
        return {}

    def set_status(self, given: SlackArguments) -> Told:
        """Shown for a moment in a thread; an empty one takes it away."""
        place, thread, words = conversation(given.text("channel_id")), given.text("thread_ts"), given.text("status")
        self.statuses.append({"channel_id": place, "thread_ts": thread, "status": words})
        return {}

    def _keep(self, place: str, content: Mapping[str, Any], *, thread: str | None) -> FaceMessage:
        now_us = self._clock.now_us()
        return self._ledger.keep(
            place=place,
            text=seen(content["text"], content["blocks"]),
            body=content,
            name=lambda number: stamp(now_us, number),
            now_us=now_us,
            thread=thread,
        )

    def _public(self, place: str) -> list[FaceMessage]:
        found = self._ledger.messages(place=place, limit=KEPT_MESSAGES)
        return [one for one in found if not one.is_deleted and "ephemeral_to" not in one.body]

    def _root(self, place: str, named: str) -> str | None:
        """An answer to an answer belongs to the same thread."""
        found = self._ledger.find(named, place) if named else None
        return (found.thread if found else None) or named or None

    def _reacted(self, given: SlackArguments) -> tuple[FaceMessage, str]:
        return self._message(given, "timestamp"), given.text("name")

    def _message(self, given: SlackArguments, name: str) -> FaceMessage:
        found = self._ledger.find(given.text(name), conversation(given.text("channel")))
        if found is None:
            raise SlackError("message_not_found")
        return found


def _content(given: SlackArguments) -> Told:
    blocks = checked(given.structure("blocks"))
    text = given.text("text")
    if not text and not blocks:
        raise SlackError("no_text")
    kept = {name: given.values[name] for name in _KEPT if name in given.values}
    return {"text": text[:_LONGEST_TEXT], "blocks": blocks, **kept}


_KEPT: Final = ("unfurl_links", "unfurl_media", "mrkdwn", "parse", "link_names", "thread_ts")


def _is_within(given: SlackArguments, message: FaceMessage) -> bool:
    at, oldest, latest = float(message.message_id), given.text("oldest"), given.text("latest")
    return (not oldest or at >= float(oldest)) and (not latest or at <= float(latest))


def _page(given: SlackArguments, found: Sequence[FaceMessage]) -> Told:
    """Everything is on the one page; metadata is for those who ask for it."""
    has_metadata = given.flag("include_all_metadata")
    return {"messages": [message_object(one, with_metadata=has_metadata) for one in found], "has_more": False}
