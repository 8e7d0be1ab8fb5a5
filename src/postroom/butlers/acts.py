"""What a butler's model does by the clock: a message with a moment, stored now and sent then, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from postroom.delivery.acts import MessageAct, Notify, ReminderAnswer
from postroom.kernel.acts.declaration import Call, Hints, Kind, Tool, act
from postroom.kernel.acts.reading import Whatever, judged

if TYPE_CHECKING:
    from postroom.butlers.daemon import Butler

_TEXT: Final = {"type": "string"}
_SAME: Final = Notify.model_fields
"""What a reminder says is said as in a message sent at once."""


def _as_in_notify(name: str) -> Any:
    about = _SAME[name]
    schema = about.json_schema_extra if isinstance(about.json_schema_extra, dict) else {}
    return judged(about.description or "", **schema)


@act(by=frozenset({Kind.OPERATOR, Kind.ITSELF}), tool=Tool("remind", Hints(destroys=True, open_world=True)))
class Remind(MessageAct[ReminderAnswer]):
    """
    Store a message now and have it delivered after `delay_minutes` or at `remind_at`, even if this session, the model
    or the household is restarted meanwhile.
    """

    message: Whatever = _as_in_notify("message")
    channel: Whatever = _as_in_notify("channel")
    delay_minutes: Whatever = judged("From now.", type="number", exclusiveMinimum=0)
    remind_at: Whatever = judged("RFC 3339 with an offset.", **_TEXT)
    recipient: Whatever = _as_in_notify("recipient")
    subject: Whatever = _as_in_notify("subject")
    request_context: Whatever = judged("As in notify; with it, it is a reply.", type=["object", "string"])
    format: Whatever = judged("As in notify.", enum=["plain", "markdown"], **_TEXT)

    async def do(self, call: Call[Butler]) -> Any:
        return await call.work.remind(self)
