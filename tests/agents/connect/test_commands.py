"""`postroom connect`: the client's own files, changed as little as can be."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.cli.command import Done, postroom, postroom_beside
from tests.household.living import QUICK, living
from tests.services.ports import free_port

from postroom.agents.connect.clients import CLIENTS
from postroom.kernel.guard.tokens import TokenFile
from postroom.settings.connections import read_all

FILES = {
    "claude": [".claude.json", ".claude/settings.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    "cursor": [".cursor/mcp.json"],
    "vscode": [".config/Code/User/mcp.json"],
    "claude-desktop": [".config/Claude/claude_desktop_config.json"],
    "opencode": [".config/opencode/opencode.json"],
}
PROJECT = {
    "claude": [".mcp.json", ".claude/settings.local.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    "cursor": [".cursor/mcp.json"],
    "vscode": [".vscode/mcp.json"],
    "opencode": ["opencode.json"],
}
every_client = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture(autouse=True)
def person(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An account of its own with an empty home and a project to stand in."""
    place = tmp_path / "ada"
    (place / "shop").mkdir(parents=True)
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "POSTROOM_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("POSTROOM_PORTS__API", str(free_port()))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(place / "shop")
    with capture_logs():
        yield place


def connect(*words: str) -> Done:
    return postroom("connect", *words)


def written(place: Path) -> dict[str, bytes]:
    found = (file for file in place.rglob("*") if file.is_file() and not file.name.endswith(".postroom-backup"))
    return {str(file.relative_to(place)): file.read_bytes() for file in found}


def entry(client: str, place: Path) -> dict[str, Any]:
    text = (place / FILES[client][0]).read_text()
    document: Any = tomllib.loads(text) if client == "codex" else json.loads(text)
    names = {"codex": "mcp_servers", "vscode": "servers", "opencode": "mcp"}
    found: dict[str, Any] = document[names.get(client, "mcpServers")]["postroom"]
    return found


@pytest.mark.requirement("connect:repeatable", "connect:remove")
@every_client
def test_it_is_connected_once_and_removed_without_a_trace(client: str, person: Path, home: Path) -> None:
    first = connect(client, "--yes")
    after = written(person)
    second = connect(client, "--yes")

    assert first.code == 0 and "is connected." in first.out, first
    assert sorted(after) == sorted(FILES[client])
    assert "bridge" in json.dumps(entry(client, person)) and str(home) in json.dumps(entry(client, person))
    assert "connected already" in second.out and written(person) == after
    assert len([one for one in TokenFile(home / "tokens.json").held() if one.principal.name == client]) == 1

    gone = connect(client, "--remove", "--yes")
    assert "not connected any more" in gone.out and written(person) == {}
    assert not list(person.rglob("*.postroom-backup"))
    assert [one for one in TokenFile(home / "tokens.json").held() if one.principal.name == client] == []
    assert read_all(home) == {"programs": {}, "files": {}}
    assert "nothing to remove" in connect(client, "--remove", "--yes").out


@pytest.mark.requirement("connect:byte-for-byte", "connect:kept-as-it-was")
@every_client
def test_a_file_that_was_there_comes_back_to_the_byte(client: str, person: Path) -> None:
    file = person / FILES[client][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    text = b"x = 1 # \xc3\xa9, no end" if client == "codex" else b'{\r\n\t"x": {} // \xc3\xa9\r\n  }'
    file.write_bytes(text)
    file.chmod(0o640)

    connect(client, "--yes")
    assert file.read_bytes() != text and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.with_name(file.name + ".postroom-backup").read_bytes() == text
    connect(client, "--yes", "--wait-seconds", "77")
    connect(client, "--remove", "--yes")

    assert file.read_bytes() == text and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert written(person) == {FILES[client][0]: text}


@pytest.mark.requirement("connect:remove")
def test_what_others_added_meanwhile_stays(person: Path) -> None:
    settings = person / ".claude" / "settings.json"
    settings.parent.mkdir()
    theirs = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}, "model": "opus"}
    settings.write_text(json.dumps(theirs, indent=2))
    connect("claude", "--yes")
    changed = json.loads(settings.read_text())
    changed["hooks"]["PostToolUse"].append({"hooks": [{"type": "command", "command": "mine postroom"}]})
    changed["theme"] = "dark"
    settings.write_text(json.dumps(changed))

    connect("claude", "--remove", "--yes")

    left = json.loads(settings.read_text())
    assert left["theme"] == "dark" and left["model"] == "opus"
    assert left["hooks"] == {
        **theirs["hooks"],  # type: ignore[dict-item]
        "PostToolUse": [{"hooks": [{"type": "command", "command": "mine postroom"}]}],
    }


