"""What the messenger's tools work with: the plane itself, and the record it wrote."""

from __future__ import annotations

from collections.abc import Callable

from postroom.app.address_book import Approvers
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.doors.guard.http import Verifier
from postroom.doors.messenger.channel_tools import ChannelTools
from postroom.doors.messenger.correction_tools import CorrectionDesk
from postroom.doors.messenger.execute import Execute
from postroom.doors.messenger.server import MessengerParts
from postroom.system.settings import Settings
from postroom.work.approvals.approvals import Approvals
from postroom.work.attention.attention import Attention
from postroom.work.attention.notice_outcome import NoticeOutcomes
from postroom.work.delivery.corrections import Corrections
from postroom.work.delivery.dead_letters import DeadLetters
from postroom.work.delivery.dry_run import DryRun
from postroom.work.delivery.health import DeliveryHealth
from postroom.work.delivery.plane import Plane
from postroom.work.delivery.sender_status import SenderStatus
from postroom.work.delivery.tracking import Tracking
from postroom.world.store.deliveries.corrections import StoredCorrections
from postroom.world.store.deliveries.dead_letters import StoredDeadLetters
from postroom.world.store.deliveries.search import StoredDeliveries
from postroom.world.store.deliveries.statistics import StoredFigures


def messenger_parts(
    settings: Settings,
    store: OpenedStore,
    plane: Plane,
    verifier: Verifier,
    clock: Clock,
    mint: IdMint,
    corrections: CorrectionDesk,
    approvals: Approvals | None = None,
    attention: Attention | None = None,
) -> MessengerParts:
    """The same limits, circuits, book and channels the plane decides with: a figure shown is the figure used."""
    path, names = plane.acceptance, frozenset(plane.known_channels)
    wait_seconds = settings.delivery.notify_wait_seconds
    return MessengerParts(
        execute=Execute(
            plane=plane, status=sender_status(store, plane, attention), clock=clock, corrections=corrections
        ),
        channel_tools=ChannelTools(plane=plane, clock=clock, mint=mint.mint, wait_seconds=wait_seconds),
        tracking=Tracking(record=StoredDeliveries(store.database), channel_names=names),
        dead_letters=DeadLetters(
            record=StoredDeadLetters(store.database),
            channels=path.channels,
            channel_names=names,
            hand_over=plane.dispatcher.wake,
            clock=clock,
            mint=mint.mint,
        ),
        health=DeliveryHealth(
            record=StoredFigures(store.database),
            limits=path.limits,
            breakers=path.breakers,
            policy=path.policy,
            channels=path.channels,
            channel_names=names,
            clock=clock,
        ),
        dry_run=DryRun(
            acceptance=path,
            known_channels=plane.known_channels,
            clock=clock,
            mint=mint.mint,
            attention=attention,
        ),
        verifier=verifier,
        approvals=approvals,
        approvers=Approvers(settings.approvals.approvers, store.household),
    )


def correction_desk(
    settings: Settings, store: OpenedStore, plane: Plane, closed: Callable[[], None], mint: IdMint
) -> CorrectionDesk:
    """`closed` wakes whoever closes the cards of what needs no answer any more."""
    return CorrectionDesk(
        corrections=Corrections(plane=plane, record=StoredCorrections(store.database, mint.mint), closed=closed),
        clock=plane.acceptance.clock,
        mint=mint.mint,
        wait_seconds=settings.delivery.notify_wait_seconds,
    )


def sender_status(store: OpenedStore, plane: Plane, attention: Attention | None = None) -> SenderStatus:
    return SenderStatus(
        record=StoredDeliveries(store.database),
        replays=plane.acceptance.ledger,
        notices=NoticeOutcomes(attention=attention) if attention is not None else None,
    )
