"""The `notify` tool: its schema, its words and its answers."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from postroom.domain.errors import ValidationError
from postroom.programs.desk.desk import Desk
from postroom.programs.desk.outcome import FAILURES, PopupEnding, PopupOutcome, answer
from postroom.programs.desk.question import (
    DEFAULT_TITLE,
    MESSAGE_LIMIT,
    OPTION_LENGTH,
    OPTIONS_LIMIT,
    THEMES,
    TIMEOUT_SECONDS,
    PopupQuestion,
    parse,
)
from postroom.system.mcp_sdk.tools import Tool, unchecked_tool

DESCRIPTION = (
    "Display a message in a popup window and optionally wait for user text response. "
    "Use this for silent, text-based conversation instead of voice."
)

INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": MESSAGE_LIMIT,
            "description": "The message to display in the popup (1-10,000 characters)",
        },
        "wait_for_response": {
            "type": "boolean",
            "default": True,
            "description": "Whether to wait for user input. If false, just displays the message.",
        },
        "timeout": {
            "type": "number",
            "minimum": TIMEOUT_SECONDS[0],
            "maximum": TIMEOUT_SECONDS[1],
            "description": "Optional timeout in seconds for user response (5-300 seconds, default: no timeout)",
        },
        "title": {"type": "string", "default": DEFAULT_TITLE, "description": "Window title for the popup"},
        "show_history": {
            "type": "boolean",
            "default": True,
            "description": "Whether to show recent conversation history in the popup",
        },
        "chime_enabled": {
            "type": "boolean",
            "default": False,
            "description": "Whether to play sound feedback (disabled by default for silent use)",
        },
        "theme": {
            "type": "string",
            "enum": list(THEMES),
            "default": "auto",
            "description": "Color theme for the popup. 'auto' matches system setting.",
        },
        "options": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": OPTION_LENGTH},
            "minItems": 1,
            "maxItems": OPTIONS_LIMIT,
            "uniqueItems": True,
            "description": "Answers offered as buttons. The user can still type a reply, alone or with a choice.",
        },
        "allow_multiple": {
            "type": "boolean",
            "default": False,
            "description": "Whether several options can be chosen. If false, choosing one submits it.",
        },
        "secret": {
            "type": "boolean",
            "default": False,
            "description": "Whether the reply is confidential: it is hidden while typed and never logged or kept.",
        },
        "project": {
            "type": "string",
            "default": "",
            "description": "A label shown in the popup that tells the user which project or task is asking",
        },
    },
    "required": ["message"],
}


def notify_tool(desk: Desk) -> Tool:
    """Takes arguments as they came: `question.parse` names every wrong field, and never repeats what stood in it."""

    async def notify(arguments: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        try:
            question = parse(arguments)
        except ValidationError as error:
            return _text(f"Error: {error.message}", is_error=True)

        async def progress(seconds: float) -> None:
            await context.report_progress(round(seconds), question.timeout, "Waiting for the user's response")

        return result_of(await desk.notify(question, progress), question)

    return unchecked_tool(
        notify,
        name="notify",
        description=DESCRIPTION,
        parameters=INPUT_SCHEMA,
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
    )


def result_of(ending: PopupEnding, question: PopupQuestion) -> CallToolResult:
    result = _text(answer(ending, question.timeout), is_error=ending.outcome in FAILURES)
    if question.options and ending.outcome is PopupOutcome.SUBMITTED:
        result.structured_content = {"options": list(ending.chosen), "text": ending.text}
    return result


def _text(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
