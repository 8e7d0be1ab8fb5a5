"""The gateway's wire: one canonical envelope of what an assistant passed on, its check, and what a sender is told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any, Final

from postroom.intents.model import (
    APPROVAL,
    ASK,
    MAX_STEPS,
    REPLY,
    Reminders,
    Step,
    StepKind,
)
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.fields import printable, unsendable, without_none
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import parse_address
from postroom.people.model import InputMode

_SHORT_NAMES: Final = {"ask": ASK, "reply": REPLY, "intent.ask": ASK, "intent.reply": REPLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantCall:
    """What an assistant asked for, in our words whatever the face called it."""

    from_agent: str
    to_agent: str | None = None
    recipient_name: str | None = None
    intent_type: str = ASK
    payload: Mapping[str, Any] = field(default_factory=dict)
    message: str | None = None
    question: str | None = None
    answer: str | None = None
    context: str | None = None
    deadline_at: str | None = None
    status: str | None = None
    clarification_question: str | None = None
    correlation_id: str | None = None
    idempotency_key: str | None = None
    input_mode: InputMode = InputMode.TEXT
    resolve_only: bool = False
    confirm_send: bool = False
    resolution_token: str | None = None
    workflow_macro_id: str | None = None
    workflow_macro_params: Mapping[str, Any] | None = None
    workflow_owner_agent: str | None = None
    conversation_id: str | None = None
    call_id: str | None = None
    connector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """An intent on its way from one agent to another; `payload` is as the schema of its type has it."""

    intent_type: str
    intent_id: str
    correlation_id: str
    created_at: str
    from_agent: str
    to_agent: str
    payload: Mapping[str, Any]
    metadata: Mapping[str, str] | None = None
    idempotency_key: str | None = None

    def document(self) -> dict[str, Any]:
        return without_none({"version": "v1"} | {one.name: getattr(self, one.name) for one in fields(self)})


def intent_type_of(name: str | None) -> str:
    """`ask` and `reply` will do; anything else is left to the schema to refuse."""
    return ASK if name is None else _SHORT_NAMES.get(name, name)


def build_envelope(
    call: AssistantCall, to_agent: str, *, intent_id: str, correlation_id: str, created_at: str
) -> Envelope:
    """Valid by the schemas, or refused with every field that is not."""
    payload = _payload(call, created_at)
    said = payload.get("question") or payload.get("answer")
    envelope = Envelope(
        intent_type=call.intent_type,
        intent_id=intent_id,
        correlation_id=call.correlation_id or correlation_id,
        created_at=created_at,
        from_agent=call.from_agent,
        to_agent=to_agent,
        payload=payload,
        metadata=_metadata(call),
        idempotency_key=call.idempotency_key or _natural_key(call, to_agent, said),
    )
    check_envelope(envelope.document())
    return envelope


def _payload(call: AssistantCall, now: str) -> dict[str, Any]:
    """The flat fields help out where the payload itself says nothing."""
    if call.intent_type == REPLY:
        by = "responded_by"
        flat = {
            "answer": call.answer or call.message,
            "status": call.status or "answered",
            "responded_at": now,
            "clarification_question": call.clarification_question,
        }
    else:
        by = "requested_by"
        flat = {
            "question": call.question or call.message,
            "requested_at": now,
            "context": call.context,
            "deadline_at": call.deadline_at,
        }
    workflow = without_none(
        {
            "macro_id": call.workflow_macro_id,
            "params": call.workflow_macro_params,
            "owner_agent": call.workflow_owner_agent,
        }
    )
    return {**without_none(flat), **call.payload, by: call.from_agent, **({"workflow": workflow} if workflow else {})}


def _metadata(call: AssistantCall) -> dict[str, str]:
    return without_none(
        {
            "input_mode": str(call.input_mode),
            "connector": call.connector or None,
            "conversation_id": call.conversation_id,
            "call_id": call.call_id,
        }
    )


def _natural_key(call: AssistantCall, to_agent: str, said: object) -> str | None:
    """A host that repeats a call repeats its id; the content is in it, since some hosts reuse ids."""
    if call.call_id is None:
        return None
    parts = [call.connector, call.conversation_id, call.call_id, call.from_agent, to_agent, call.intent_type, said]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


# The protocol's JSON Schemas, with their formats checked.

ENVELOPE: Final = "intent.envelope.v1"
_MOST_COMPLAINTS: Final = 20


@cache
def schema(name: str) -> dict[str, Any]:
    text = files("postroom.intents").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@cache
def _validator(name: str) -> Any:
    return validator(schema(name))


def validator(document: Mapping[str, Any]) -> Any:
    import jsonschema_rs  # three megabytes, for those to whom agents write

    return jsonschema_rs.validator_for(dict(document), validate_formats=True)


def check_envelope(envelope: Mapping[str, Any]) -> None:
    """Whether it can be carried at all; then the envelope and, by its type, the payload, every complaint at once."""
    refuse(unsendable(envelope, ""))
    intent_type = envelope.get("intent_type")
    complaints = complaints_of(_validator(ENVELOPE), envelope)
    if intent_type not in (ASK, REPLY):
        complaints.append(FieldError("intent_type", f"must be {ASK} or {REPLY}", "enum"))
    elif isinstance(envelope.get("payload"), Mapping):
        complaints += complaints_of(_validator(str(intent_type)), envelope["payload"], "payload")
    refuse(complaints)


def refuse(complaints: list[FieldError]) -> None:
    if complaints:
        raise Refused.of(Code.SCHEMA_INVALID, complaints[:_MOST_COMPLAINTS])


def complaints_of(checker: Any, value: object, path: str = "") -> list[FieldError]:
    return [_complaint(error, path) for error in checker.iter_errors(value)]


def _complaint(error: Any, path: str) -> FieldError:
    """In our words: the library's would repeat the value, which may be what somebody said."""
    kind = error.kind.as_dict()
    name = str(error.kind.name)
    parts = [path, *map(str, error.instance_path)]
    if name == "required":
        parts.append(str(kind["property"]))
    if name == "additionalProperties":
        parts.append(", ".join(printable(one) for one in kind["unexpected"]))
    return FieldError(".".join(part for part in parts if part) or "body", _sentence(name, kind), name)


