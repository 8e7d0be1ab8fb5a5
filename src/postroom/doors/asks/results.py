"""What the tools with which agents ask answer: in words, as text, and as structure."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult, TextContent

from postroom.domain.errors import PostroomError
from postroom.domain.strict_json import strict_json
from postroom.doors.asks.refusals import refusal
from postroom.doors.asks.render import document
from postroom.work.questions.view import QuestionView


def question_result(view: QuestionView) -> CallToolResult:
    shown = document(view)
    return result(f"Question {shown['ask_id']} is {shown['status']}. {shown['next']}", shown)


def refused(error: PostroomError) -> CallToolResult:
    told = refusal(error)
    return result(f"Nothing was done. {told['error_message']}", told)


def result(said: str, shown: dict[str, Any]) -> CallToolResult:
    """In words what to do next; and the whole once more as text, for clients that show a model nothing else."""
    content = [TextContent(type="text", text=text) for text in (said, strict_json(shown, ensure_ascii=False))]
    return CallToolResult(content=list(content), structured_content=shown)
