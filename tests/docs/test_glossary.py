"""One word, one thing: the glossary holds every word people meet, and no twin of one is used for it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.application import Commands
from tests.architecture.tree import ROOT, shown
from tests.cli.walk import commands
from tests.docs.pages import pages

pytestmark = pytest.mark.requirement("side:words-glossary")

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
SOURCE = ROOT / "src" / "postroom"
ROW = re.compile(r"^\| \*\*(?P<words>[^*]+)\*\* \| (?P<meaning>.+?) \|(?: (?P<place>.+?) \|)?$", re.M)
CODE = re.compile(r"^( *)```.*?^\1```|`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.S | re.M)

# What is not said, and what is said instead.
TWINS = {
    r"operators?": "owner",
    r"users?": "person",
    r"chat ids?": "address",
    r"end[- ]users?": "person",
    r"addressees?": "recipient",
    r"dead[- ]letter queues?": "dead letters",
}
# Where the word means what everyone calls so: an account of the machine, or a provider's own name.
FINE = (
    *("your user", "a user of its own", "a user without rights", "same user", "household's user", "only its user"),
    *("other users of the machine", "show its user a form", "thousands of users", "user profile", "User Settings"),
    *("Bot User", "A user's token", "names its user", "a user", "USER", "--user", "chown it to user "),
    *("check user, password", "must be a chat id", "belongs to another user"),
)
# Verbs, and names of things outside: what no glossary has to explain.
VERBS = {
    *("up", "init", "login", "notify", "revise", "recall", "ask", "wait", "asks", "doctor", "config", "migrate"),
    *("prune", "pair", "connect"),
    "backup",
}
LEFT = {
    "docs/reference/tools.md",  # has what models are told of `send_notification`, word for word as it was specified
    "docs/reference/scenarios.md",  # tells the specifications in their own words
}
# The words of a specification, and those of the providers, whom the sandbox plays.
OTHERS_WORDS = (
    *("src/postroom/desk/", "src/postroom/inbox/model.py"),
    *("src/postroom/butlers/messenger/acts.py", "src/postroom/butlers/loading.py"),
    *("src/postroom/channels/", "src/postroom/sandbox/"),
)


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(GLOSSARY.read_text(encoding="utf-8")))


def words() -> set[str]:
    return {word.strip().lower() for row in rows() for word in row["words"].split(",")}


def is_known(name: str) -> bool:
    """In the singular or the plural."""
    name = name.lower()
    singular = {name, name.removesuffix("s"), re.sub("ies$", "y", name), {"people": "person"}.get(name, name)}
    return bool(singular & words())


def test_a_word_stands_once_in_one_sentence() -> None:
    counted = Counter(word.strip() for row in rows() for word in row["words"].split(","))

    assert [word for word, many in counted.items() if many > 1] == []
    assert [row["words"] for row in rows() if len(row["meaning"]) > 240] == []
    text = GLOSSARY.read_text(encoding="utf-8")
    assert text.count("\n| **") == len(rows()), "every row is read"


def test_words_for_people_say_where_to_see_them() -> None:
    before, _, _ = GLOSSARY.read_text(encoding="utf-8").partition("## Inside")

    assert [row["words"] for row in ROW.finditer(before) if not row["place"]] == []


def sections() -> Iterator[str]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ConsoleSection":
                yield from (str(one.value.value) for one in node.keywords if _is_name(one))


def _is_name(keyword: ast.keyword) -> bool:
    return keyword.arg == "name" and isinstance(keyword.value, ast.Constant)


def test_the_consoles_navigation_uses_these_words() -> None:
    assert len(set(sections())) > 8
    assert [name for name in set(sections()) if not is_known(name)] == []


def test_groups_and_nouns_of_the_command_line_are_these_words() -> None:
    nouns = set(Commands.listed) - VERBS - {"login-mail"}

    assert [name for name in nouns if not is_known(name)] == []


def prose(page: Path) -> str:
    return CODE.sub(" ", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in pages() if shown(page) not in LEFT], ids=shown)
def test_documentation_uses_no_twin(page: Path) -> None:
    assert list(twins(prose(page))) == []


def twins(text: str) -> Iterator[str]:
    for fine in FINE:
        text = text.replace(fine, " ")
    for twin, instead in TWINS.items():
        for found in re.finditer(rf"\b{twin}\b", text, re.I):
            around = " ".join(text[max(0, found.start() - 40) : found.end() + 40].split())
            yield f"'{found[0]}' is called {instead}: … {around} …"


@pytest.mark.parametrize("name", commands())
def test_help_uses_no_twin(name: str) -> None:
    command: Any = commands()[name]
    said = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]

    assert [twin for text in said for twin in twins(re.sub(r"--[\w-]+|`[^`]*`|POSTROOM_\w+", " ", text))] == []


def test_what_commands_and_messages_say_uses_no_twin() -> None:
    found = [
        f"{shown(file)}: {twin}"
        for file in sorted(SOURCE.rglob("*.py"))
        if not shown(file).startswith(OTHERS_WORDS)
        for text in sentences(file)
        for twin in twins(re.sub(r"--[\w-]+|`[^`]*`|POSTROOM_\w+", " ", text))
    ]

    assert found == []


def sentences(file: Path) -> Iterator[str]:
    """What is said aloud: texts of more than two words that are no docstring."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        said = node.value if isinstance(node, ast.Constant) and id(node) not in silent else None
        if isinstance(said, str) and len(said.split()) > 2:
            yield said
