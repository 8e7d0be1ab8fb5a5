"""One text about asking people: whole as a skill, in parts as prompts."""

from __future__ import annotations

import pytest

from postroom.agents.coding.card import skill_section, skill_text
from postroom.questions.doors.tools import ask_before, use_when_blocked, what_did_i_miss


@pytest.mark.parametrize(
    ("title", "prompt"),
    [
        ("When you are blocked", use_when_blocked()),
        ("Do not", use_when_blocked()),
        ("Before what cannot be undone", ask_before("deploy")),
        ("When you were restarted", what_did_i_miss()),
    ],
)
def test_a_prompt_says_what_the_skill_says(title: str, prompt: str) -> None:
    assert skill_section(title) and skill_section(title) in skill_text()
    assert skill_section(title) in prompt and "##" not in prompt
