"""docs/reference/commands.md: every command and option, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scripts.reference.json_shapes import SHAPES, WITHOUT
from scripts.reference.markdown import code, page, table
from typer.main import get_command

from postroom.cli.application import app
from postroom.cli.helping import EXAMPLES

_INTRODUCTION = """\
`postroom` without arguments says whether a household runs here (or at `POSTROOM_URL`), what waits in it and what to do
next. `postroom COMMAND --help` says what stands here. Every command ends with 0 when all went well, with 1 and one
sentence when it did not, and with 2 when it was not understood. Of an id, the beginning is enough while it is unique.
`postroom --version` says which Postroom this is.

`--json` prints for scripts, in the shape that stands below each command; keys may be added, and none goes away. What
went wrong is said on standard error, under `--json` as `{"error": {"code", "message", "hint"}}`:
[Use commands from scripts](../how-to/scripts.md#results-as-json).

`postroom --install-completion` teaches your shell (bash, zsh, fish, PowerShell) to complete commands, options and fixed
words."""


def commands_page() -> str:
    alone = f"## `postroom`\n\nWhat runs, what waits and what to do next.\n\n{_in_json('')}"
    return page("Commands", _INTRODUCTION, [alone, *_commands(get_command(app), "postroom")])


def _commands(command: Any, path: str) -> Iterator[str]:
    for name in command.commands:
        _, inner, _ = command.resolve_command(command.context_class(command), [name])
        here = f"{path} {name}"
        if hasattr(inner, "commands"):
            yield from _commands(inner, here)
        else:
            yield _command(inner, here)


def _command(command: Any, path: str) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [
        one for one in command.params if one.param_type_name == "option" and one.name != "help" and not one.hidden
    ]
    needed = [f"{one.opts[0]} {one.name.upper()}" for one in options if one.required]
    usage = " ".join([path, *((one.metavar or one.name).strip("{}").upper() for one in arguments), *needed])
    rows = [(code((one.metavar or one.name).strip("{}").upper()), "required", one.help or "") for one in arguments]
    rows += [(_flags(one), _default(one), one.help or "") for one in options]
    shown = table(("option", "default", "meaning"), rows) if rows else "No options."
    return f"## {code(usage)}\n\n{_sentence(command.help or '')}\n\n{_example(path)}\n\n{shown}\n\n{_in_json(path)}"


def _example(path: str) -> str:
    return f"<!-- check: an example -->\n```sh\n{EXAMPLES[path.removeprefix('postroom ')]}\n```"


def _in_json(path: str) -> str:
    name = path.removeprefix("postroom ")
    if name in WITHOUT:
        return f"No `--json`: {WITHOUT[name]}."
    return f"`--json` prints {SHAPES[name].words}."


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _flags(option: Any) -> str:
    names = ", ".join(code(name) for name in option.opts)
    return names if option.is_flag else f"{names} {option.metavar or option.name.upper()}"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.default in (None, False, "") or callable(option.default):
        return ""
    return code(option.default)
