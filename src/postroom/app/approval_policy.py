"""What the settings want of approvals, and what an answer to the question about one decides."""

from __future__ import annotations

from postroom.app.address_book import Approvers
from postroom.app.store import OpenedStore
from postroom.domain.ids import IdMint
from postroom.domain.risk_and_urgency import Risk
from postroom.system.settings import Settings
from postroom.work.approvals.card import ruling_by
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.risk import RiskPolicy
from postroom.work.approvals.ruling import expiration
from postroom.world.store.approvals.approvals import StoredApprovals
from postroom.world.store.approvals.by_question import ApprovalRide


def approval_policy(settings: Settings) -> ApprovalPolicy:
    chosen = settings.approvals
    return ApprovalPolicy(
        expiry_hours=chosen.expiry_hours,
        risk=RiskPolicy(default=chosen.risk, by_channel=chosen.risk_by_channel),
        replies_pass=chosen.replies == "heard",
        most_pending_per_origin=chosen.max_pending_per_origin,
        sweep_seconds=chosen.sweep_seconds,
        phone=None if chosen.phone == "none" else Risk(chosen.phone),
    )


def approval_ride(settings: Settings, opened: OpenedStore, mint: IdMint) -> ApprovalRide:
    approvers = Approvers(settings.approvals.approvers, opened.household)
    return ApprovalRide(record=StoredApprovals(opened.database, mint.mint, expiration), rule=ruling_by(approvers))
