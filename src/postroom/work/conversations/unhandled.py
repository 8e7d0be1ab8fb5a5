"""What people write to the bot and no part of the household takes: one honest sentence, and a line in the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import structlog

from postroom.domain.delivery import Intent, Priority
from postroom.domain.outgoing import Outgoing, RequestContext
from postroom.domain.ports import Clock, Outbound
from postroom.domain.time import to_text
from postroom.work.conversations.inbound import Handler

SENTENCE: Final = (
    "What you wrote has not been read: this bot only delivers messages. "
    "To answer a question, reply to the message that asked it."
)
_ORIGIN: Final = "messenger"
_log = structlog.get_logger("postroom.inbound")


def unhandled_handler(outbound: Outbound, clock: Clock) -> Handler:
    """Stands after all others. In a group people talk to each other, and bots never stop: neither is answered."""

    async def handle(update: Mapping[str, Any]) -> bool:
        message = update.get("message")
        if not isinstance(message, Mapping):
            return False
        number = update.get("update_id") if _is_number(update.get("update_id")) else 0
        _log.info("inbound.unhandled", source="telegram", update_id=number)
        if (thread := _private_thread(message)) is not None:
            request_id = f"telegram-update-{number}"
            answer = sentence_for(*thread, request_id, to_text(clock.now_us())[:10])
            await outbound.submit(answer, request_id=request_id, wait_seconds=0)
        return True

    return handle


def sentence_for(chat_id: int, message_id: int, request_id: str, day: str) -> Outgoing:
    """
    Sent to a chat once a day: the key of a second one is taken, and nothing is sent.

    As a reply it goes where somebody spoke to us, so that no person is asked to agree to it.
    """
    context = RequestContext(
        request_id=request_id,
        source_channel="telegram",
        source_endpoint_identity="bot",
        source_sender_identity=str(chat_id),
        source_thread_identity=f"{chat_id}:{message_id}",
    )
    return Outgoing(
        origin_butler=_ORIGIN,
        intent=Intent.REPLY,
        channel="telegram",
        message=SENTENCE,
        context=context,
        idempotency_key=f"unhandled:{chat_id}:{day}",
        priority=Priority.LOW,
    )


def _private_thread(message: Mapping[str, Any]) -> tuple[int, int] | None:
    """Where a person alone with the bot wrote it."""
    chat, sender, message_id = message.get("chat"), message.get("from"), message.get("message_id")
    if not isinstance(chat, Mapping) or chat.get("type") != "private" or not _is_number(chat.get("id")):
        return None
    if not isinstance(sender, Mapping) or sender.get("is_bot") is not False or not _is_number(message_id):
        return None
    return int(chat["id"]), int(str(message_id))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