@pytest.mark.requirement("connect:shown-first")
def test_nothing_is_written_before_a_yes(person: Path, home: Path) -> None:
    shown = connect("claude", "--dry-run")
    refused = connect("claude")

    assert f"+++ {person}/.claude.json" in shown.out and '+    "postroom": {' in shown.out
    assert refused.code == 1 and "say --yes" in refused.error
    assert written(person) == {} and not (home / "connections.json").exists()
    assert not (home / "tokens.json").exists()
    connect("claude", "--yes")
    before = written(person)
    assert "--- " in connect("claude", "--remove", "--dry-run").out and written(person) == before


@pytest.mark.requirement("connect:refused-untouched")
@pytest.mark.parametrize(
    ("client", "text", "why"),
    [
        ("claude", b'{"a": ', "line 1"),
        ("gemini", b"[]", "not an object"),
        ("codex", b"a = [", "left as it is"),
        ("codex", b"mcp_servers = {}\n", "cannot be changed safely"),
        ("cursor", b"\xff\xfe{}", "UTF-8"),
        ("opencode", b'{"mcp": 3}', "mcp is not an object"),
    ],
)
def test_a_broken_file_is_refused_in_a_sentence_and_left_alone(
    client: str, text: bytes, why: str, person: Path, home: Path
) -> None:
    file = person / FILES[client][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text)

    done = connect(client, "--yes")

    assert done.code == 1 and why in done.error and str(file) in done.error and "left as it is" in done.error
    assert written(person) == {FILES[client][0]: text} and not (home / "tokens.json").exists()


@pytest.mark.requirement("connect:kept-as-it-was")
def test_a_link_stays_a_link(person: Path) -> None:
    kept = person / "dotfiles" / "cursor.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    link = person / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/cursor.json")

    connect("cursor", "--yes")
    assert link.is_symlink() and "postroom" in kept.read_text()
    connect("cursor", "--remove", "--yes")
    assert link.is_symlink() and kept.read_text() == "{}"


def test_a_link_that_leads_in_a_circle_is_refused(person: Path) -> None:
    link = person / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to("mcp.json")

    assert connect("cursor", "--yes").code == 1 and link.is_symlink()


@pytest.mark.requirement("connect:no-token-shown")
@every_client
def test_no_file_of_a_client_and_no_output_holds_the_token(client: str, person: Path, home: Path) -> None:
    done = connect(client, "--yes")

    token = read_all(home)["programs"][client]["token"]
    assert token.startswith("pr_program_")
    assert token not in done.out + done.error
    assert all(token.encode() not in content for content in written(person).values())
    assert stat.S_IMODE((home / "connections.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("client", PROJECT)
def test_a_project_has_files_of_its_own(client: str, person: Path) -> None:
    connect(client, "--project", "--yes")
    assert (
        sorted(written(person / "shop"))
        == sorted(PROJECT[client])
        == sorted(name.removeprefix("shop/") for name in written(person))
    )
    connect(client, "--yes")
    connect(client, "--remove", "--yes")
    assert sorted(written(person / "shop")) == sorted(PROJECT[client])
    connect(client, "--project", "--remove", "--yes")
    assert written(person) == {}


def test_an_existing_opencode_file_with_comments_is_the_one(person: Path) -> None:
    file = person / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text('{\n  // mine\n  "theme": "x",\n}\n')

    connect("opencode", "--yes")

    assert "// mine" in file.read_text() and '"postroom"' in file.read_text()
    assert not file.with_suffix(".json").exists()


@pytest.mark.requirement("connect:skill")
@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude", ".claude/skills/postroom/SKILL.md"),
        ("codex", ".agents/skills/postroom/SKILL.md"),
        ("gemini", ".gemini/skills/postroom/SKILL.md"),
        ("opencode", ".config/opencode/skills/postroom/SKILL.md"),
    ],
)
def test_a_skill_is_installed_on_request_and_removed(client: str, file: str, person: Path) -> None:
    connect(client, "--yes", "--skill")

    text = (person / file).read_text()
    assert text.startswith("---\nname: postroom\ndescription: ")
    assert "Call `ask` once" in text and "Do not ask again" in text
    connect(client, "--remove", "--yes")
    assert written(person) == {}


