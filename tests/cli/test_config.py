"""`postroom config`: what is in force, and no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import postroom

ACCOUNTS = """
[channels.work]
kind = "telegram"
token = "1:canary-${PART}"

[channels.calls]
kind = "webhook"
url = "https://canary.example.org/hook"
secret = "whsec_canary"

[channels.other]
kind = "apprise"
url = "json://user:canary@example.org"

[channels.pager]
factory = "pagers:Pager"
options = { code = "canary" }
"""


@pytest.mark.requirement("chan:account-errors")
def test_accounts_are_shown_without_their_secrets(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "postroom.toml").write_text(ACCOUNTS, encoding="utf-8")
    monkeypatch.setenv("PART", "canary")

    plain, told = postroom("config"), json.loads(postroom("config", "--json").out)

    file = str(home / "postroom.toml")
    assert told["channels.work.kind"] == {"value": "telegram", "source": file}
    hidden = ("work.token", "calls.url", "calls.secret", "other.url", "pager.options.code")
    assert {told[f"channels.{name}"]["value"] for name in hidden} == {"***"}
    assert told["channels.calls.allow_private"] == {"value": False, "source": "default"}
    assert "canary" not in plain.out and "canary" not in json.dumps(told)
