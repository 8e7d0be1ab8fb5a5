"""What of a household runs in this process, and where it is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from postroom.app.inbox import Inbox
from postroom.app.questions import AskingParts
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.system.signal import Signal
from postroom.work.attention.attention import Attention


@dataclass(slots=True, kw_only=True)
class RunningHousehold:
    """What runs where."""

    settings: Settings
    parts: tuple[str, ...]
    loops: Loops
    addresses: dict[str, str] = field(default_factory=dict)
    inbox: Inbox | None = None
    asking: AskingParts | None = None
    attention: Attention | None = None
    links_due: Signal = field(default_factory=Signal)  # rung for the one who sends links to the console
    sign_in: Callable[[], Awaitable[str]] | None = None  # a new link to the console, for the operator
