"""What becomes of an approval when the message it is about is worded anew or withdrawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, delete, select, update

from postroom.domain.approval import ActionStatus, ApprovalEvent, ApprovalEventType, StandingRule, content_of
from postroom.domain.approval_question import subject_of
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import NewDelivery
from postroom.domain.question_change import ended
from postroom.domain.question_states import QuestionMove
from postroom.domain.seams import ParkingTerms
from postroom.world.store.approvals import steps
from postroom.world.store.approvals.rows import insert_event
from postroom.world.store.questions.steps import end_question, hold_questions
from postroom.world.store.tables.approvals import pending_actions

WITHDRAWN: Final = "withdrawn"
_PENDING: Final = str(ActionStatus.PENDING)

Mint = Callable[[int], str]


def hold_action(connection: Connection, action_id: DeliveryId) -> str | None:
    """Its status, under its lock: who decides just now comes before, or finds another text."""
    asked = select(pending_actions.c.status).where(pending_actions.c.id == action_id).with_for_update()
    status: str | None = connection.execute(asked).scalar()
    return status


def park_again(
    connection: Connection,
    mint: Mint,
    new: NewDelivery,
    terms: ParkingTerms,
    *,
    was: str | None,
    actor: str,
    at_us: int,
) -> bool:
    """
    The approval begins anew with the new text; True when a standing rule has agreed to it already.

    The question about the old text ends, so that no card of it decides anything, and the people are asked again.
    """
    close_cards(connection, new.id, QuestionMove.SUPERSEDE, at_us)
    if was != _PENDING:  # it comes back from those that may be sent
        steps.refuse_flood(connection, new.agent, terms.parking.most_pending)
    rules = terms.choose(steps.all_rules(connection))
    rule = next((one for one in rules if steps.use(connection, one, at_us)), None)
    values = _action(new, terms, rule, at_us)
    if was == _PENDING:
        connection.execute(update(pending_actions).where(pending_actions.c.id == new.id).values(values))
    else:  # a decision is taken once: the old one stays in the audit trail, and another is to be taken
        connection.execute(delete(pending_actions).where(pending_actions.c.id == new.id))
        connection.execute(pending_actions.insert().values(id=new.id, origin_butler=new.agent, **values))
    kept = {"content_hash": values["content_hash"], "risk": values["risk"]}
    _log(connection, mint, ApprovalEventType.ACTION_REVISED, new.id, actor, at_us, metadata=kept)
    if rule is not None:
        kind = ApprovalEventType.ACTION_AUTO_APPROVED
        _log(connection, mint, kind, new.id, f"rule:{rule.id}", at_us, rule_id=rule.id, metadata=kept)
    return rule is not None


def close_action(connection: Connection, mint: Mint, action_id: DeliveryId, *, actor: str, at_us: int) -> None:
    """There is nothing left to decide; its cards say so."""
    change = update(pending_actions).where(pending_actions.c.id == action_id, pending_actions.c.status == _PENDING)
    over = {"status": str(ActionStatus.EXPIRED), "decided_by": actor, "decided_at": at_us, "decision_reason": WITHDRAWN}
    if connection.execute(change.values(over)).rowcount:
        _log(connection, mint, ApprovalEventType.ACTION_WITHDRAWN, action_id, actor, at_us)
    close_cards(connection, action_id, QuestionMove.CANCEL, at_us)


def close_cards(connection: Connection, action_id: DeliveryId, move: QuestionMove, at_us: int) -> None:
    for question in hold_questions(connection, [str(subject_of(action_id))]):
        end_question(connection, question, ended(question, move, at_us))


def _action(new: NewDelivery, terms: ParkingTerms, rule: StandingRule | None, at_us: int) -> dict[str, Any]:
    return {
        "content_hash": content_of(new).hash,
        "risk": str(terms.parking.risk),
        "status": str(ActionStatus.APPROVED if rule else ActionStatus.PENDING),
        "requested_at": at_us,
        "expires_at": terms.parking.expires_at_us,
        "asked_at": None,
        "decided_by": f"rule:{rule.id}" if rule else None,
        "decided_at": at_us if rule else None,
        "decision_reason": None,
        "approval_rule_id": rule.id if rule else None,
        "edited": False,
    }


def _log(
    connection: Connection,
    mint: Mint,
    kind: ApprovalEventType,
    action_id: DeliveryId,
    actor: str,
    at_us: int,
    **about: Any,
) -> None:
    event = ApprovalEvent(id=mint(at_us), type=kind, actor=actor, at_us=at_us, action_id=action_id, **about)
    insert_event(connection, event)
