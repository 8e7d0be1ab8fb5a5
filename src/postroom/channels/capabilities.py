"""The shipped kinds of channels and what they can do today, known without credentials."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from postroom.message.channel import Capabilities, KnownChannels, ThreadIdentity

BOTH: Final = ("plain", "markdown")
_MB: Final = 1_000_000
_KIB: Final = 1_024
_MIB: Final = 1_024 * _KIB
TELEGRAM: Final = Capabilities(
    formats=BOTH,
    max_units=4096,
    unit="utf16",
    buttons=True,
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    files=True,
    most_files=10,
    most_file_bytes=50 * _MB,
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
    files=True,
    most_files=20,
    most_files_bytes=18 * _MB,  # on the way it grows by a third and more, and many servers take no more than 25 MB
    inbound=True,
    comes_back=True,
    style="letter",
    timeout_seconds=45.0,
    bot_per_minute=20,
    user_per_minute=10,
)
"""With a mailbox to read, and a server that proves who wrote; without them nothing is heard."""
SLACK: Final = Capabilities(
    formats=BOTH,
    reconciles=True,
    max_units=3000,
    unit="utf16",
    buttons=True,
    most_buttons=25,
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    threads=True,
    files=True,
    most_files=10,
    most_file_bytes=100 * _MB,  # Slack itself takes a gigabyte; this is held in memory while it is sent
    inbound=True,
    thread_identity=ThreadIdentity(
        place=r"[CDGUW][A-Z0-9]{1,30}",
        id=r"\d{1,12}\.\d{1,6}",
        words="<channel>:<ts>",
    ),
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
    files=True,
    most_files=10,
    most_file_bytes=10 * _MIB,
    most_files_bytes=24 * _MIB,  # a request has at most 25, with the message
    inbound=True,
    thread_identity=ThreadIdentity(place=r"\d{1,20}|user:\d{1,20}", id=r"\d{1,20}", words="<channel_id>:<message_id>"),
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
    deletes=True,
    files=True,
    most_files=10,
    most_file_bytes=15 * _MIB,  # of a server as it is shipped; ntfy.sh takes 2 MB and says so
    inbound=True,
    style="letter",
)
"""With a topic for answers; without one nothing is heard, and a button can only open a link."""
WEBHOOK: Final = Capabilities(
    formats=BOTH,
    dedupes_for_seconds=86_400.0,  # what we ask of whoever receives them; docs/how-to/webhook-channel.md
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    files=True,
    most_files=10,
    most_file_bytes=256 * _KIB,
    most_files_bytes=_MIB,
)
WEBPUSH: Final = Capabilities(
    dedupes_for_seconds=86_400.0,  # by the device: our own app shows each delivery once, and remembers which
    max_units=2400,  # of the 4,096 bytes that a push service takes; more is cut, and the page behind it has the rest
    unit="bytes",
    buttons=True,
    most_buttons=2,
    edits=True,
    own_app=True,
    style="letter",
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
        "webpush": WEBPUSH,
        "apprise": APPRISE,
    }
)
