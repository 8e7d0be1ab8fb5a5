from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.intents.macros import MACROS, compile_macro, patient_steps
from postroom.intents.model import MAX_STEPS, StepKind
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import SECOND_US

TO, OTHER = "agent://x/to", "agent://x/other"


def compiled(macro_id: str, **params: Any) -> list[tuple[str, int, str]]:
    _, steps = compile_macro({"macro_id": macro_id, "params": params}, to_agent=TO, now_us=0)
    return [(str(step.kind), step.at_us // SECOND_US, step.to_agent) for step in steps]


def test_reminding_then_escalating_is_a_list_of_moments() -> None:
    params = {"remind_after_seconds": 60, "max_reminders": 2, "step_deadline_seconds": 150, "escalate_to": OTHER}

    assert compiled("macro.remind_then_escalate.v1", **params) == [
        ("ask", 0, TO),
        ("remind", 60, TO),
        ("remind", 120, TO),
        ("escalate", 150, OTHER),
        ("expire", 300, TO),
    ]


def test_an_approval_is_asked_of_the_approver() -> None:
    steps = compiled("macro.approval.v1", approver=OTHER, max_reminders=0)

    assert [(kind, to) for kind, _, to in steps] == [("ask", OTHER), ("expire", OTHER)]


def test_asking_many_asks_each_once() -> None:
    steps = compiled("macro.ask_first_answer.v1", recipients=[TO, OTHER, TO], step_deadline_seconds=9)

    assert steps == [("ask", 0, TO), ("ask", 0, OTHER), ("expire", 9, TO)]


@pytest.mark.parametrize(
    ("workflow", "field"),
    [
        ({}, "macro_id"),
        ({"macro_id": "macro.dance.v1"}, "macro_id"),
        ({"macro_id": "macro.approval.v1", "speed": 1}, "speed"),
        ({"macro_id": "macro.approval.v1", "params": []}, "params"),
        ({"macro_id": "macro.approval.v1", "params": {"colour": "red"}}, "params.colour"),
        ({"macro_id": "macro.approval.v1", "params": {"remind_after_seconds": "60"}}, "params.remind_after_seconds"),
        ({"macro_id": "macro.approval.v1", "params": {"remind_after_seconds": True}}, "params.remind_after_seconds"),
        ({"macro_id": "macro.approval.v1", "params": {"max_reminders": 21}}, "params.max_reminders"),
        ({"macro_id": "macro.approval.v1", "params": {"approver": "bob"}}, "params.approver"),
        ({"macro_id": "macro.ask_first_answer.v1"}, "params.recipients"),
        ({"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": []}}, "params.recipients"),
        ({"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": [TO] * 21}}, "params.recipients"),
    ],
)
def test_what_a_macro_does_not_know_is_refused_by_name(workflow: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as refused:
        compile_macro(workflow, to_agent=TO, now_us=0)

    assert refused.value.code is Code.MACRO_INVALID
    assert refused.value.fields[0].field == f"payload.workflow.{field}"


@given(
    st.sampled_from(sorted(MACROS)),
    st.fixed_dictionaries(
        {},
        optional={
            "remind_after_seconds": st.integers(1, 10_000),
            "max_reminders": st.integers(0, 20),
            "step_deadline_seconds": st.integers(1, 100_000),
            "escalate_to": st.just(OTHER),
            "recipients": st.lists(st.sampled_from([TO, OTHER]), min_size=1, max_size=20),
        },
    ),
)
def test_a_plan_is_in_order_bounded_and_ends(macro_id: str, given_params: dict[str, Any]) -> None:
    known = {parameter.name for parameter in MACROS[macro_id].parameters}
    params = {name: value for name, value in given_params.items() if name in known}
    if "recipients" in known:
        params.setdefault("recipients", [TO])

    _, steps = compile_macro({"macro_id": macro_id, "params": params}, to_agent=TO, now_us=7)

    assert 2 <= len(steps) <= MAX_STEPS
    assert [step.at_us for step in steps] == sorted(step.at_us for step in steps)
    assert steps[0].kind is StepKind.ASK and steps[-1].kind is StepKind.EXPIRE


def test_reminders_need_no_macro() -> None:
    reminders = {"remind_after_seconds": 10, "remind_interval_seconds": 5, "max_reminders": 2, "escalate_to": OTHER}

    steps = patient_steps(to_agent=TO, now_us=0, deadline_at_us=18 * SECOND_US, reminders=reminders)

    assert [(str(step.kind), step.at_us // SECOND_US) for step in steps] == [
        ("ask", 0),
        ("remind", 10),
        ("remind", 15),
        ("expire", 18),
    ]
