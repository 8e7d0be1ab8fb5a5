"""Which fixed words the Tab key offers where: one table for all commands, read only when a shell asks."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Final

import typer
from typer._click.exceptions import ClickException, UsageError
from typer._click.shell_completion import CompletionItem

from postroom.kernel.values.errors import PostroomError, UserError
from postroom.kernel.values.fields import strict_json

if TYPE_CHECKING:
    from typer._click import Command, Context
    from typer._click.core import Parameter

Offer = tuple[str, ...]


_CLIENTS: Final = ("claude", "claude-desktop", "codex", "cursor", "gemini", "opencode", "vscode")

# Of an option wherever it stands, or of an argument by the command it belongs to.
OPTIONS: Final[dict[str, Offer]] = {
    "--urgency": ("passive", "normal", "time_sensitive", "critical"),
    "--priority": ("high", "medium", "low"),
    "--format": ("plain", "markdown"),
    "--kind": ("text", "choice", "approve", "form"),
    "--status": ("open", "answered", "declined", "expired", "cancelled", "superseded"),
    "--preset": ("everything", "calm", "focus"),
    "--role": ("approver", "member", "contact"),
    "--provider": ("google", "microsoft"),
}
OF_COMMANDS: Final[dict[tuple[str, str], Offer]] = {
    ("connect", "client"): _CLIENTS,
    ("bridge", "client"): _CLIENTS,
    ("hook", "client"): ("claude", "codex", "gemini"),
    ("connectors export", "which"): ("chatgpt", "gemini"),
}


def offer_of(command: str, parameter: Parameter) -> Offer | None:
    """`command` is its path below `postroom`."""
    names = parameter.opts if parameter.param_type_name == "option" else [str(parameter.name)]
    found = [OF_COMMANDS.get((command, name)) or OPTIONS.get(name) for name in names]
    return next((one for one in found if one is not None), None)


def teach(path: str, command: Command) -> None:
    """Let each of its parameters offer what the table says."""
    for one in command.params:
        if (offer := offer_of(path, one)) is not None:
            vars(one)["shell_complete"] = partial(_items, offer)


def _items(offer: Offer, _context: Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in offer if word.startswith(incomplete)]


# One command line to begin with, of every command: shown at the end of its help.


EXAMPLES: Final[dict[str, str]] = {
    "up": "postroom up --home ~/household",
    "init": "postroom init ~/household",
    "login": "postroom login",
    "login-mail": "postroom login-mail email --provider google --client-id 1234.apps.googleusercontent.com",
    "notify": 'postroom notify "The backup is done" --channel telegram',
    "revise": 'postroom revise 01a1e54c-2f0b-7000-9d2c-4b6f5a1e7c30 "The backup is done, twice"',
    "recall": 'postroom recall 01a1e54c-2f0b-7000-9d2c-4b6f5a1e7c30 --reason "sent too early"',
    "ask": 'postroom ask "Deploy to production?" --options yes,no --wait 15m',
    "wait": "postroom wait 01a1e54f-2f0b-7000-9d2c-4b6f5a1e7c30 --wait 1h",
    "answer": "postroom answer 01a1e54f-2f0b-7000-9d2c-4b6f5a1e7c30 yes",
    "asks": "postroom asks --mine --status open",
    "audit": "postroom audit --kind decision",
    "trace": "postroom trace 01a1e54c",
    "why": "postroom why 01a1e54c",
    "owner": "postroom owner --telegram",
    "channels": "postroom channels",
    "doctor": "postroom doctor",
    "config": "postroom config",
    "desk": "postroom desk --check",
    "backup": "postroom backup ~/backups/monday",
    "migrate": "postroom migrate",
    "worker": "postroom worker --database postgresql://postroom@db/postroom",
    "prune": "postroom prune --older-than 90d --dry-run",
    "attention show": "postroom attention show",
    "attention set": "postroom attention set --preset calm --quiet 22:00-07:00",
    "attention plan": "postroom attention plan",
    "attention simulate": "postroom attention simulate --policy calmer.toml --replay 7d",
    "attention ack": "postroom attention ack 01a1e550-2f0b-7000-9d2c-4b6f5a1e7c30",
    "attention snooze": "postroom attention snooze 01a1e550-2f0b-7000-9d2c-4b6f5a1e7c30 --for 2h",
    "attention withdraw": "postroom attention withdraw --key build-17",
    "attention mute": "postroom attention mute health --for 1d",
    "attention away": "postroom attention away --for 2h --delegate Bob",
    "approvals list": "postroom approvals list",
    "approvals show": "postroom approvals show 01a1e551-2f0b-7000-9d2c-4b6f5a1e7c30",
    "approvals approve": "postroom approvals approve 01a1e551-2f0b-7000-9d2c-4b6f5a1e7c30",
    "approvals reject": 'postroom approvals reject 01a1e551-2f0b-7000-9d2c-4b6f5a1e7c30 --reason "not today"',
    "token create": "postroom token create --program ci --for owner --label build-server",
    "token show": "postroom token show --butler health",
    "token list": "postroom token list",
    "token revoke": "postroom token revoke --program ci",
    "people list": "postroom people list",
    "people add": "postroom people add Bob --address email:bob@example.org",
    "people show": "postroom people show Bob",
    "people edit": "postroom people edit Bob --zone Europe/Vienna",
    "people remove": "postroom people remove Bob",
    "people history": "postroom people history Bob --limit 5",
    "people import": "postroom people import people.vcf",
    "pair": "postroom pair Bob --channel telegram",
    "contacts list": "postroom contacts list",
    "contacts import": "postroom contacts import people.vcf",
    "connectors export": "postroom connectors export chatgpt --url https://post.example.org",
    "connect": "postroom connect claude",
    "hook": "postroom hook claude --finished",
    "headless": 'postroom headless -- claude -p "Mend the failing test"',
    "bridge": "postroom bridge claude",
    "service install": "postroom service install --dry-run",
    "service remove": "postroom service remove",
    "service status": "postroom service status",
}


def epilog_of(path: str) -> str | None:
    found = EXAMPLES.get(path)
    return f"\b\nExample:\n  {found}" if found else None


# Under `--json` what went wrong is JSON as well, on standard error; how a command ends stays as it is.


USER_HINTS: Final = {
    "invalid": "The message says what to change.",
    "not_running": "Start the household with `postroom up`, or see with `postroom doctor` what is wrong.",
    "refused": "The household said no: its message says why.",
    "usage": "`--help` after the command lists what it takes.",
    "aborted": "Nothing was done; `--yes`, where a command has it, answers its question beforehand.",
}


def run(app: typer.Typer) -> int:
    """The code to end with."""
    try:
        ended = app(standalone_mode=False)
    except UserError as error:
        return _fail(error.code, str(error), USER_HINTS.get(error.code, USER_HINTS["refused"]), error.ending)
    except PostroomError as error:
        from postroom.kernel.values.errors import hint_of

        return _fail(str(error.code), str(error), hint_of(error), 1)
    except ClickException as error:
        return _fail("usage", error.format_message(), _usage(error), error.exit_code)
    except typer.Abort:
        return _fail("aborted", "The question was not answered with yes.", USER_HINTS["aborted"], 1)
    return ended if isinstance(ended, int) else 0


def _usage(error: ClickException) -> str:
    if isinstance(error, UsageError) and error.ctx is not None:
        return f"`{error.ctx.command_path} --help` lists what it takes."
    return USER_HINTS["usage"]


def _fail(code: str, message: str, hint: str, ending: int) -> int:
    document = {"error": {"code": code, "message": message, "hint": hint}}
    sys.stderr.write(strict_json(document, ensure_ascii=False) + "\n")
    return ending
