"""The clients we know: where their files are and what has to stand there."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from postroom.kernel.values.errors import Code, Mistyped
from postroom.kernel.values.fields import did_you_mean
from postroom.settings.connections import Connection
from postroom.settings.reach import Elsewhere, ElsewhereError, NotReached

SERVER: Final = "postroom"


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


class FileKind(StrEnum):
    JSON = "json"  # also with comments
    TOML = "toml"
    WHOLE = "whole"  # a file that is all ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where on this machine to look; `project` is the folder the command runs in."""

    home: Path
    project: Path
    environment: Mapping[str, str]
    platform: str

    def configured(self, variable: str, otherwise: str) -> Path:
        chosen = self.environment.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / otherwise

    @property
    def application_data(self) -> Path:
        """Where programs with windows keep their files."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.configured("APPDATA", "AppData/Roaming")
        return self.config

    @property
    def config(self) -> Path:
        return self.configured("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The command line of our program; `finished`: hear of every end of a turn, too."""

    program: tuple[str, ...]
    options: tuple[str, ...] = ()  # of both, such as --home
    wait_seconds: int | None = None
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooked:
    """One more entry in the list of an event."""

    event: str
    group: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """One file, and what of it is ours."""

    path: Path
    format: FileKind = FileKind.JSON
    server: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    hooks: tuple[Hooked, ...] = ()
    text: str = ""  # of a file that is all ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str
    title: str
    commands: tuple[str, ...]
    scopes: tuple[Scope, ...]
    folder: Callable[[Places, Scope], Path]
    targets: Callable[[Places, Scope, Starts], tuple[ClientFile, ...]]
    skills: Callable[[Places, Scope], Path] | None = None
    note: str = ""

    def is_installed(self, places: Places) -> bool:
        found = any(shutil.which(one, path=places.environment.get("PATH")) for one in self.commands)
        return found or self.folder(places, Scope.USER).is_dir()


def client_named(name: str, known: Mapping[str, Client]) -> Client:
    if name not in known:
        raise Mistyped(f"There is no client '{name}'{did_you_mean(name, list(known))} Clients: {', '.join(known)}.")
    return known[name]


# Each client's files, as its own documentation describes them.
#
# All of them start our bridge, which finds the token by itself: no client's file holds one.


BOTH: Final = (Scope.USER, Scope.PROJECT)
_CLAUDE_WAIT: Final = 86_400  # the terminal asks at the same time; helpers in the background wait a minute
_CODEX_WAIT: Final = 300  # the terminal asks only when we are silent
_SPARE: Final = 5
_CODEX_TOOL_SECONDS: Final = 300  # `ask` waits up to 280


def _bridge(client: str, starts: Starts) -> dict[str, Any]:
    program, *words = starts.program
    return {"command": program, "args": [*words, "bridge", client, *starts.options]}


def _hook(client: str, starts: Starts, wait: int) -> str:
    finished = ["--finished"] if starts.finished else []
    return shlex.join([*starts.program, "hook", client, *starts.options, "--wait-seconds", str(wait), *finished])


def _groups(command: str, timeouts: Mapping[str, int], matched: Mapping[str, str]) -> tuple[Hooked, ...]:
    """An entry for each event; `matched` names those that take a matcher."""
    return tuple(
        Hooked(
            event=event,
            group={
                **({"matcher": matched[event]} if event in matched else {}),
                "hooks": [{"type": "command", "command": command, "timeout": timeout}],
            },
        )
        for event, timeout in timeouts.items()
    )


def _claude_folder(places: Places, scope: Scope) -> Path:
    return places.configured("CLAUDE_CONFIG_DIR", ".claude") if scope is Scope.USER else places.project / ".claude"