def test_a_skill_that_a_person_changed_stays(person: Path) -> None:
    connect("claude", "--yes", "--skill")
    skill = person / ".claude/skills/postroom/SKILL.md"
    skill.write_text(skill.read_text() + "\nAlso greet me.\n")

    connect("claude", "--remove", "--yes")

    assert list(written(person)) == [".claude/skills/postroom/SKILL.md"]


def test_what_is_wrong_is_said(person: Path) -> None:
    wrong = {
        ("claud",): "did you mean 'claude'",
        (): "Name a client",
        ("claude-desktop", "--project", "--yes"): "no settings of a project",
        ("claude", "--project", "--user"): "not both",
        ("claude", "--yes", "--for", "nemo"): "'nemo' is not known",
    }
    for words, told in wrong.items():
        done = connect(*words)
        code = 1 if "nemo" in words else 2
        assert done.code == code and told.lower() in done.error.lower(), (words, done)
    assert written(person) == {}


def test_a_household_elsewhere_needs_a_program_s_token(
    person: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_URL", "https://house.example/")
    monkeypatch.setenv("POSTROOM_TOKEN", "pr_person_0123456789abcdef")
    refused = connect("cursor", "--yes")
    monkeypatch.setenv("POSTROOM_TOKEN", "pr_program_0123456789abcdef")
    monkeypatch.setattr("postroom.agents.connect.commands.answers", lambda _: None)
    connect("cursor", "--yes")

    assert refused.code == 1 and "postroom token create --program cursor" in refused.error
    assert read_all(home)["programs"]["cursor"] == {
        "url": "https://house.example",
        "token": "pr_program_0123456789abcdef",
    }


@pytest.mark.requirement("connect:list")
async def test_the_list_says_what_is_connected_and_whether_it_answers(
    person: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    (person / ".gemini").mkdir()
    port = int(os.environ["POSTROOM_PORTS__API"])
    away = connect("cursor", "--yes")
    assert "no household answers" in away.error and "postroom service install" in away.error
    async with living(home, QUICK, {"ports": {"api": port}}):
        await postroom_beside("connect", "claude", "--yes")
        listed = json.loads((await postroom_beside("connect", "--list", "--json")).out)
        words = (await postroom_beside("connect", "--list")).out
        TokenFile(home / "tokens.json").revoke(TokenFile(home / "tokens.json").held()[-1].principal)
        revoked = (await postroom_beside("connect", "--list")).out
    rows = {one["client"]: one for one in listed}

    assert rows["claude"]["connected"] == ["user"] and rows["claude"]["problem"] is None
    assert rows["gemini"] | {"title": ""} == {
        "client": "gemini", "title": "", "installed": True, "connected": [], "problem": None
    }  # fmt: skip
    assert rows["vscode"]["installed"] is False
    assert "claude          connected (user), works" in words and "gemini          not connected" in words
    assert "claude          connected (user), does not work: its token is not valid any more" in revoked
    assert "no household answers" in (await postroom_beside("connect", "--list")).out


@every_client
def test_removing_from_a_broken_file_leaves_it_and_says_so_in_a_sentence(client: str, person: Path) -> None:
    connect(client, "--yes")
    file = person / FILES[client][0]
    file.write_text("[broken\n{" + file.read_text())

    said = connect(client, "--remove", "--yes")
    assert said.code != 0 and "It was left as it is" in said.error, said
    assert file.read_text().startswith("[broken")
