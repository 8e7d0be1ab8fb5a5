"""The messenger's own ways to reach people; each is a notify.v1 on the one delivery path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, Final, cast

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.clock import Clock
from postroom.domain.delivery import Intent
from postroom.domain.notify import NOTIFY_V1
from postroom.doors.messenger.answers import NotifyResponse
from postroom.doors.messenger.arguments import ChatId, MessageId, OptionalText, Text
from postroom.doors.messenger.deliver_envelope import deliver_envelope
from postroom.work.delivery.plane import Plane

ORIGIN: Final = "messenger"
_SENDS = ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTools:
    plane: Plane
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def send(self, channel: str, recipient: object, **content: object) -> NotifyResponse:
        """A missing recipient is a mistake here: these tools never mean "the owner"."""
        named = "" if recipient is None else recipient
        return await self._deliver(_envelope(channel, Intent.SEND, recipient=named, **content), self._request_id())

    async def answer(
        self, channel: str, intent: Intent, *, sender: object, thread: object, **content: object
    ) -> NotifyResponse:
        """In a conversation: there is no inbound request to name, so this call is its own."""
        request_id = self._request_id()
        context = {
            "request_id": request_id,
            "source_channel": channel,
            "source_endpoint_identity": ORIGIN,
            "source_sender_identity": sender,
            "source_thread_identity": thread,
        }
        envelope = _envelope(channel, intent, **content) | {"request_context": context}
        return await self._deliver(envelope, request_id)

    def _request_id(self) -> str:
        return self.mint(self.clock.now_us())

    async def _deliver(self, envelope: dict[str, Any], request_id: str) -> NotifyResponse:
        answer = await deliver_envelope(self.plane, envelope, request_id=request_id, wait_seconds=self.wait_seconds)
        return cast(NotifyResponse, answer)


def add_channel_tools(server: MCPServer[Any], tools: ChannelTools) -> None:
    _add_telegram_tools(server, tools)
    _add_email_tools(server, tools)


def _add_telegram_tools(server: MCPServer[Any], tools: ChannelTools) -> None:
    async def telegram_send_message(chat_id: ChatId, text: Text) -> NotifyResponse:
        """
        Send a text to a Telegram chat. The text is sent as it is: no markup is read from it.

        Answers a notify_response.v1: `ok` (delivered), `accepted` (stored and still being tried: do not send it
        again, ask messenger_delivery_status), `pending_approval`, or `error` with `error_class` and `retryable`.
        """
        return await tools.send("telegram", _written(chat_id), message=text)

    async def telegram_reply_to_message(chat_id: ChatId, message_id: MessageId, text: Text) -> NotifyResponse:
        """Send a text to a Telegram chat as a reply to one message in it. Answers a notify_response.v1."""
        thread = f"{_written(chat_id)}:{_written(message_id)}"
        return await tools.answer("telegram", Intent.REPLY, sender=_written(chat_id), thread=thread, message=text)

    async def telegram_react_to_message(chat_id: ChatId, message_id: MessageId, emoji: Text) -> NotifyResponse:
        """Set one emoji as the reaction to a message in a Telegram chat. Answers a notify_response.v1."""
        thread = f"{_written(chat_id)}:{_written(message_id)}"
        return await tools.answer(
            "telegram", Intent.REACT, sender=_written(chat_id), thread=thread, message="", emoji=emoji
        )

    for tool in (telegram_send_message, telegram_reply_to_message, telegram_react_to_message):
        server.add_tool(tool, description=getdoc(tool), annotations=_SENDS)


def _add_email_tools(server: MCPServer[Any], tools: ChannelTools) -> None:
    async def email_send_message(to: Text, subject: Text, body: Text) -> NotifyResponse:
        """
        Send a plain-text e-mail to one address.

        Answers a notify_response.v1: `ok` (handed to the mail server), `accepted` (stored and still being tried: do
        not send it again, ask messenger_delivery_status), `pending_approval`, or `error` with `error_class`.
        """
        return await tools.send("email", to, subject=subject, message=body)

    async def email_reply_to_thread(
        to: Text, thread_id: Text, body: Text, subject: OptionalText = ""
    ) -> NotifyResponse:
        """
        Answer in an e-mail thread; `thread_id` is the Message-ID of the mail that is answered.

        The subject becomes `Re: …`. Answers a notify_response.v1.
        """
        return await tools.answer(
            "email", Intent.REPLY, sender=to, thread=thread_id, message=body, subject=subject or None
        )

    for tool in (email_send_message, email_reply_to_thread):
        server.add_tool(tool, description=getdoc(tool), annotations=_SENDS)


def _envelope(channel: str, intent: Intent, **content: object) -> dict[str, Any]:
    given = {name: value for name, value in content.items() if value is not None}
    delivery = {"intent": str(intent), "channel": channel, **given}
    return {"schema_version": NOTIFY_V1, "origin_butler": ORIGIN, "delivery": delivery}


def _written(number: object) -> object:
    """Chat and message ids are numbers to some callers and texts to others."""
    return str(number) if isinstance(number, int) and not isinstance(number, bool) else number