def _claude(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    wait = starts.wait_seconds or _CLAUDE_WAIT
    timeouts = {
        "PermissionRequest": wait + _SPARE,
        "PostToolUse": 10,
        "PostToolUseFailure": 10,
        "Notification": 30,
        "UserPromptSubmit": 10,
        "Stop": 30,
        "SessionEnd": 10,
    }
    matched = {
        "PermissionRequest": "*",
        "PostToolUse": "*",
        "PostToolUseFailure": "*",
        "Notification": "idle_prompt|agent_needs_input",
    }
    folder = _claude_folder(places, scope)
    servers = places.project / ".mcp.json" if scope is Scope.PROJECT else _claude_json(places)
    settings = folder / ("settings.local.json" if scope is Scope.PROJECT else "settings.json")
    return (
        ClientFile(path=servers, server=("mcpServers", SERVER), entry={"type": "stdio", **_bridge("claude", starts)}),
        ClientFile(path=settings, hooks=_groups(_hook("claude", starts, wait), timeouts, matched)),
    )


def _claude_json(places: Places) -> Path:
    folder = places.environment.get("CLAUDE_CONFIG_DIR")
    return (Path(folder).expanduser() if folder else places.home) / ".claude.json"


def _codex_folder(places: Places, scope: Scope) -> Path:
    return places.configured("CODEX_HOME", ".codex") if scope is Scope.USER else places.project / ".codex"


def _codex(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    wait = starts.wait_seconds or _CODEX_WAIT
    timeouts = {"PermissionRequest": wait + _SPARE, "PostToolUse": 10, "UserPromptSubmit": 10, "Stop": 30}
    folder = _codex_folder(places, scope)
    entry = {**_bridge("codex", starts), "tool_timeout_sec": _CODEX_TOOL_SECONDS}
    return (
        ClientFile(path=folder / "config.toml", format=FileKind.TOML, server=("mcp_servers", SERVER), entry=entry),
        ClientFile(path=folder / "hooks.json", hooks=_groups(_hook("codex", starts, wait), timeouts, {})),
    )


def _gemini_folder(places: Places, scope: Scope) -> Path:
    home = Path(places.environment.get("GEMINI_CLI_HOME") or places.home)
    return (home if scope is Scope.USER else places.project) / ".gemini"


def _gemini(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    """Its hooks can forbid and not allow, so the terminal decides and the phone hears that it waits."""
    timeouts = {"Notification": 30_000, **({"AfterAgent": 30_000} if starts.finished else {})}
    command = _hook("gemini", starts, starts.wait_seconds or _CODEX_WAIT)
    return (
        ClientFile(
            path=_gemini_folder(places, scope) / "settings.json",
            server=("mcpServers", SERVER),
            entry=_bridge("gemini", starts),
            hooks=_groups(command, timeouts, {}),
        ),
    )


def _cursor_folder(places: Places, scope: Scope) -> Path:
    return (places.home if scope is Scope.USER else places.project) / ".cursor"


def _cursor(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    file = _cursor_folder(places, scope) / "mcp.json"
    return (ClientFile(path=file, server=("mcpServers", SERVER), entry=_bridge("cursor", starts)),)


def _vscode_folder(places: Places, scope: Scope) -> Path:
    return places.application_data / "Code" / "User" if scope is Scope.USER else places.project / ".vscode"


def _vscode(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    file = _vscode_folder(places, scope) / "mcp.json"
    return (ClientFile(path=file, server=("servers", SERVER), entry={"type": "stdio", **_bridge("vscode", starts)}),)


def _desktop_folder(places: Places, _scope: Scope) -> Path:
    return places.application_data / "Claude"


def _desktop(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    file = _desktop_folder(places, scope) / "claude_desktop_config.json"
    return (ClientFile(path=file, server=("mcpServers", SERVER), entry=_bridge("claude-desktop", starts)),)


def _opencode_folder(places: Places, scope: Scope) -> Path:
    return places.config / "opencode" if scope is Scope.USER else places.project


def _opencode(places: Places, scope: Scope, starts: Starts) -> tuple[ClientFile, ...]:
    folder = _opencode_folder(places, scope)
    with_comments = folder / "opencode.jsonc"
    file = with_comments if with_comments.exists() else folder / "opencode.json"
    command = [*starts.program, "bridge", "opencode", *starts.options]
    return (
        ClientFile(path=file, server=("mcp", SERVER), entry={"type": "local", "command": command, "enabled": True}),
    )


def _below(name: str) -> Any:
    return lambda places, scope: (places.home if scope is Scope.USER else places.project) / name / "skills"


def _opencode_skills(places: Places, scope: Scope) -> Path:
    return places.config / "opencode" / "skills" if scope is Scope.USER else places.project / ".opencode" / "skills"


CLIENTS: Final[Mapping[str, Client]] = {
    one.name: one
    for one in (
        Client(
            name="claude",
            title="Claude Code",
            commands=("claude",),
            scopes=BOTH,
            folder=_claude_folder,
            targets=_claude,
            skills=lambda places, scope: _claude_folder(places, scope) / "skills",
        ),
        Client(
            name="codex",
            title="Codex",
            commands=("codex",),
            scopes=BOTH,
            folder=_codex_folder,
            targets=_codex,
            skills=_below(".agents"),
            note="Codex runs new hooks only after you trusted them: open codex, type /hooks and trust postroom's.",
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            commands=("gemini",),
            scopes=BOTH,
            folder=_gemini_folder,
            targets=_gemini,
            skills=lambda places, scope: _gemini_folder(places, scope) / "skills",
        ),
        Client(
            name="cursor",
            title="Cursor",
            commands=("cursor", "cursor-agent"),
            scopes=BOTH,
            folder=_cursor_folder,
            targets=_cursor,
        ),
        Client(
            name="vscode",
            title="VS Code",
            commands=("code",),
            scopes=BOTH,
            folder=_vscode_folder,
            targets=_vscode,
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            commands=("claude-desktop",),
            scopes=(Scope.USER,),
            folder=_desktop_folder,
            targets=_desktop,
            note="Quit Claude Desktop and start it again.",
        ),
        Client(
            name="opencode",
            title="opencode",
            commands=("opencode",),
            scopes=BOTH,
            folder=_opencode_folder,
            targets=_opencode,
            skills=_opencode_skills,
        ),
    )
}

# Whether a connected client would reach its household now.


_SECONDS = 5.0


def answers(connection: Connection | None) -> str | None:
    """None when it does; else what is wrong, in a few words."""
    if connection is None:
        return "has no token here"
    from postroom.questions.acts import ListAsks

    try:
        Elsewhere(url=connection.url, token=connection.token).ask(ListAsks(limit=1), _SECONDS)
    except NotReached:
        return f"no household answers at {connection.url}"
    except ElsewhereError as error:
        if error.code in (Code.AUTH_FAILED, Code.POLICY_DENIED):
            return "its token is not valid any more: connect it again"
        return f"{connection.url} does not answer as a household: is that its API port?"
    return None
