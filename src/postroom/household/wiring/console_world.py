"""What the console's pages are made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.approvals.approvals import Approvals
from postroom.attention.attention import Attention
from postroom.household.peers import MemoryPeer, Nobody
from postroom.household.wiring.inbox import Inbox
from postroom.household.wiring.store import OpenedStore
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.ids import IdMint
from postroom.message.channel import Outbound
from postroom.questions.questions import Asking
from postroom.settings import Settings
from postroom.settings.peer import HttpPeer


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleWorld:
    """What the pages are made from."""

    settings: Settings
    store: OpenedStore
    inbox: Inbox
    asking: Asking
    attention: Attention
    tokens: TokenFile
    clock: Clock
    messenger: MemoryPeer | HttpPeer | Nobody
    mint: IdMint
    outbound: Outbound | None = None  # the household's own way out
    approvals: Approvals | None = None  # of the messenger, where it runs in this process
    sandbox_url: str | None = None  # of its page, in sandbox mode
    silent: str = ""  # why no butler can answer people
    pages_url: str = ""  # where people reach the console
    links_due: Signal = field(default_factory=Signal)  # rung for the one who sends sign-in links
