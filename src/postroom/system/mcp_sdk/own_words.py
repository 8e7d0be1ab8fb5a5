"""What is wrong with a tool's call, in our words: the SDK's name the tool first and add the library's text."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from postroom.domain.errors import Code, PostroomError, sentence
from postroom.domain.field_words import field_error
from postroom.domain.hints import HINTS, hint_of

_MOST_FIELDS: Final = 20
_MOST_SAID: Final = 500


class OwnWordsServer(MCPServer[Any]):
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise in_our_words(error) from error.__cause__


def in_our_words(error: ToolError) -> ToolError:
    """
    Of arguments it is said which are wrong, without what was in them. Of what nobody foresaw nothing is said but that
    it is a fault of ours; the SDK logs what it was.
    """
    cause = error.__cause__
    if isinstance(error, UnexpectedToolError):
        return UnexpectedToolError(_fault(cause))
    if isinstance(cause, ValidationError):
        return ToolError(sentence([field_error(item) for item in cause.errors()[:_MOST_FIELDS]]))
    return ToolError(str(cause or error)[:_MOST_SAID])


def _fault(cause: BaseException | None) -> str:
    if isinstance(cause, PostroomError):
        return f"{cause.message[:_MOST_SAID]}. {hint_of(cause)}"
    return HINTS[Code.INTERNAL]
