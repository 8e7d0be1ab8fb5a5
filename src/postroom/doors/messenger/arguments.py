"""
Arguments as a model sees them, and as they reach us.

The schema says what is right. What is wrong still reaches the tool, so that the
answer is one of ours instead of the framework's. Texts must be declared `str`:
the framework reads any other argument that looks like JSON as JSON, and a
message such as `[1, 2]` would arrive as a list.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import SkipValidation, WithJsonSchema

from postroom.domain.delivery import Intent, Status
from postroom.domain.enquiry import DEFAULT_LIMIT, MAX_LIMIT, GroupBy
from postroom.domain.errors import ErrorClass
from postroom.system.settings.shipped import SPOKEN


def _optional(**schema: Any) -> WithJsonSchema:
    told = {"description": schema.pop("description")} if "description" in schema else {}
    return WithJsonSchema({"anyOf": [schema, {"type": "null"}], **told})


_TIME = "RFC 3339 with an offset, such as 2026-01-31T08:00:00Z; included in the range"

Uuid = Annotated[Any, WithJsonSchema({"type": "string", "format": "uuid"})]
Text = Annotated[str, SkipValidation, WithJsonSchema({"type": "string"})]
OptionalText = Annotated[str, SkipValidation, _optional(type="string")]
Word = Annotated[Any, _optional(type="string")]
ChannelName = Annotated[Any, _optional(type="string", description=f"the name of a channel, such as {SPOKEN}")]
IntentName = Annotated[Any, _optional(type="string", enum=[*Intent])]
StatusName = Annotated[Any, _optional(type="string", enum=[*Status])]
ErrorClassName = Annotated[Any, _optional(type="string", enum=[*ErrorClass])]
GroupName = Annotated[Any, _optional(type="string", enum=[*GroupBy])]
ScopeName = Annotated[Any, _optional(type="string", enum=["bot", "user"])]
Moment = Annotated[Any, _optional(type="string", format="date-time", description=_TIME)]
Limit = Annotated[
    Any, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT})
]
Cursor = Annotated[Any, _optional(type="string", description="next_cursor of the page before, for the next page")]
Flag = Annotated[Any, WithJsonSchema({"type": "boolean"})]
Envelope = Annotated[Any, WithJsonSchema({"type": "object", "description": "a notify.v1 envelope"})]
ChatId = Annotated[
    Any, WithJsonSchema({"type": ["string", "integer"], "description": "a Telegram chat id or @username"})
]
MessageId = Annotated[
    Any, WithJsonSchema({"type": ["string", "integer"], "description": "the number of a message in that chat"})
]
