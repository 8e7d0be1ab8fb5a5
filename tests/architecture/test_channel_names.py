"""Outside the channels and the sandbox nothing asks for a channel by name: it asks what the channel can do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import SOURCE, source_files

AT_HOME = ("channels/", "sandbox/", "kernel/database/migrations/")
NAMES = frozenset({"telegram", "email"})
A_FIELD_TOO = frozenset({"email"})  # of a person, a note or a form: only where it is asked for is it a channel's name
NAMED_FOR_A_REASON = {
    "settings/model.py": "the one table of sections of the settings that are accounts",
    "settings/written.py": "the accounts with a section of their own; BUTLER_TELEGRAM_TOKEN and its like are public",
    "butlers/messenger/acts.py": "telegram_send_message, email_send_message: tools of the specification",
    "inbox/copies.py": "an e-mail copy of a note is an e-mail, by specification",
    "inbox/preferences.py": "the field `email` of a person's preferences",
    "inbox/acts.py": "the field `email` of a person's preferences",
    "inbox/store/mail.py": "the wish for e-mail copies",
    "people/person_rules.py": "telegram_chat_id and email of /contacts and of the settings",
    "inbox/store/notes.py": "the owner's own mailbox takes the copies when no other is named",
    "questions/rules/form.py": "the format of a field in a JSON Schema",
}


@pytest.mark.requirement("house:channel-asked-by-capability")
def test_nothing_asks_for_a_channel_by_name_without_a_reason() -> None:
    naming = {place for place in _places() if any(_asked(ast.parse((SOURCE / place).read_text())))}

    assert sorted(naming) == sorted(NAMED_FOR_A_REASON)


@pytest.mark.requirement("house:channel-asked-by-capability")
def test_few_files_even_say_telegram() -> None:
    saying = [place for place in _texts() if "telegram" in (SOURCE / place).read_text(encoding="utf-8").lower()]

    assert len(saying) <= 10, saying


@pytest.mark.parametrize(
    "code",
    [
        'if channel == "telegram": pass',
        'if channel in ("email", "pager"): pass',
        'if channel not in {"email"}: pass',
        'channels.get("telegram")',
        'match channel:\n    case "email": pass',
        'send(channel="email")',
        'spacing = {"telegram": 1.0}',
    ],
)
def test_a_question_for_a_name_is_found(code: str) -> None:
    assert any(_asked(ast.parse(code)))


@pytest.mark.parametrize("code", ['Column("email")', 'row["email"]', '"""telegram or email"""', 'log("telegram bot")'])
def test_a_field_or_a_sentence_is_no_question(code: str) -> None:
    assert not any(_asked(ast.parse(code)))


def _places() -> Iterator[str]:
    for path in source_files():
        place = Path(path).relative_to(SOURCE).as_posix()
        if not place.startswith(AT_HOME):
            yield place


def _texts() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*")):
        place = path.relative_to(SOURCE).as_posix()
        if path.suffix in {".py", ".json", ".toml", ".html", ".sql"} and not place.startswith(AT_HOME):
            yield place


def _asked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(word)) if word in NAMES - A_FIELD_TOO:
                yield word
            case ast.Compare(left=left, comparators=others):
                yield from (word for one in (left, *others) for word in _words(one))
            case ast.MatchValue(value=value):
                yield from _words(value)
            case ast.keyword(arg=str(name), value=value) if "channel" in name:
                yield from _words(value)


def _words(node: ast.AST) -> Iterator[str]:
    """Of a text, or of a row of texts."""
    each = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    yield from (one.value for one in each if isinstance(one, ast.Constant) and one.value in NAMES)