def _sentence(name: str, kind: Mapping[str, Any]) -> str:
    match name:
        case "required":
            return "is required"
        case "additionalProperties":
            return "unknown field"
        case "maxLength":
            return f"must have at most {kind['limit']} characters"
        case "minLength":
            return f"must have at least {kind['limit']} characters"
        case "format":
            return f"must be a {kind['format']}"
        case "enum":
            return "must be one of " + ", ".join(map(str, kind["options"]))
        case "const":
            return f"must be {kind['expected_value']}"
        case "type":
            return "must be of type " + " or ".join(sorted(map(str, kind["types"])))
        case "pattern":
            return "does not have the right form"
        case _:
            return "is not valid"


# Ways of asking that take several steps, each with parameters of known kinds.


DAY: Final = 86_400
_MONTH: Final = 30 * DAY
_MOST_REMINDERS: Final = 20
_MOST_RECIPIENTS: Final = 20


@dataclass(frozen=True, slots=True)
class Parameter:
    """`kind` is seconds, count, address or addresses."""

    name: str
    kind: str
    description: str
    default: Any = None
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroOptions:
    """What was said to a macro, or is its default; of what it does not take there is nothing."""

    step_deadline_seconds: int
    approver: str | None = None
    recipients: tuple[str, ...] = ()
    remind_after_seconds: int = 0
    max_reminders: int = 0
    escalate_to: str | None = None


@dataclass(frozen=True, slots=True)
class Macro:
    id: str
    description: str
    parameters: tuple[Parameter, ...]
    build: Callable[[MacroOptions, str, int], list[Step]]


def _patient_ask(options: MacroOptions, to_agent: str, now_us: int) -> list[Step]:
    """Ask, remind, hand over when the time is up, and give up when it is up again."""
    first = options.approver or to_agent
    patience = seconds(options.step_deadline_seconds)
    steps = [Step(StepKind.ASK, now_us, first)]
    for number in range(1, options.max_reminders + 1):
        at = now_us + seconds(options.remind_after_seconds) * number
        if at < now_us + patience:
            steps.append(Step(StepKind.REMIND, at, first))
    end = now_us + patience
    if options.escalate_to:
        steps.append(Step(StepKind.ESCALATE, end, options.escalate_to))
        end += patience
    return [*steps, Step(StepKind.EXPIRE, end, first)]


def _ask_all(options: MacroOptions, _to_agent: str, now_us: int) -> list[Step]:
    asked = [Step(StepKind.ASK, now_us, one) for one in dict.fromkeys(options.recipients)]
    return [*asked, Step(StepKind.EXPIRE, now_us + seconds(options.step_deadline_seconds), asked[0].to_agent)]


_DEADLINE = Parameter("step_deadline_seconds", "seconds", "How long each person has to answer.", DAY)
_REMIND = Parameter("remind_after_seconds", "seconds", "How long to wait before each reminder.", 1800)
_REMINDERS = Parameter("max_reminders", "count", "How often to remind, at most.", 3)
_ESCALATE = Parameter("escalate_to", "address", "Whom to ask when nobody has answered in time.")

