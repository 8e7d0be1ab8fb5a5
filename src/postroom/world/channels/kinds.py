"""The shipped kinds of channels and what they can do today, known without credentials."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from postroom.domain.capabilities import Capabilities, KnownChannels, ThreadIdentity

TELEGRAM: Final = Capabilities(
    max_units=4096,
    unit="utf16",
    buttons=True,
    edits=True,
    reacts=True,
    replies=True,
    inbound=True,
    thread_identity=ThreadIdentity(place=r"-?\d{1,20}|@\w{1,64}", id=r"\d{1,20}", words="<chat_id>:<message_id>"),
    timeout_seconds=15.0,
    spacing_seconds=1.0,
    bot_per_minute=30,
    user_per_minute=20,
)
EMAIL: Final = Capabilities(
    replies=True,
    threads=True,
    style="letter",
    timeout_seconds=45.0,
    bot_per_minute=20,
    user_per_minute=10,
)
WEBHOOK: Final = Capabilities(
    dedupes_for_seconds=86_400.0,  # what we ask of whoever receives them; docs/how-to/webhook-channel.md
    edits=True,
    reacts=True,
    replies=True,
)
APPRISE: Final = Capabilities(receipt=False)
KINDS: Final[KnownChannels] = MappingProxyType(
    {"telegram": TELEGRAM, "email": EMAIL, "webhook": WEBHOOK, "apprise": APPRISE}
)
