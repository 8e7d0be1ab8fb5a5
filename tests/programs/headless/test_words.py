"""The person's own command line, as it is started first and as it is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postroom.domain.errors import UserError
from postroom.programs.headless.words import understood

HOOK = {"matcher": "Bash", "hooks": []}


def test_the_prompt_is_said_once_and_options_every_time() -> None:
    said = understood(["claude", "--model", "opus", "-p", "fix it", "--max-turns", "9"], HOOK)
    ours = ["--output-format", "json", "--settings", json.dumps({"hooks": {"PreToolUse": [HOOK]}})]

    assert said.first("S") == [
        "claude",
        "-p",
        "fix it",
        "--session-id",
        "S",
        "--model",
        "opus",
        "--max-turns",
        "9",
        *ours,
    ]
    assert said.later("S") == ["claude", "-p", "--resume", "S", "--model", "opus", "--max-turns", "9", *ours]


def test_without_words_after_it_the_prompt_comes_on_standard_input() -> None:
    said = understood(["claude", "--print", "--output-format=stream-json", "--verbose"], HOOK)

    assert said.prompt is None and said.form == "stream-json"
    assert said.first("S")[:4] == ["claude", "-p", "--session-id", "S"]


def test_settings_of_the_person_are_kept(tmp_path: Path) -> None:
    own = {"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Edit"}], "Stop": []}}
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(own))
    expected = {"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Edit"}, HOOK], "Stop": []}}

    for given in (str(file), json.dumps(own)):
        assert json.loads(understood(["claude", "-p", "x", "--settings", given], HOOK).settings) == expected


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["claude", "fix it"], "without a screen"),
        (["claude", "-p", "x", "--resume", "S"], "Leave out --resume"),
        (["claude", "-p", "x", "--session-id=S"], "Leave out --session-id"),
        (["claude", "-p", "x", "--output-format", "xml"], "text, json or stream-json"),
        (["claude", "-p", "x", "--settings"], "needs a value"),
        (["claude", "-p", "x", "--settings", "nowhere.json"], "neither JSON nor a file"),
        (["claude", "-p", "x", "--settings", '{"hooks": []}'], None),
        (["claude", "-p", "x", "--settings", '{"hooks": [1]}'], "not what Claude Code takes"),
    ],
)
def test_what_could_not_be_resumed_is_refused(words: list[str], why: str | None) -> None:
    if why is None:
        understood(words, HOOK)
        return
    with pytest.raises(UserError, match=why):
        understood(words, HOOK)
