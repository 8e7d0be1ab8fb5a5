"""The one table of fields every face of an adapter is made from: request schema, mapping, declarations, `/llms.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from postroom.intents.envelope import AssistantCall, intent_type_of
from postroom.kernel.acts.declaration import Act, Tool, words_of
from postroom.kernel.acts.reading import arguments_schema
from postroom.kernel.values.fields import Document
from postroom.people.model import InputMode
from postroom.settings.written import SPOKEN

_ADDRESS: Final = {"type": "string", "minLength": 3, "maxLength": 255}


@dataclass(frozen=True, slots=True)
class FieldRule:
    """`name` is ours; a face may call it something else. `resolves` fields serve finding a recipient too."""

    name: str
    schema: Mapping[str, Any]
    description: str
    resolves: bool = False


def _text(maximum: int, minimum: int = 1) -> Document:
    return {"type": "string", "minLength": minimum, "maxLength": maximum}


FIELDS: Final = (
    FieldRule(
        "from_agent",
        _ADDRESS,
        "The agent address of the person you speak for, for example agent://household/owner. Only addresses of your "
        "own connector are accepted.",
        resolves=True,
    ),
    FieldRule(
        "to_agent",
        _ADDRESS,
        "Exact agent address of the recipient, when you know it. Otherwise leave it out and give recipient_name.",
    ),
    FieldRule(
        "recipient_name",
        _text(255),
        "The recipient's name exactly as the person said it, in any language. Never guess or complete it.",
        resolves=True,
    ),
    FieldRule(
        "intent_type", _text(64, 3), "intent.ask.v1 to tell or ask somebody (default), intent.reply.v1 to answer."
    ),
    FieldRule("message", _text(5000), "What to say, in the person's words. At most 2000 characters for an ask."),
    FieldRule("question", _text(2000), "What to ask; the same as message for an ask."),
    FieldRule("answer", _text(5000), "What to answer; the same as message for a reply."),
    FieldRule("context", _text(5000), "What the recipient should know besides."),
    FieldRule("deadline_at", {"type": "string", "format": "date-time"}, "Until when an answer is of use, RFC 3339."),
    FieldRule(
        "status",
        {"type": "string", "enum": ["answered", "needs_clarification", "declined", "timeout"]},
        "Of a reply: how it answers.",
    ),
    FieldRule("clarification_question", _text(2000), "Of a reply with status needs_clarification: what is unclear."),
    FieldRule("payload", {"type": "object"}, "The whole payload, instead of the flat fields."),
    FieldRule(
        "correlation_id", {"type": "string", "format": "uuid"}, "The conversation this belongs to; copy it in a reply."
    ),
    FieldRule("idempotency_key", _text(128, 8), "The same key sends once, however often the call is repeated."),
    FieldRule(
        "input_mode",
        {"type": "string", "enum": ["text", "voice"], "default": "text"},
        "voice when the person spoke: names are then checked more carefully.",
        resolves=True,
    ),
    FieldRule(
        "resolve_only", {"type": "boolean", "default": False}, "true finds out whom the name means and sends nothing."
    ),
    FieldRule(
        "confirm_send",
        {"type": "boolean", "default": False},
        "true only after the person has confirmed the recipient shown; give the resolution_token with it.",
    ),
    FieldRule(
        "resolution_token",
        _text(128, 8),
        "The token of the candidate the person chose, from the answer that asked for confirmation. Works once.",
    ),
    FieldRule(
        "workflow_macro_id", _text(255, 3), "A way to pursue the ask, for example macro.remind_then_escalate.v1."
    ),
    FieldRule("workflow_macro_params", {"type": "object"}, "Parameters of the macro."),
    FieldRule("workflow_owner_agent", _ADDRESS, "Who owns the macro's run; one of your own agent addresses."),
    FieldRule("conversation_id", _text(255), "The assistant's own id of this conversation."),
    FieldRule("call_id", _text(255), "The assistant's own id of this call; a repeated call is then sent once."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """How one assistant names things."""

    name: str
    title: str
    names: Mapping[str, str] = field(default_factory=dict)

    def wire(self, name: str) -> str:
        return self.names.get(name, name)

    def schema(self, *, resolving: bool = False) -> Document:
        rules = [rule for rule in FIELDS if rule.resolves or not resolving]
        required = [self.wire("from_agent"), *(["recipient_name"] if resolving else [])]
        return {
            "type": "object",
            "additionalProperties": False,
            "required": required,
            "properties": {self.wire(rule.name): {**rule.schema, "description": rule.description} for rule in rules},
        }

    def call(self, body: Mapping[str, Any], from_agent: str) -> AssistantCall:
        """A body that satisfies the schema, in our words."""
        ours = {rule.name: body[self.wire(rule.name)] for rule in FIELDS if self.wire(rule.name) in body}
        ours["from_agent"] = from_agent
        ours["intent_type"] = intent_type_of(ours.get("intent_type"))
        ours["input_mode"] = InputMode(ours.get("input_mode", InputMode.TEXT))
        return AssistantCall(**ours, connector=self.name)


CHATGPT: Final = Face(
    name="chatgpt",
    title="Postroom for ChatGPT",
    names={
        "from_agent": "requester_agent",
        "to_agent": "target_agent",
        "intent_type": "intent_name",
        "call_id": "action_call_id",
    },
)
GEMINI: Final = Face(
    name="gemini",
    title="Postroom for Gemini",
    names={
        "from_agent": "sender_agent",
        "to_agent": "recipient_agent",
        "intent_type": "intent",
        "payload": "data",
        "conversation_id": "session_id",
        "call_id": "tool_call_id",
    },
)
FACES: Final = {face.name: face for face in (CHATGPT, GEMINI)}


# What a model should know before it calls: the words are the acts' own, as their tools have them.

PATH: Final = "/llms.txt"
_MOST_ARGUMENTS: Final = 7


@cache
def llms_text() -> str:
    from postroom.inbox.acts import SendNotification
    from postroom.message.acts import NotifyPerson, NotifyStatus, Recall, Revise
    from postroom.questions.acts import AskPeople, CancelAsk, ListAnswers, WaitForAsk

    of_questions = (AskPeople, WaitForAsk, ListAnswers, CancelAsk)
    taught: list[type[Act[Any]]] = [*of_questions, SendNotification, NotifyPerson, NotifyStatus, Revise, Recall]
    routes = [f"- `{one.declared.route.line}`" for one in taught if one.declared.route is not None]
    words = Path(__file__).with_name("llms.txt").read_text(encoding="utf-8")
    tools = "\n".join(_taught(one, one.declared.tool) for one in taught if one.declared.tool is not None)
    return words.replace("{tools}", tools).replace("{routes}", "\n".join(routes))


def _taught(kind: type[Act[Any]], tool: Tool) -> str:
    schema = arguments_schema(kind, tool)
    needed = schema.get("required", [])
    others = [f"{name}?" for name in schema["properties"] if name not in needed]
    shown = [*needed, *others][:_MOST_ARGUMENTS] + ["…"] * (len(needed) + len(others) > _MOST_ARGUMENTS)
    words = words_of(kind).partition("\n\n")[0].format_map({"channels": SPOKEN})
    return f"- `{tool.name}({', '.join(shown)})`: {words}"
