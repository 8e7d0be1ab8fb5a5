from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from tests.programs.desk.caller import Caller

from postroom.desk.server import DESCRIPTION, INPUT_SCHEMA

SPECIFIED: dict[str, Any] = {
    "message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 10000,
        "description": "The message to display in the popup (1-10,000 characters)",
    },
    "wait_for_response": {
        "type": "boolean",
        "default": True,
        "description": "Whether to wait for user input. If false, just displays the message.",
    },
    "timeout": {
        "type": "number",
        "minimum": 5,
        "maximum": 300,
        "description": "Optional timeout in seconds for user response (5-300 seconds, default: no timeout)",
    },
    "title": {"type": "string", "default": "VoiceMode", "description": "Window title for the popup"},
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
        "enum": ["auto", "light", "dark"],
        "default": "auto",
        "description": "Color theme for the popup. 'auto' matches system setting.",
    },
}


@pytest.mark.requirement("popup:schema")
def test_a_client_sees_the_specified_tool(desk: Caller) -> None:
    [tool] = desk.tools()
    assert tool.name == "notify"
    assert tool.description == DESCRIPTION
    assert tool.input_schema == INPUT_SCHEMA
    assert tool.output_schema is None


@pytest.mark.requirement("popup:schema")
def test_the_schema_is_the_specified_one_and_more_is_optional() -> None:
    assert DESCRIPTION == (
        "Display a message in a popup window and optionally wait for user text response. "
        "Use this for silent, text-based conversation instead of voice."
    )
    assert {name: INPUT_SCHEMA["properties"][name] for name in SPECIFIED} == SPECIFIED
    assert INPUT_SCHEMA["required"] == ["message"]
    assert INPUT_SCHEMA["type"] == "object"
    jsonschema_rs.meta.validate(INPUT_SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "field", "limits"),
    [
        ({"message": ""}, "message", "1 to 10000"),
        ({"message": "private " * 2000}, "message", "1 to 10000"),
        ({"message": "Hi", "timeout": 4}, "timeout", "5 to 300"),
        ({"message": "Hi", "timeout": 301}, "timeout", "5 to 300"),
        ({"message": "Hi", "theme": "private"}, "theme", "auto, light, dark"),
        ({}, "message", "1 to 10000"),
    ],
    ids=["empty", "long", "short wait", "long wait", "theme", "missing"],
)
@pytest.mark.requirement("popup:message-limits")
@pytest.mark.requirement("popup:timeout-limits")
@pytest.mark.requirement("popup:theme-values")
def test_bad_input_is_an_error_that_names_field_and_range(
    desk: Caller, arguments: dict[str, Any], field: str, limits: str
) -> None:
    result = desk.call_raw(arguments)
    assert result.is_error
    [content] = result.content
    assert content.text.startswith(f"Error: {field}: ")  # type: ignore[union-attr]
    assert limits in content.text  # type: ignore[union-attr]
    assert "private" not in content.text  # type: ignore[union-attr]
