"""`postroom token`: made, shown, listed, revoked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.command import postroom

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role

CALLERS = [
    (("--person", "ada"), "person:ada"),
    (("--program", "ci"), "program:ci"),
    (("--user", "ada"), "user:ada"),
    (("--butler", "health"), "butler:health"),
    (("--connector", "chatgpt"), "connector:chatgpt"),
    (("--operator",), "operator"),
]


def listed() -> list[dict[str, str | None]]:
    found: list[dict[str, str | None]] = json.loads(postroom("token", "list", "--json").out)
    return found


@pytest.mark.parametrize(("options", "who"), CALLERS, ids=[who for _, who in CALLERS])
def test_several_tokens_of_a_caller_work_until_each_is_revoked(home: Path, options: tuple[str, ...], who: str) -> None:
    serves = ("--for", "owner") if "--program" in options else ()
    phone = postroom("token", "create", *options, *serves, "--label", "phone").out.strip()
    laptop = postroom("token", "create", *options, *serves, "--label", "laptop").out.strip()
    tokens = TokenFile(home / "tokens.json")
    assert str(tokens.verify(phone)) == str(tokens.verify(laptop)) == who
    assert postroom("token", "show", *options).out.strip() == laptop

    shown = listed()
    assert [(one["principal"], one["label"], one["last_used_at"]) for one in shown] == [
        (who, "phone", None),
        (who, "laptop", None),
    ]
    done = postroom("token", "revoke", str(shown[0]["id"])[:6])

    assert done.out == f"Revoked; {who} has 1 other token.\n"
    assert (tokens.verify(phone), str(tokens.verify(laptop))) == (None, who)
    assert postroom("token", "revoke", *options).out == f"{who} has no token any more.\n"
    assert tokens.verify(laptop) is None
    assert postroom("token", "show", *options).code == 1
    assert (home / "tokens.json").stat().st_mode & 0o077 == 0


def test_the_list_names_label_making_and_last_use(home: Path) -> None:
    token = postroom("token", "create", "--program", "ci", "--for", "ada", "--label", "build server").out.strip()
    running = TokenFile(home / "tokens.json", lambda: 0)
    assert running.verify(token) == Principal(Role.PROGRAM, "ci", person="ada")

    assert postroom("token", "list").out.endswith("not used yet\n")
    running.write_last_use(running.last_use.take())

    line = postroom("token", "list").out
    assert "  program:ci for ada  build server  made just now" in line
    assert re.search(r"last used \d+ days ago\n$", line)
    assert token not in line + json.dumps(listed())


@pytest.mark.parametrize("command", ["show", "revoke"])
def test_a_mistyped_caller_is_answered_with_the_nearest(home: Path, command: str) -> None:
    postroom("token", "create", "--connector", "chatgpt")

    done = postroom("token", command, "--connector", "chatgtp")

    assert (done.code, done.error) == (1, "connector:chatgtp has no token, did you mean 'connector:chatgpt'?")


REFUSED = {
    "create": "exactly one caller",
    "create --person ada --operator": "exactly one caller",
    "create --program ci": "--for owner for your own",
    "create --for ada": "--for goes with --program",
    "create --person ada --for ada": "--for goes with --program",
    "create --person operator": "is 'owner'",
    "create --program ci --for operator": "is 'owner'",
    "create --program ci --for ada --email a@example.org": "only people get e-mail copies",
    "create --person ada --agent agent://a/b": "--agent goes with --connector",
    "revoke": "by its id",
    "revoke 00 --person ada": "by its id",
    "revoke zz": "There is no token zz",
}


def test_what_cannot_be_meant_is_refused_and_changes_nothing(home: Path) -> None:
    for arguments, sentence in REFUSED.items():
        done = postroom("token", *arguments.split())
        assert done.code == (1 if arguments == "revoke zz" else 2) and sentence in done.error, arguments

    assert not (home / "tokens.json").exists()


def test_the_beginning_of_two_ids_revokes_neither(home: Path) -> None:
    for number in range(17):
        postroom("token", "create", "--person", f"p{number}")
    ids = [str(one["id"]) for one in listed()]
    start = next(one[0] for one in ids if sum(other.startswith(one[0]) for other in ids) > 1)

    done = postroom("token", "revoke", start)

    assert done.code == 1 and f"tokens begin with {start}" in done.error
    assert len(listed()) == 17


def test_a_person_is_meant_by_name_alias_or_id(home: Path) -> None:
    person = json.loads(postroom("people", "add", "Ada Lovelace", "--alias", "Countess", "--json").out)

    tokens = [
        postroom("token", "create", "--person", who, "--json")
        for who in ("Ada Lovelace", "countess", person["person_id"])
    ]
    program = postroom("token", "create", "--program", "ci", "--for", "Countess")

    assert {json.loads(one.out)["principal"] for one in tokens} == {f"person:{person['person_id']}"}
    assert [one.error for one in (*tokens, program)] == [""] * 4
    assert TokenFile(home / "tokens.json").verify(program.out.strip()) == Principal(
        Role.PROGRAM, "ci", person=person["person_id"]
    )
    assert postroom("token", "show", "--person", "Countess").out.strip() == json.loads(tokens[-1].out)["token"]
    assert "has no token any more" in postroom("token", "revoke", "--person", "Countess").out
    assert [one["principal"] for one in listed()] == ["program:ci"]


@pytest.mark.requirement("house:tokens-of-known-people")
def test_a_person_who_is_not_known_yet_is_written_down_as_a_member(home: Path) -> None:
    first, second = postroom("token", "create", "--person", "ada"), postroom("token", "create", "--person", "ada")
    person = json.loads(postroom("people", "show", "ada", "--json").out)

    assert "'ada' was not known" in first.error and len(first.out.split()) == 1
    assert second.error == ""
    assert (person["person_id"], person["name"], person["role"]) == ("ada", "ada", "member")


def test_a_name_of_several_people_gets_no_token(home: Path) -> None:
    for chat in ("7", "8"):
        postroom("people", "add", "Ann", "--address", f"telegram:{chat}")

    done = postroom("token", "create", "--person", "Ann")

    assert done.code == 1 and "2 people are called 'Ann'" in done.error
    assert listed() == []
    assert "2 people are called 'Ann'" in postroom("token", "revoke", "--person", "Ann").error
