"""A JSON text gets one value more, and loses it again, without another byte changing."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.agents.connect import texts
from postroom.agents.connect.texts import NotReadable

OURS = ("mcpServers", "postroom")
ENTRY = {"command": "/bin/postroom", "args": ["bridge", "x"]}

TEXTS = {
    "one line": '{"mcpServers": {"other": {"command": "x"}}}',
    "two spaces": '{\n  "a": 1,\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"other": {}\n\t}\n}',
    "crlf": '{\r\n    "mcpServers": {\r\n        "other": true\r\n    }\r\n}\r\n',
    "comments": '// top\n{\n  /* b */ "mcpServers": { // c\n    "other": 1 // d, "e" {\n    // f\n  } // g\n}\n// end',
    "mark": '\ufeff{\n  "mcpServers": {\n    "other": 1\n  }\n}\n',
    "escapes": '{\n  "mcpServers": {\n    "o\\"t{h": "\\u00e9 // no comment"\n  }\n}\n',
}


@pytest.mark.requirement("connect:byte-for-byte")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_entry_is_added_and_removed_to_the_byte(text: str) -> None:
    added = texts.with_member(text, OURS, ENTRY)

    assert texts.json_value(added, OURS) == ENTRY
    assert texts.with_member(added, OURS, ENTRY) == added
    assert texts.without_member(added, OURS) == text


def test_comments_stay_beside_what_they_are_about() -> None:
    added = texts.with_member('{\n  "a": 1 // one\n}\n', ("b",), 2)

    assert added == '{\n  "a": 1, // one\n  "b": 2\n}\n'


@pytest.mark.parametrize("text", ["", "\n", "{}", "{ }", "{\n}\n", "// only words\n", "\ufeff"])
def test_what_is_missing_is_made(text: str) -> None:
    added = texts.with_member(text, OURS, ENTRY)

    assert texts.json_value(added, ()) == {"mcpServers": {"postroom": ENTRY}}
    assert added.startswith(text.removesuffix("}").rstrip("\n} ") if "{" in text else text)


def test_a_comma_at_the_end_is_allowed_where_it_was_written() -> None:
    added = texts.with_member('{\n  "a": 1,\n}\n', ("b",), 2)

    assert added == '{\n  "a": 1,\n  "b": 2\n}\n'


def test_items_of_a_list_are_added_replaced_and_removed() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      {"theirs": 1}\n    ]\n  }\n}\n'
    path = ("hooks", "Stop")

    added = texts.with_items_replaced(text, path, _is_ours, {"ours": 1})
    changed = texts.with_items_replaced(added, path, _is_ours, {"ours": 2})

    assert texts.json_value(added, path) == [{"theirs": 1}, {"ours": 1}]
    assert texts.json_value(changed, path) == [{"theirs": 1}, {"ours": 2}]
    assert texts.with_items_replaced(changed, path, _is_ours, {"ours": 2}) == changed
    assert texts.without_items(changed, path, _is_ours) == text


def _is_ours(value: Any) -> bool:
    return "ours" in value


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": }',
        '{"a" 1}',
        "{a: 1}",
        '{"a": 1} x',
        "[1, 2",
        '{"a": 01}',
        '"\\x"',
        "nope",
        '{"a": "\n"}',
        "[" * 300,
    ],
)
def test_what_is_not_json_is_refused_by_its_line(text: str) -> None:
    with pytest.raises(NotReadable, match="line"):
        texts.with_member(text, OURS, ENTRY)


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": []}', '"x"', '{"mcpServers": null}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(NotReadable, match="is not an object"):
        texts.with_member(text, OURS, ENTRY)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), _values, max_size=4), st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_every_other_value_survives(document: dict[str, Any], indent: Any, ascii_only: bool) -> None:
    document.pop("mcpServers", None)
    document["mcpServers"] = {"other": document.get("a")}
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)

    added = texts.with_member(text, OURS, ENTRY)

    assert json.loads(added) == {**document, "mcpServers": {**document["mcpServers"], "postroom": ENTRY}}
    assert texts.without_member(added, OURS) == text


TOML_OURS = ("mcp_servers", "postroom")
TOML_ENTRY = {"command": '/bin/po"st\x7froom', "args": ["bridge", "é"], "tool_timeout_sec": 300}

TOML_TEXTS = {
    "empty": "",
    "plain": 'model = "o3" # mine\n\n[mcp_servers.other]\ncommand = "x"\n',
    "no end": "a = 1",
    "brackets": 'a = [\n  ["[mcp_servers.postroom]"],\n]\nb = """\n[mcp_servers.postroom]\n"""\nc = \'[x]\'\n# [d]\n',
    "crlf": "a = 1\r\n[b]\r\nc = 2\r\n",
    "array of tables": "[[x]]\na = 1\n[[x]]\na = 2\n\n\n",
    "quoted": '[projects."/home/a.b"]\ntrust_level = "trusted"\n',
    "mark": "\ufeff[a]\nb = 1\n",
}


@pytest.mark.requirement("connect:byte-for-byte")
@pytest.mark.parametrize("text", TOML_TEXTS.values(), ids=TOML_TEXTS)
def test_a_table_is_added_and_removed_to_the_byte(text: str) -> None:
    added = texts.with_table(text, TOML_OURS, TOML_ENTRY)

    assert added.startswith(text)
    assert texts.toml_value(added, TOML_OURS) == TOML_ENTRY
    assert texts.with_table(added, TOML_OURS, TOML_ENTRY) == added
    assert texts.without_table(added, TOML_OURS).rstrip("\n") == text.rstrip("\n")
    if text.endswith("\n"):
        assert texts.without_table(added, TOML_OURS) == text


def test_a_table_in_the_middle_is_changed_where_it_stands() -> None:
    ours = '[mcp_servers.postroom]\ncommand = "old"\n\n[mcp_servers.postroom.env]\nA = "b"\n'
    text = f"a = 1\n\n{ours}\n# next\n[z]\nb = 2\n"

    changed = texts.with_table(text, TOML_OURS, {"command": "new"})

    assert changed == 'a = 1\n\n[mcp_servers.postroom]\ncommand = "new"\n\n# next\n[z]\nb = 2\n'
    assert texts.without_table(changed, TOML_OURS) == "a = 1\n\n# next\n[z]\nb = 2\n"


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
        texts.with_table(text, TOML_OURS, TOML_ENTRY)


def test_nothing_to_remove_changes_nothing() -> None:
    assert texts.without_table("a = 1\n", TOML_OURS) == "a = 1\n"
    assert tomllib.loads("a = 1\n") == texts.read("a = 1\n")


def test_from_a_broken_text_nothing_is_removed_and_it_is_said_why() -> None:
    with pytest.raises(NotReadable):
        texts.without_table("[mcp_servers.postroom\ncommand = 1\n", TOML_OURS)
