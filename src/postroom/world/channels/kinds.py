"""The shipped kinds of channels and what they can do today, known without credentials."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from postroom.domain.capabilities import Capabilities, KnownChannels, ThreadIdentity

BOTH: Final = ("plain", "markdown")
TELEGRAM: Final = Capabilities(
    formats=BOTH,
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
    formats=BOTH,
    replies=True,
    threads=True,
    inbound=True,
    comes_back=True,
    style="letter",
    timeout_seconds=45.0,
    bot_per_minute=20,
    user_per_minute=10,
)
"""With a mailbox to read, and a server that proves who wrote; without them nothing is heard."""
SLACK: Final = Capabilities(
    reconciles=True,
    max_units=3000,
    unit="utf16",
    buttons=True,
    most_buttons=25,
    edits=True,
    reacts=True,
    replies=True,
    threads=True,
    inbound=True,
    thread_identity=ThreadIdentity(
        place=r"[CDGUW][A-Z0-9]{1,30}",
        id=r"\d{1,12}\.\d{1,6}",
        words="<channel>:<ts>",
    ),
    timeout_seconds=15.0,
    spacing_seconds=1.0,
)
"""With an app token; without one nothing is heard."""
DISCORD: Final = Capabilities(
    formats=BOTH,
    dedupes_for_seconds=120.0,  # "the past few minutes", says Discord; two of them is the careful reading
    max_units=2000,
    unit="utf16",
    buttons=True,
    most_buttons=25,
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    threads=True,
    inbound=True,
    thread_identity=ThreadIdentity(place=r"\d{1,20}|user:\d{1,20}", id=r"\d{1,20}", words="<channel_id>:<message_id>"),
    timeout_seconds=15.0,
    spacing_seconds=1.0,
    bot_per_minute=30,
    user_per_minute=20,
)
NTFY: Final = Capabilities(
    reconciles=True,
    max_units=4095,  # the server takes the 4,096th byte for the sign of a file
    unit="bytes",
    buttons=True,
    most_buttons=3,
    edits=True,
    inbound=True,
    style="letter",
    timeout_seconds=15.0,
)
"""With a topic for answers; without one nothing is heard, and a button can only open a link."""
WEBHOOK: Final = Capabilities(
    formats=BOTH,
    dedupes_for_seconds=86_400.0,  # what we ask of whoever receives them; docs/how-to/webhook-channel.md
    edits=True,
    reacts=True,
    replies=True,
)
APPRISE: Final = Capabilities(receipt=False)
KINDS: Final[KnownChannels] = MappingProxyType(
    {
        "telegram": TELEGRAM,
        "email": EMAIL,
        "slack": SLACK,
        "discord": DISCORD,
        "ntfy": NTFY,
        "webhook": WEBHOOK,
        "apprise": APPRISE,
    }
)
