"""`send_notification`, called in this process as a program of a person or as the operator for anybody."""

from __future__ import annotations

from typing import Any

from postroom.inbox.acts import SendNotification
from postroom.inbox.inbox import Inbox
from postroom.inbox.model import CONVERSATION_META, CORRELATION_META, USER_META
from postroom.kernel.acts.declaration import Call
from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import OPERATOR, Principal, Role


async def sent(
    inbox: Inbox,
    message: Any = "Hello",
    user_id: Any = "ada",
    *,
    agent: str | None = None,
    conversation_id: str | None = None,
    correlation_id: str | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """The tool's answer, also when it is a refusal."""
    who = OPERATOR if agent is None else Principal(Role.PROGRAM, agent, person=user_id)
    meta = {USER_META: user_id, CONVERSATION_META: conversation_id, CORRELATION_META: correlation_id}
    try:
        one, _ = read(SendNotification, {"message": message, **asked}, SendNotification.declared.tool)
        return dict(await one.do(Call(work=inbox, caller=who, meta=meta)))
    except PostroomError as error:
        return SendNotification.refused(error)
