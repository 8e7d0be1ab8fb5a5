"""What the tests of channels give: a message, and what a person does at the sandbox."""

from __future__ import annotations

from typing import Any

import aiohttp

from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message
from postroom.sandbox.server import Sandbox


def message_to(address: str, **changes: Any) -> Message:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "text": "Ship it?"}
    return Message(address=address, **(given | changes))


async def post(sandbox: Sandbox, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What a person does there, or a fault that is armed."""
    async with aiohttp.ClientSession() as http, http.post(f"{sandbox.bot_api_url}/sandbox/{path}", json=body) as answer:
        assert answer.status == 200, await answer.text()
        told: dict[str, Any] = await answer.json()
        return told
