"""A TOML text gets one table more, and loses it again, without another byte changing."""

from __future__ import annotations

import tomllib

import pytest

from postroom.programs.connect import toml_text
from postroom.programs.connect.not_readable import NotReadable

OURS = ("mcp_servers", "postroom")
ENTRY = {"command": '/bin/po"st\x7froom', "args": ["bridge", "é"], "tool_timeout_sec": 300}

TEXTS = {
    "empty": "",
    "plain": 'model = "o3" # mine\n\n[mcp_servers.other]\ncommand = "x"\n',
    "no end": "a = 1",
    "brackets": 'a = [\n  ["[mcp_servers.postroom]"],\n]\nb = """\n[mcp_servers.postroom]\n"""\nc = \'[x]\'\n# [d]\n',
    "crlf": "a = 1\r\n[b]\r\nc = 2\r\n",
    "array of tables": "[[x]]\na = 1\n[[x]]\na = 2\n\n\n",
    "quoted": '[projects."/home/a.b"]\ntrust_level = "trusted"\n',
}


@pytest.mark.requirement("connect:byte-for-byte")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_table_is_added_and_removed_to_the_byte(text: str) -> None:
    added = toml_text.with_table(text, OURS, ENTRY)

    assert added.startswith(text)
    assert toml_text.toml_value(added, OURS) == ENTRY
    assert toml_text.with_table(added, OURS, ENTRY) == added
    assert toml_text.without_table(added, OURS).rstrip("\n") == text.rstrip("\n")
    if text.endswith("\n"):
        assert toml_text.without_table(added, OURS) == text


def test_a_table_in_the_middle_is_changed_where_it_stands() -> None:
    ours = '[mcp_servers.postroom]\ncommand = "old"\n\n[mcp_servers.postroom.env]\nA = "b"\n'
    text = f"a = 1\n\n{ours}\n# next\n[z]\nb = 2\n"

    changed = toml_text.with_table(text, OURS, {"command": "new"})

    assert changed == 'a = 1\n\n[mcp_servers.postroom]\ncommand = "new"\n\n# next\n[z]\nb = 2\n'
    assert toml_text.without_table(changed, OURS) == "a = 1\n\n# next\n[z]\nb = 2\n"


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "[a\n",
        'mcp_servers = { other = { command = "x" } }\n',
        'mcp_servers.postroom.command = "x"\n',
        "mcp_servers = 3\n",
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    with pytest.raises(NotReadable):
        toml_text.with_table(text, OURS, ENTRY)


def test_nothing_to_remove_changes_nothing() -> None:
    assert toml_text.without_table("a = 1\n", OURS) == "a = 1\n"
    assert tomllib.loads("a = 1\n") == toml_text.read("a = 1\n")


def test_from_a_broken_text_nothing_is_removed_and_it_is_said_why() -> None:
    with pytest.raises(NotReadable):
        toml_text.without_table("[mcp_servers.postroom\ncommand = 1\n", OURS)
