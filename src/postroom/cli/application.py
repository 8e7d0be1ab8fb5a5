"""Every command, and how all of them fail: one sentence, no traceback."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer
from typer._click.exceptions import BadParameter
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from postroom.kernel.running.terminal import Home, Json, as_called, complain, say
from postroom.kernel.values.errors import Mistyped, PostroomError, UserError
from postroom.kernel.values.principal import OPERATOR

if TYPE_CHECKING:
    from typer._click import Command, Context
    from typer._click.core import Parameter
    from typer._click.formatting import HelpFormatter

    from postroom.kernel.audit import AuditKind
    from postroom.settings import Settings

# Acts of commands that change the household without its API: written down for the audit.


def noted(settings: Settings, kind: AuditKind, act: str, *, subject: str = "", detail: str = "") -> None:
    """In the name of the owner: who may read the household's files is."""
    import asyncio

    from postroom.household.store import note_command
    from postroom.kernel.audit import NewAudit

    entry = NewAudit(actor=str(OPERATOR), kind=kind, act=act, subject=subject, detail=detail, door="command")
    asyncio.run(note_command(settings, entry))


# Commands that are listed by name and line, and imported when one of them is asked for.


_COMPLETING: Final = "_POSTROOM_COMPLETE"  # set by the shell's script when a person presses Tab


