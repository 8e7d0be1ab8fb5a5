"""A refusal carries what the provider answered, in one shape on every channel, and nothing that is secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.channels.recording_server import recording

from postroom.channels.discord.channel import Discord
from postroom.channels.ntfy.channel import Ntfy
from postroom.channels.slack.channel import Slack
from postroom.channels.telegram.channel import Telegram
from postroom.channels.webhook.channel import Webhook
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message

TOKEN = "424242:canary-canary-canary-canary-cana"
WORDS = "the words of the message"

CHANNELS: dict[str, tuple[Callable[[str], Any], str, Any]] = {
    "telegram": (lambda url: Telegram(TOKEN, url), "1000", {"ok": False, "description": f"no, {TOKEN}"}),
    "slack": (lambda url: Slack("slack", "xoxb-canary", "", f"{url}/api"), "C1", {"ok": False, "error": "fatal"}),
    "discord": (
        lambda url: Discord("discord", "canary.bot.token", f"{url}/api/v10"),
        "42",
        {"message": "no, canary.bot.token"},
    ),
    "ntfy": (lambda url: Ntfy("ntfy", url, "tk_canary"), "topic", {"error": "no, tk_canary"}),
    "webhook": (lambda url: Webhook("webhook", f"{url}/canary", allow_private=True), "any", {"error": WORDS}),
}


@pytest.mark.parametrize("kind", list(CHANNELS))
@pytest.mark.parametrize("status", [400, 401, 403, 503])
async def test_a_refusal_keeps_status_and_words_without_secrets(kind: str, status: int) -> None:
    make, address, body = CHANNELS[kind]
    async with recording(lambda seen: (status, body)) as server:
        channel = make(server.url)
        part = channel.prepare(Message(delivery_id=DeliveryId("d1"), intent=Intent.SEND, address=address, text=WORDS))[
            0
        ]
        with pytest.raises(PostroomError) as refused:
            await channel.send(part, 5.0)
        await channel.close()

    said = refused.value.provider_response
    assert said is not None and said.startswith(f"{status}: ")
    assert "canary" not in said and WORDS not in said and "127.0.0.1" not in said
