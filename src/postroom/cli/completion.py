"""Which fixed words the Tab key offers where: one table for all commands, read only when a shell asks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from typer._click.shell_completion import CompletionItem

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
