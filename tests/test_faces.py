"""Paths that other people's programs import stay importable."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.requirement("house:public-paths")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("postroom.agents", "send_notification"),
        ("postroom.connectors.chatgpt_action_adapter.main", "app"),
        ("postroom.connectors.gemini_extension_adapter.main", "app"),
        ("postroom.kernel.http.call", "HttpCall"),
        ("postroom.kernel.http.call", "wait_seconds"),
        ("postroom.testing", "Case"),
        ("postroom.testing", "suite"),
        ("postroom.message.delivery", "Message"),
        ("postroom.message.delivery", "Receipt"),
        ("postroom.kernel.values.errors", "TargetUnavailable"),
    ],
)
def test_a_public_path_is_there(module: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))

    assert getattr(importlib.import_module(module), name) is not None
