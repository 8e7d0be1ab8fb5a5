"""Matrix as the house knows it: what is set of an account on a homeserver, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities, ThreadIdentity
from postroom.settings.accounts import AccountOptions, ChannelKind


class MatrixAccount(AccountOptions):
    """An account on a homeserver of Matrix."""

    kind: Literal["matrix"]
    """The kind of account."""
    homeserver: str
    """Where its client API is, such as https://matrix.example.org."""
    token: Secret
    """The access token of a session that nothing else uses."""
    join_invited: bool = True
    """Join the rooms that people invite it to; off: it is heard only in those it is in already."""


MATRIX: Final = Capabilities(
    formats=("plain", "markdown"),
    dedupes_for_seconds=1_800.0,  # Dendrite knows a transaction for half an hour, Synapse for a day
    max_units=15_000,  # an event has at most 65,536 bytes, and an edit holds its text twice, each with every \ doubled
    unit="bytes",
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    inbound=True,
    thread_identity=ThreadIdentity(
        place=r"![!-~]{1,254}|@[!-~]{1,254}", id=r"\$[!-~]{1,254}", words="<room_id>:<event_id>"
    ),
    spacing_seconds=1.0,
)
KIND: Final = ChannelKind(
    title="Matrix",
    guide="channels.md#matrix",
    options=MatrixAccount,
    capabilities=MATRIX,
    channel="postroom.channels.matrix.channel:Matrix",
)
