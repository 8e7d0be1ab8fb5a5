"""Ways of asking that take several steps, each with parameters of known kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.intents.model import APPROVAL, MAX_STEPS, Step, StepKind
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import parse_address

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

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
            "default": self.default,
            "required": self.required,
        }


@dataclass(frozen=True, slots=True)
class Macro:
    id: str
    description: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Mapping[str, Any], str, int], list[Step]]

    def document(self) -> dict[str, Any]:
        return {
            "macro_id": self.id,
            "description": self.description,
            "parameters": [parameter.document() for parameter in self.parameters],
        }


def _patient_ask(values: Mapping[str, Any], to_agent: str, now_us: int) -> list[Step]:
    """Ask, remind, hand over when the time is up, and give up when it is up again."""
    first = values.get("approver") or to_agent
    patience = seconds(values["step_deadline_seconds"])
    steps = [Step(StepKind.ASK, now_us, first)]
    for number in range(1, values["max_reminders"] + 1):
        at = now_us + seconds(values["remind_after_seconds"]) * number
        if at < now_us + patience:
            steps.append(Step(StepKind.REMIND, at, first))
    end = now_us + patience
    if other := values.get("escalate_to"):
        steps.append(Step(StepKind.ESCALATE, end, other))
        end += patience
    return [*steps, Step(StepKind.EXPIRE, end, first)]


def _ask_all(values: Mapping[str, Any], _to_agent: str, now_us: int) -> list[Step]:
    asked = [Step(StepKind.ASK, now_us, one) for one in dict.fromkeys(values["recipients"])]
    return [*asked, Step(StepKind.EXPIRE, now_us + seconds(values["step_deadline_seconds"]), asked[0].to_agent)]


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
    steps = tuple(sorted(macro.build(_values(macro, params), to_agent, now_us), key=lambda step: step.at_us))
    if len(steps) > MAX_STEPS:
        raise _refused("params", f"make more than {MAX_STEPS} steps")
    return macro.id, steps


def patient_steps(
    *, to_agent: str, now_us: int, deadline_at_us: int | None, reminders: Mapping[str, Any]
) -> tuple[Step, ...]:
    """A plain ask, with the reminders a sender may order without a macro."""
    steps = [Step(StepKind.ASK, now_us, to_agent)]
    first, interval = reminders.get("remind_after_seconds"), reminders.get("remind_interval_seconds")
    at, pause = now_us, interval or first or DAY
    if first is not None:
        for number in range(min(reminders.get("max_reminders") or 1, _MOST_REMINDERS)):
            at += seconds(first if number == 0 else pause)
            steps.append(Step(StepKind.REMIND, at, to_agent))
    if (other := reminders.get("escalate_to")) is not None:
        steps.append(Step(StepKind.ESCALATE, at + seconds(pause), str(other)))
    if deadline_at_us is not None:
        steps = [step for step in steps if step.at_us < deadline_at_us or step.kind is StepKind.ASK]
        steps.append(Step(StepKind.EXPIRE, deadline_at_us, to_agent))
    return tuple(sorted(steps, key=lambda step: step.at_us))


def _values(macro: Macro, params: Mapping[str, Any]) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in macro.parameters}
    for name in params:
        if name not in known:
            raise _refused(f"params.{name}"[:80], f"{macro.id} has no such parameter")
    return {name: _value(parameter, params.get(name)) for name, parameter in known.items()}


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
            return [_address(field, one) for one in given]


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
