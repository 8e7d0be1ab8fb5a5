"""What the console's pages are made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.app.inbox import Inbox
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.ports import Outbound
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings import Settings
from postroom.system.signal import Signal
from postroom.work.approvals.approvals import Approvals
from postroom.work.attention.attention import Attention
from postroom.work.questions.asking import Asking
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.memory import MemoryPeer
from postroom.world.peers.nobody import Nobody


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