MACROS: Final[dict[str, Macro]] = {
    macro.id: macro
    for macro in (
        Macro(
            APPROVAL,
            "Ask a person to approve or reject; only a person can decide.",
            (
                Parameter("approver", "address", "Who decides, a person; the recipient by default."),
                _DEADLINE,
                _REMIND,
                _REMINDERS,
                _ESCALATE,
            ),
            _patient_ask,
        ),
        Macro(
            "macro.remind_then_escalate.v1",
            "Ask, remind while there is no answer, then ask somebody else.",
            (_DEADLINE, _REMIND, _REMINDERS, _ESCALATE),
            _patient_ask,
        ),
        Macro(
            "macro.ask_first_answer.v1",
            "Ask several people at once; the first answer counts.",
            (Parameter("recipients", "addresses", "Whom to ask, at most 20.", required=True), _DEADLINE),
            _ask_all,
        ),
    )
}


def compile_macro(workflow: Mapping[str, Any], *, to_agent: str, now_us: int) -> tuple[str, tuple[Step, ...]]:
    """`payload.workflow` as steps; whatever is unknown in it is refused by name."""
    for name in workflow:
        if name not in ("macro_id", "params", "owner_agent"):
            raise _refused(str(name), "unknown field")
    macro = MACROS.get(str(workflow.get("macro_id")))
    if macro is None:
        raise _refused("macro_id", f"must be one of {', '.join(MACROS)}")
    params = workflow.get("params", {})
    if not isinstance(params, Mapping):
        raise _refused("params", "must be an object")
    steps = tuple(sorted(macro.build(_options(macro, params), to_agent, now_us), key=lambda step: step.at_us))
    if len(steps) > MAX_STEPS:
        raise _refused("params", f"make more than {MAX_STEPS} steps")
    return macro.id, steps


def patient_steps(*, to_agent: str, now_us: int, deadline_at_us: int | None, reminders: Reminders) -> tuple[Step, ...]:
    """A plain ask, with the reminders a sender may order without a macro."""
    steps = [Step(StepKind.ASK, now_us, to_agent)]
    first = reminders.remind_after_seconds
    at, pause = now_us, reminders.remind_interval_seconds or first or DAY
    if first is not None:
        for number in range(min(reminders.max_reminders or 1, _MOST_REMINDERS)):
            at += seconds(first if number == 0 else pause)
            steps.append(Step(StepKind.REMIND, at, to_agent))
    if reminders.escalate_to is not None:
        steps.append(Step(StepKind.ESCALATE, at + seconds(pause), reminders.escalate_to))
    if deadline_at_us is not None:
        steps = [step for step in steps if step.at_us < deadline_at_us or step.kind is StepKind.ASK]
        steps.append(Step(StepKind.EXPIRE, deadline_at_us, to_agent))
    return tuple(sorted(steps, key=lambda step: step.at_us))


def _options(macro: Macro, params: Mapping[str, Any]) -> MacroOptions:
    known = {parameter.name: parameter for parameter in macro.parameters}
    for name in params:
        if name not in known:
            raise _refused(f"params.{name}"[:80], f"{macro.id} has no such parameter")
    return MacroOptions(**{name: _value(parameter, params.get(name)) for name, parameter in known.items()})


def _value(parameter: Parameter, given: Any) -> Any:
    field = f"params.{parameter.name}"
    if given is None:
        if parameter.required:
            raise _refused(field, "is required")
        return parameter.default
    match parameter.kind:
        case "seconds":
            return _number(field, given, 1, _MONTH)
        case "count":
            return _number(field, given, 0, _MOST_REMINDERS)
        case "address":
            return _address(field, given)
        case _:
            if not isinstance(given, list) or not 1 <= len(given) <= _MOST_RECIPIENTS:
                raise _refused(field, f"must be a list of 1 to {_MOST_RECIPIENTS} addresses")
            return tuple(_address(field, one) for one in given)


def _number(field: str, given: Any, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise _refused(field, f"must be a whole number from {least} to {most}")
    return given


def _address(field: str, given: Any) -> str:
    address = parse_address(given) if isinstance(given, str) else None
    if address is None:
        raise _refused(field, "must be an agent address")
    return address


def _refused(field: str, error: str) -> Refused:
    path = f"payload.workflow.{field}".encode("ascii", "backslashreplace").decode()
    return Refused.of(Code.MACRO_INVALID, [FieldError(path, error, "macro_invalid")])