class Single(TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return sparing_pydantic(super().get_params(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, as_called_now(args, getattr(self.callback, "former", {})))


def as_called_now(words: list[str], former: Mapping[str, str]) -> list[str]:
    """With every option under its name of today, which is said where it was typed by that of before."""
    options = list(itertools.takewhile(lambda word: word != "--", words))
    flags = [word.partition("=")[0] for word in options]
    for flag in [one for one in former if one in flags]:
        if (now := former[flag]) in flags:
            raise Mistyped(f"{flag}: is called {now} now; give one of them.")
        complain(f"{flag} is called {now} now.")
        options = [now + word.removeprefix(flag) if word.partition("=")[0] == flag else word for word in options]
    return options + words[len(options) :]


class Listed(TyperCommand):
    """What the list of commands and the Tab key need to know."""

    def __init__(self, name: str, place: str, line: str) -> None:
        super().__init__(name, help=line, rich_markup_mode=None)
        self._place = place

    def imported(self) -> Command:
        module, _, attribute = self._place.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            for one in found.registered_commands:
                one.cls = Single
            return get_group_from_info(
                TyperInfo(found, name=self.name, cls=Group),
                pretty_exceptions_short=False,
                suggest_commands=True,
                rich_markup_mode=None,
            )
        return get_command_from_info(
            CommandInfo(name=self.name, cls=Single, callback=found),
            pretty_exceptions_short=False,
            rich_markup_mode=None,
        )


class Group(TyperGroup):
    """Says the whole line of each command, and imports a listed one when it is chosen."""

    listed: ClassVar[Mapping[str, tuple[str, str]]] = {}
    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # titles, and the names below each

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands.update({name: Listed(name, *one) for name, one in self.listed.items()})

    def get_params(self, ctx: Context) -> list[Parameter]:
        return sparing_pydantic(super().get_params(ctx))

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        found = command.imported() if isinstance(command, Listed) else command
        path = f"{ctx.command_path} {name}".partition("postroom ")[2]
        if found is not None and _COMPLETING in os.environ:
            from postroom.cli.helping import teach

            teach(path, found)
        elif found is not None and "--help" in rest:
            from postroom.cli.helping import epilog_of

            found.epilog = epilog_of(path)
        return name, found, rest

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for title, names in (self.sections or {"Commands": tuple(self.commands)}).items():
            rows = [(name, " ".join((self.commands[name].help or "").split())) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


# Options whose value needs no conversion are taken as they are: Typer would import pydantic for each.
#
# What is wrong with any other is said in our words, and not in the library's.


_NO_UTF8: Final = re.compile("[\ud800-\udfff]")  # what the shell passed on as it was
_INSTEAD: Final = "get_runtime_param"  # how a parameter finds what converts its value


class _Plain:
    def __init__(self, parameter: Any) -> None:
        self._converter = getattr(parameter, _INSTEAD)
        self._is_text = parameter.type_descriptor.annotation is str
        self._are_texts = parameter.type_descriptor.annotation == list[str]
        self._absent: Any = () if parameter.multiple else None

    def __call__(self) -> _Plain:
        return self

    def coerce(self, value: Any, **where: Any) -> Any:
        if value is None:
            return self._absent
        if self._is_text or self._are_texts:
            _refuse_bytes(value, **where)
        if self._is_text and isinstance(value, str):
            return value
        try:
            return self._converter().coerce(value, **where)
        except BadParameter as error:
            if told := _in_our_words(error.__cause__):
                raise BadParameter(told, ctx=error.ctx, param=error.param) from None
            raise


def _refuse_bytes(value: Any, **where: Any) -> None:
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and any(isinstance(one, str) and _NO_UTF8.search(one) for one in texts):
        raise BadParameter("is not text in UTF-8", **where)


def _in_our_words(cause: BaseException | None) -> str | None:
    from pydantic import ValidationError

    from postroom.kernel.values.fields import words

    return words(cause.errors()[0]) if isinstance(cause, ValidationError) else None


def sparing_pydantic(parameters: list[Parameter]) -> list[Parameter]:
    """The same parameters; with a Typer that works otherwise, nothing happens to them."""
    for one in parameters:
        if hasattr(one, _INSTEAD) and _INSTEAD not in vars(one):
            vars(one)[_INSTEAD] = _Plain(one)
    return parameters


# Where each one is, and what it says of itself: the list of all of them imports none.
_LISTED = {
    "up": (
        "postroom.cli.up:up",
        "Run a household: switchboard, butlers, messenger, API and, without credentials, the sandbox.",
    ),
    "init": ("postroom.cli.up:init", "Write an editable household: settings and one folder per butler."),
    "login": (
        "postroom.people.signing_in.commands:login",
        "Print a link that signs you in to the console; it works once, for ten minutes.",
    ),
    "login-mail": (
        "postroom.channels.email.commands:login_mail",
        "Let Google or Microsoft grant access to a mailbox, without a password.",
    ),
    "notify": (
        "postroom.delivery.commands:notify",
        "Send a message; exits with 0 delivered, stored or held, 3 muted, 1 refused or failed; "
        "POSTROOM_URL: elsewhere.",
    ),
    "revise": (
        "postroom.overview.commands:revise",
        "Give a message another text: in place, by an edit, or by a correction in its thread; exits with 1 when not.",
    ),
    "recall": (
        "postroom.overview.commands:recall",
        "Take a message back: withdraw it, delete it, or say in its thread to disregard it; exits with 1 when not.",
    ),
    "ask": (
        "postroom.questions.commands:ask",
        "Ask people; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled.",
    ),
    "wait": (
        "postroom.questions.commands:wait",
        "Wait for an answer; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled.",
    ),
    "answer": (
        "postroom.questions.commands:answer",
        "Answer a question as the person it asks; exits with 0 when the answer counts.",
    ),
    "asks": (
        "postroom.questions.commands:asks",
        "List questions: of an agent what it asked, of a person what asks them, of the owner all.",
    ),
    "trace": (
        "postroom.overview.commands:trace",
        "Show every hop, attempt and receipt of a request, straight from the ledger, or from POSTROOM_URL.",
    ),
    "why": (
        "postroom.overview.commands:why",
        "Say in plain English why a message or question is where it is, from the ledger or from POSTROOM_URL.",
    ),
    "owner": (
        "postroom.channels.telegram.commands:owner",
        "Show where the owner is reached, or find the owner's chat with the bot and write it into the settings.",
    ),
    "channels": (
        "postroom.channels.commands:channels",
        "List each channel with its kind, what it can do and its health; POSTROOM_URL names a household elsewhere.",
    ),
    "doctor": (
        "postroom.cli.doctor.doctor:doctor",
        "Check Python, files, ports, loops, database, Redis, credentials, clock and display; "
        "exits with 1 on a problem.",
    ),
    "config": ("postroom.cli.up:config", "Print the effective settings with their source; secrets are hidden."),
    "desk": (
        "postroom.desk.commands:desk",
        "Serve the popup tool `notify` to an MCP client on this machine, and show the household's questions to you.",
    ),
    "migrate": ("postroom.cli.up:migrate", "Bring the database to the newest schema; `up` does it by itself."),
    "backup": (
        "postroom.cli.backup:backup",
        "Copy a household into a new folder, also while it runs; restored, it goes on from that moment.",
    ),
    "worker": (
        "postroom.cli.up:worker",
        "Add a delivery worker to a household on PostgreSQL: one more process that sends what is stored. "
        "It has no port and no page, and needs the household's settings, credentials and tokens; "
        "`postroom up` has all the rest, and sends, too. Start as many as you like, on any machine, and "
        "stop each at any time.",
    ),
    "prune": (
        "postroom.overview.commands:prune",
        "Remove settled deliveries, logs, sessions, read notes and old questions' words.",
    ),
    "attention": (
        "postroom.attention.commands:app",
        "When people are shown what agents have to say, and what will happen to it.",
    ),
    "approvals": ("postroom.approvals.commands:app", "Decide what may be sent."),
    "audit": (
        "postroom.overview.commands:audit",
        "List who signed in, who decided and who changed what, newest first.",
    ),
    "token": (
        "postroom.people.signing_in.commands:app",
        "Make, list and revoke the tokens callers identify themselves with.",
    ),
    "people": (
        "postroom.people.commands:people_app",
        "Everybody this household knows: the owner, members and contacts.",
    ),
    "pair": (
        "postroom.people.commands:pair",
        "Show a code that a person sends to the bot, once, to prove an account of theirs; by e-mail, send a link.",
    ),
    "contacts": ("postroom.people.commands:contacts_app", "The people this household can write to."),
    "connectors": ("postroom.connectors.export:app", "Connect ChatGPT and Gemini."),
    "connect": (
        "postroom.agents.connect.commands:connect",
        "Connect a coding agent: its own files are shown, written and, with --remove, restored.",
    ),
    "hook": (
        "postroom.agents.coding.commands:hook",
        "Answer a coding agent's hook with what the person says on the phone; says nothing in every doubt.",
    ),
    "headless": (
        "postroom.agents.coding.commands:headless",
        "Run Claude Code without a screen: it ends at a permission, asks on the phone, and is resumed with the answer.",
    ),
    "bridge": (
        "postroom.agents.coding.commands:bridge",
        "Carry a connected client's MCP between its standard streams and the household; clients start it.",
    ),
    "service": ("postroom.cli.up:app", "Run the household as a service of your own account."),
}


_SECTIONS = {
    "Start": ("up", "init", "login", "connect", "service", "doctor"),
    "Tell and ask": ("notify", "revise", "recall", "ask", "wait", "answer"),
    "See and decide": ("asks", "approvals", "attention", "trace", "why", "audit", "channels"),
    "People": ("owner", "people", "contacts", "pair"),
    "Connect": ("token", "connectors", "login-mail", "desk", "headless", "hook", "bridge"),
    "Run": ("config", "backup", "migrate", "prune", "worker"),
}


class Commands(Group):
    listed = _LISTED
    sections = _SECTIONS


app = typer.Typer(
    name="postroom",
    cls=Commands,
    help="Carries messages between AI agents and people. Alone, it says what runs and what waits.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to import than all the rest
)


def _say_version(asked: bool) -> None:
    from postroom.kernel.running.process import package_version

    if asked:
        say(f"postroom {package_version()}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and end.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Carries messages between AI agents and people. Alone, it says what runs and what waits."""
    if context.invoked_subcommand is None:
        from postroom.overview.standing import show_standing

        show_standing(home, json)
    elif home is not None or json:
        context.fail(f"--home and --json go after the command: postroom {context.invoked_subcommand} …")


def failure(error: UserError | PostroomError) -> str:
    """One line. What is made for the keyboard names the next step itself."""
    said = " ".join(str(error).split()) if isinstance(error, PostroomError) else str(error)
    if isinstance(error, UserError):
        return said
    from postroom.kernel.values.errors import hint_of

    return f"{said.rstrip('.')}. {hint_of(error)}"


def main() -> None:
    if "--json" in itertools.takewhile(lambda word: word != "--", sys.argv):
        from postroom.cli.helping import run

        sys.exit(run(app))
    try:
        app()
    except (UserError, PostroomError) as error:
        sys.stderr.write(f"postroom: {as_called(failure(error))}\n")
        sys.exit(error.ending if isinstance(error, UserError) else 1)
