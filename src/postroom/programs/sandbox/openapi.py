"""The sandbox's control routes as an OpenAPI 3.1 document."""

from __future__ import annotations

from typing import Any

from postroom.programs.sandbox.faults import FaultChannel, Mode

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_TEXT_OR_NOTHING = {"type": ["string", "null"]}
_CHAT = {"type": ["string", "integer"], "description": "A chat number or an @name."}


def _object(properties: dict[str, Any], required: list[str], *, closed: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


def _answer(properties: dict[str, Any]) -> dict[str, Any]:
    properties = {"sandbox": {"const": True}, **properties}
    return _object(properties, list(properties))


def _list_of(name: str, schema: str) -> dict[str, Any]:
    return _answer({name: {"type": "array", "items": {"$ref": f"#/components/schemas/{schema}"}}, "count": _NUMBER})


def _operation(
    operation_id: str,
    summary: str,
    answer: dict[str, Any],
    *,
    body: dict[str, Any] | None = None,
    window: bool = False,
    chat: bool = False,
) -> dict[str, Any]:
    checked = body is not None or window
    operation: dict[str, Any] = {
        "operationId": operation_id,
        "summary": summary,
        "responses": {
            "200": _json("Done.", answer),
            "403": {"$ref": "#/components/responses/Forbidden"},
            **({"422": {"$ref": "#/components/responses/Invalid"}} if checked else {}),
            **({"413": {"$ref": "#/components/responses/TooLarge"}} if body else {}),
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if window:
        names = ["Since", "Limit", *(["Chat"] if chat else [])]
        operation["parameters"] = [{"$ref": f"#/components/parameters/{name}"} for name in names]
    return operation


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


_FLAG = {"type": ["boolean", "null"]}
_SENT = {
    "type": ["array", "null"],
    "maxItems": 10,
    "items": _object(
        {
            "name": _TEXT,
            "media_type": _TEXT_OR_NOTHING,
            "data": {"type": "string", "contentEncoding": "base64"},
            "as": _TEXT_OR_NOTHING,
        },
        ["name", "data"],
        closed=True,
    ),
}
_TYPED = _object(
    {
        "chat_id": _CHAT,
        "text": {"type": "string", "maxLength": 4096},
        "reply_to_message_id": {"type": ["integer", "string", "null"], "minimum": 1},
        "from_name": {"type": ["string", "null"], "maxLength": 64},
        "from_id": {"type": ["integer", "string", "null"], "minimum": 1},
        "from_is_bot": _FLAG,
        "forwarded": _FLAG,
        "sender_chat_id": {"type": ["integer", "string", "null"]},
        "via_bot": _FLAG,
        "files": _SENT,
    },
    ["chat_id"],
    closed=True,
)
_TAPPED = _object(
    {"chat_id": _CHAT, "message_id": _NUMBER, "emoji": _TEXT_OR_NOTHING}, ["chat_id", "message_id"], closed=True
)
_PRESSED = _object(
    {"chat_id": _CHAT, "message_id": _NUMBER, "data": {"type": "string", "minLength": 1, "maxLength": 64}},
    ["chat_id", "message_id", "data"],
    closed=True,
)
_PRESSED_BUTTON = _object(
    {
        "message_id": {"type": ["integer", "string"], "minimum": 1},
        "button": {
            "type": "string",
            "minLength": 1,
            "maxLength": 256,
            "description": "What stands on it, or its callback data.",
        },
        "from_id": {"type": ["integer", "string", "null"], "minimum": 1},
    },
    ["message_id", "button"],
    closed=True,
)
_AWAY = _object({"seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 604800}}, ["seconds"], closed=True)
_WRITTEN = _object(
    {
        "from": _TEXT,
        "to": _TEXT,
        "subject": _TEXT_OR_NOTHING,
        "body": _TEXT,
        "in_reply_to": _TEXT_OR_NOTHING,
        "headers": {"type": ["object", "null"], "maxProperties": 50, "additionalProperties": _TEXT},
        "attachments": _SENT,
    },
    ["from", "to", "body"],
    closed=True,
)

_FILES = {"type": "array", "items": {"$ref": "#/components/schemas/File"}}
_SCHEMAS: dict[str, Any] = {
    "TelegramMessage": _object(
        {
            "message_id": _NUMBER,
            "chat_id": _TEXT,
            "text": _TEXT,
            "date": _NUMBER,
            "received_at": {"type": "string", "format": "date-time"},
            "reply_to_message_id": {"type": ["integer", "null"]},
            "reactions": {"type": "array", "items": _TEXT},
            "earlier_texts": {"type": "array", "items": _TEXT},
            "is_deleted": {"type": "boolean"},
            "parse_mode": _TEXT_OR_NOTHING,
            "entities": {"type": ["array", "null"], "items": {"type": "object"}},
            "reply_markup": {"type": ["object", "null"]},
            "from_name": _TEXT_OR_NOTHING,
            "from_id": {"type": ["integer", "null"]},
            "edits": {"type": "array", "items": {"$ref": "#/components/schemas/Edit"}},
            "presses": {"type": "array", "items": {"$ref": "#/components/schemas/Callback"}},
            "attachments": _FILES,
        },
        ["message_id", "chat_id", "text", "date", "reply_to_message_id", "reactions"],
    ),
    "File": _object(
        {"name": _TEXT, "media_type": _TEXT, "size": _NUMBER, "sha256": _TEXT}, ["name", "media_type", "size", "sha256"]
    ),
    "Edit": _object(
        {"text": _TEXT, "reply_markup": {"type": ["object", "null"]}, "edited_at": _TEXT_OR_NOTHING},
        ["text", "reply_markup", "edited_at"],
    ),
    "Reaction": _object(
        {
            "reaction_id": _NUMBER,
            "chat_id": _TEXT,
            "message_id": _NUMBER,
            "emoji": _TEXT_OR_NOTHING,
            "from": {"enum": ["bot", "person"]},
            "date": _NUMBER,
        },
        ["reaction_id", "chat_id", "message_id", "emoji", "from", "date"],
    ),
    "Action": _object({"chat_id": _TEXT, "action": _TEXT}, ["chat_id", "action"]),
    "Callback": _object(
        {
            "callback_query_id": _TEXT,
            "chat_id": _TEXT,
            "message_id": _NUMBER,
            "data": _TEXT,
            "date": _NUMBER,
            "answered": {"type": "boolean"},
            "answer": _TEXT_OR_NOTHING,
            "alert": {"type": "boolean"},
            "from_id": {"type": ["integer", "null"]},
        },
        ["callback_query_id", "chat_id", "message_id", "data", "answered"],
    ),
    "Email": _object(
        {
            "id": _NUMBER,
            "from": _TEXT,
            "to": _TEXT,
            "recipients": {"type": "array", "items": _TEXT},
            "subject": _TEXT,
            "body": _TEXT,
            "message_id": _TEXT_OR_NOTHING,
            "in_reply_to": _TEXT_OR_NOTHING,
            "references": _TEXT_OR_NOTHING,
            "headers": {"type": "object", "additionalProperties": _TEXT},
            "attachments": _FILES,
            "received_at": {"type": "string", "format": "date-time"},
        },
        ["id", "from", "to", "subject", "body", "message_id", "in_reply_to", "references", "headers", "received_at"],
    ),
    "Fault": {
        **_object(
            {
                "channel": {"enum": [one.value for one in FaultChannel]},
                "times": {"type": "integer", "minimum": -1, "default": 1, "description": "-1 means until cleared."},
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "retry_after": {"type": "integer", "minimum": 0, "maximum": 86400},
                "delay_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
                "mode": {"enum": [one.value for one in Mode]},
            },
            ["channel"],
            closed=True,
        ),
        "oneOf": [{"required": ["status"]}, {"required": ["delay_seconds"]}, {"required": ["mode"]}],
        "dependentRequired": {"retry_after": ["status"]},
    },
    "Error": _object(
        {
            "sandbox": {"const": True},
            "status": {"const": "error"},
            "error": _object(
                {
                    "class": _TEXT,
                    "message": _TEXT,
                    "retryable": {"type": "boolean"},
                    "fields": {
                        "type": "array",
                        "items": _object({"field": _TEXT, "error": _TEXT, "code": _TEXT}, ["field", "error", "code"]),
                    },
                },
                ["class", "message"],
            ),
        },
        ["sandbox", "status", "error"],
    ),
}

_MESSAGES = _list_of("messages", "TelegramMessage")
_EMAILS = _list_of("messages", "Email")
_FAULTS = _list_of("faults", "Fault")
_ERROR = {"$ref": "#/components/schemas/Error"}

_PATHS: dict[str, Any] = {
    "/health": {"get": _operation("health", "Is the sandbox there?", _answer({"status": {"const": "ok"}}))},
    "/sandbox/telegram/messages": {
        "get": _operation("listTelegramMessages", "Messages the bot sent.", _MESSAGES, window=True, chat=True)
    },
    "/sandbox/telegram/reactions": {
        "get": _operation(
            "listReactions",
            "Every reaction set, by bot and person.",
            _list_of("reactions", "Reaction"),
            window=True,
            chat=True,
        )
    },
    "/sandbox/telegram/reaction": {
        "post": _operation(
            "tapReaction",
            "The person taps a reaction; no emoji takes it back.",
            _answer({"reaction": {"$ref": "#/components/schemas/Reaction"}}),
            body=_TAPPED,
        )
    },
    "/sandbox/telegram/inbound": {
        "get": _operation("listTyped", "Messages the person typed.", _MESSAGES, window=True, chat=True),
        "post": _operation(
            "typeMessage",
            "The person types a message; the bot receives it as an update.",
            _answer({"message": {"$ref": "#/components/schemas/TelegramMessage"}, "message_id": _NUMBER}),
            body=_TYPED,
        ),
    },
    "/sandbox/telegram/callbacks": {
        "get": _operation(
            "listCallbacks", "Buttons the person pressed.", _list_of("callbacks", "Callback"), window=True
        )
    },
    "/sandbox/telegram/actions": {
        "get": _operation("listActions", "What the bot was seen doing, such as typing.", _list_of("actions", "Action"))
    },
    "/sandbox/telegram/callback": {
        "post": _operation(
            "pressButton",
            "The person presses a button under a message.",
            _answer({"callback": {"$ref": "#/components/schemas/Callback"}}),
            body=_PRESSED,
        )
    },
    "/sandbox/telegram/press": {
        "post": _operation(
            "pressButtonByName",
            "The person presses a button by its label; the bot has 150 seconds to fetch that.",
            _answer({"callback": {"$ref": "#/components/schemas/Callback"}}),
            body=_PRESSED_BUTTON,
        )
    },
    "/sandbox/telegram/away": {
        "post": _operation(
            "beAway",
            "As if the bot had not asked for updates for so long.",
            _answer({"status": {"const": "ok"}}),
            body=_AWAY,
        )
    },
    "/sandbox/email/messages": {"get": _operation("listEmails", "Mails that were sent.", _EMAILS, window=True)},
    "/sandbox/email/inbound": {
        "get": _operation("listWritten", "Mails the person wrote.", _EMAILS, window=True),
        "post": _operation(
            "writeEmail",
            "The person writes a mail.",
            _answer({"message": {"$ref": "#/components/schemas/Email"}, "message_id": _TEXT}),
            body=_WRITTEN,
        ),
    },
    "/sandbox/messages": {
        "delete": _operation("clearMessages", "Forget everything that arrived.", _answer({"cleared": {"const": True}}))
    },
    "/sandbox/faults": {
        "get": _operation("listFaults", "Faults still armed, in order.", _FAULTS),
        "post": _operation(
            "armFault", "Tell the sandbox to misbehave.", _FAULTS, body={"$ref": "#/components/schemas/Fault"}
        ),
        "delete": _operation("clearFaults", "Behave again.", _FAULTS),
    },
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Postroom SANDBOX",
        "version": "1",
        "description": "SANDBOX: nothing leaves this machine. Beside these routes, `/bot<token>/<method>` answers"
        " like Telegram's Bot API.",
    },
    "paths": _PATHS,
    "components": {
        "schemas": _SCHEMAS,
        "responses": {
            "Forbidden": _json("Another origin or Host name.", _ERROR),
            "Invalid": _json("Every field that is wrong.", _ERROR),
            "TooLarge": _json("More than one mebibyte.", _ERROR),
        },
        "parameters": {
            "Since": {
                "name": "since",
                "in": "query",
                "schema": {"type": "integer", "minimum": 0},
                "description": "Only entries with a higher id, oldest first. Without it, the newest.",
            },
            "Limit": {
                "name": "limit",
                "in": "query",
                "schema": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000},
            },
            "Chat": {"name": "chat_id", "in": "query", "schema": _TEXT},
        },
    },
}
