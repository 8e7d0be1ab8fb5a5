"""What has become of a notice, for the agent that sent it and for no other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from postroom.domain.errors import ErrorClass, error_of
from postroom.domain.notice_states import NoticeState
from postroom.domain.outcome import AnswerStatus, Outcome
from postroom.work.attention.attention import Attention
from postroom.work.attention.views import NoticeView

_S, _A = NoticeState, AnswerStatus
_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_FAILED: Final = {
    _S.UNDELIVERABLE: "no channel could deliver it",
    _S.REFUSED: "a person refused it",
}
_ANSWERS: Final = {
    **dict.fromkeys((_S.RELEASED, _S.DIGESTING), _A.ACCEPTED),
    **dict.fromkeys((_S.SENT, _S.DIGESTED, _S.WAITING, _S.ACKNOWLEDGED, _S.UNANSWERED), _A.OK),
    **dict.fromkeys(_FAILED, _A.ERROR),
    _S.MUTED: _A.MUTED,
}


def is_notice_id(text: object) -> bool:
    return isinstance(text, str) and _ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeOutcomes:
    attention: Attention

    async def of(self, sender: str, notice_id: str) -> Outcome | None:
        """None for what is not the sender's, as for what never was."""
        view = await self.attention.notice(notice_id)
        return outcome_of_notice(view) if view is not None and view.agent == sender else None


def outcome_of_notice(view: NoticeView) -> Outcome:
    """What is not shown yet is deferred, and what another notice stands for: its reasons say which."""
    status, failed = _ANSWERS.get(view.state, _A.DEFERRED), _FAILED.get(view.state)
    return Outcome(
        status=status,
        request_id=None,
        channel=view.channel,
        notice_id=view.id,
        notice_state=str(view.state),
        urgency=view.standing.lowered,
        until_us=view.until_us,
        reasons=tuple(dict.fromkeys(str(one.reason) for one in view.reasons)),
        error=error_of(ErrorClass.UNAVAILABLE, failed) if failed else None,
    )
