"""Command lines that the documentation shows, held against what they are for."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from typer._click.exceptions import UsageError
from typer.main import get_command

from postroom.agents.coding.permission_tool import PERMISSION_TOOL
from postroom.cli.application import app
from tests.architecture.tree import ROOT

# Options that act as soon as they are read; parsing them would change the machine of whoever runs the tests.
_ACT_AT_ONCE = frozenset({"--install-completion", "--show-completion", "--help", "--version"})


def parse_postroom(arguments: Sequence[str]) -> None:
    """As the command line itself would, without doing anything."""
    command, words = get_command(app), [word for word in arguments if word not in _ACT_AT_ONCE]
    if words == ["--json"]:  # alone, it says what runs
        return
    try:
        while hasattr(command, "commands") and words:
            _, command, words = command.resolve_command(command.context_class(command), words)
        if words:
            command.make_context("postroom", words)
    except UsageError as error:
        raise AssertionError(f"postroom {' '.join(arguments)}: {error.format_message()}") from None


def type_postroom(arguments: Sequence[str]) -> None:
    """A command to type lacks nothing; `parse_postroom` lets one that is only mentioned stand alone."""
    parse_postroom(arguments)
    command, words = get_command(app), [word for word in arguments if word not in _ACT_AT_ONCE]
    while hasattr(command, "commands") and words:
        _, command, words = command.resolve_command(command.context_class(command), words)
    if not words and not _ACT_AT_ONCE & set(arguments):
        missing = [one.name for one in command.params if one.required]
        assert not missing, f"postroom {' '.join(arguments)}: {', '.join(missing)} is missing"


def _make(words: Sequence[str]) -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.M)
    wanted = [word for word in words if "=" not in word and not word.startswith("-")]
    assert set(wanted) <= set(targets), f"make {' '.join(words)}: the Makefile has {', '.join(targets)}"


def _pip(words: Sequence[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in words:
        assert not re.match(r"postroom\b", word), f"pip: {word}: it is not on PyPI; install it from the clone"
        for extra in re.findall(r"^\.\[([^\]]+)\]", word):
            assert set(extra.split(",")) <= set(project["optional-dependencies"]), f"pip: {word}"


def _claude(words: Sequence[str]) -> None:
    if len(words) == 1 and " " in words[0]:  # a task, in a person's words
        return
    if words[0] == "-p":
        assert words[words.index("--permission-prompt-tool") + 1] == f"mcp__postroom__{PERMISSION_TOOL}"
        return
    assert list(words[:2]) == ["mcp", "add"], words
    assert words[words.index("--transport") + 1] == "http"
    _server_url(words)
    assert words[words.index("--header") + 1].startswith("Authorization: Bearer ")


def _codex(words: Sequence[str]) -> None:
    assert list(words[:2]) == ["mcp", "add"], words
    assert "--url" in words and "--bearer-token-env-var" in words
    _server_url(words)


def _gemini(words: Sequence[str]) -> None:
    assert list(words[:2]) in (["mcp", "add"], ["extensions", "install"]), words
    if words[0] == "mcp":
        assert words[words.index("--transport") + 1] == "http"
        _server_url(words)


def _server_url(words: Sequence[str]) -> None:
    assert any(re.fullmatch(r"https?://[^/]+/mcp", word) for word in words), f"no address of an MCP server in {words}"


def _docker(words: Sequence[str]) -> None:
    assert words[0] in ("compose", "build", "run"), words
    if words[0] == "compose":
        import yaml

        services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
        named = [word.split("=")[0] for word in words if word.startswith(("worker", "door", "postgres", "redis"))]
        assert set(named) <= set(services), words


def _systemctl(words: Sequence[str]) -> None:
    units = {file.stem for file in (ROOT / "packaging").glob("*.service")}
    assert {word.removesuffix(".service") for word in words if word.startswith("postroom")} <= units


def _uvicorn(words: Sequence[str]) -> None:
    module, _, name = words[0].partition(":")
    assert (ROOT / "src" / Path(*module.split("."))).with_suffix(".py").exists() and name == "app", words


def _npm(words: Sequence[str]) -> None:
    assert words[0] == "install"


def _wheel(words: Sequence[str]) -> None:
    """uv and pipx install the file that is built here, by the name it gets."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    files = [word for word in words if word.endswith(".whl")]
    assert files in ([], [f"dist/postroom-{version}-py3-none-any.whl"]), words
    assert words[0] in ("build", "tool", "install"), words


def _sudo(words: Sequence[str]) -> None:
    check(words)


def _anything(_words: Sequence[str]) -> None:
    """Programs of the system, whose words are no business of ours."""


# Programs that are not run but recorded, because they are not here or would change this machine.
RECORDED: dict[str, Callable[[Sequence[str]], None]] = {
    "make": _make,
    "pip": _pip,
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "docker": _docker,
    "systemctl": _systemctl,
    "journalctl": _anything,
    "sysctl": _anything,
    "uvicorn": _uvicorn,
    "npm": _npm,
    "uv": _wheel,
    "pipx": _wheel,
    "sudo": _sudo,
    "crontab": _anything,
    "git": _anything,
    "nginx": _anything,
    "apt": _anything,
}
_SYSTEM = frozenset(
    {
        *("cat", "cd", "chmod", "cp", "createdb", "curl", "echo", "env", "export", "install", "kill", "mkdir", "mv"),
        *("pg_dump", "pg_restore", "psql", "python", "python3", "rm", "set", "sh", "sqlite3", "tail", "test", "touch"),
    }
)


def check(words: Sequence[str]) -> None:
    """A command that cannot run here is at least one that exists."""
    program, *rest = words
    program = re.sub(r"^(\.venv|/opt/postroom)/bin/", "", program)
    if program == "postroom":
        type_postroom(rest)
    elif program in RECORDED:
        RECORDED[program](rest)
    else:
        assert program in _SYSTEM or program.startswith(("./", "/", "scripts/", "examples/")), f"what is {program}?"


def command_lines(script: str) -> list[list[str]]:
    """The simple commands of a script that is only looked at: no loops, no functions."""
    lines = []
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Za-z_]+=.*", words[0]):
            words = words[1:]
        if words:
            lines.append(_until_operator(words))
    return lines


def _until_operator(words: list[str]) -> list[str]:
    ends = [place for place, word in enumerate(words) if word in ("|", ">", ">>", "&&", "<", "&", "||")]
    return words[: ends[0]] if ends else words
