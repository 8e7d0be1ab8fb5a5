"""`postroom up`: run a household until told to stop."""

from __future__ import annotations

import asyncio
import os
import plistlib
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from postroom.channels.email.building import mailbox
from postroom.household.store import open_store
from postroom.inbox.model import Preferences
from postroom.inbox.preferences import changed
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.files import replace_file
from postroom.kernel.running.terminal import (
    Database,
    Home,
    Json,
    Redis,
    Roster,
    bar,
    complain,
    say,
    say_json,
    typed_name,
)
from postroom.kernel.values.errors import Mistyped, SettingsError, StoreUnavailable, UserError
from postroom.kernel.values.fields import did_you_mean
from postroom.settings import Settings
from postroom.settings.connections import home_of
from postroom.settings.load import from_process, source_of

if TYPE_CHECKING:
    from postroom.household.console import RunningHousehold
    from postroom.settings.roster import ButlerConfig

_OF_A_WORKER: Final = (
    "  This is a delivery worker: it sends what the household has stored, beside `postroom up` and other workers.",
    "  It has no port and no page; `postroom doctor` and the console's Health name it while it lives.",
    "",
)
Only = Annotated[
    list[str] | None, typer.Option("--only", help="Run only this part; may be repeated or comma-separated.")
]


def up(
    home: Home = None,
    database: Database = None,
    redis: Redis = None,
    roster: Roster = None,
    only: Only = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    no_sandbox: Annotated[bool, typer.Option("--no-sandbox", help="Never pretend: real providers only.")] = False,
) -> None:
    """Run a household: switchboard, butlers, messenger, API and, without credentials, the sandbox."""
    from postroom.butlers.loading import with_credentials
    from postroom.household.store import parts_of
    from postroom.settings.roster import load_roster

    overrides: dict[str, Any] = {
        "home": home,
        "database_url": database,
        "redis_url": redis,
        "roster": roster,
        "host": host,
        "sandbox": False if no_sandbox else None,
    }
    settings, _ = from_process(overrides)
    butlers = load_roster(settings, os.environ)
    settings = with_credentials(settings, butlers, os.environ)
    _run(settings, butlers, _parts(parts_of(settings, butlers), only))


def worker(home: Home = None, database: Database = None, redis: Redis = None, roster: Roster = None) -> None:
    """
    Add a delivery worker to a household on PostgreSQL: one more process that sends what is stored.

    It has no port and no page, and needs the household's settings, credentials and tokens; `postroom up` has all the
    rest, and sends, too. Start as many as you like, on any machine, and stop each at any time.
    """
    from postroom.butlers.loading import with_credentials
    from postroom.settings.roster import load_roster

    settings, _ = from_process({"home": home, "database_url": database, "redis_url": redis, "roster": roster})
    if settings.sqlite_file is not None:
        raise SettingsError(
            "postroom worker needs PostgreSQL (POSTROOM_DATABASE_URL): "
            "a SQLite household has one worker, in `postroom up`."
        )
    butlers = load_roster(settings, os.environ)
    _run(with_credentials(settings, butlers, os.environ), butlers, ("worker",))


def _parts(known: tuple[str, ...], only: list[str] | None) -> tuple[str, ...]:
    chosen = [name.strip() for item in only or [] for name in item.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            raise Mistyped(f"--only: there is no part '{name}'{did_you_mean(name, known)} Parts: {', '.join(known)}.")
    return tuple(part for part in known if not chosen or part in chosen)


def _run(settings: Settings, roster: Sequence[ButlerConfig], parts: Sequence[str]) -> None:
    import uvloop

    from postroom.kernel.running import telemetry as log
    from postroom.kernel.running import telemetry as trace
    from postroom.kernel.running.process import collect_less_often
    from postroom.kernel.serving.servers import raise_descriptor_limit

    raise_descriptor_limit()
    collect_less_often()
    log.configure_log(settings.telemetry.log_level)
    endpoint = settings.telemetry.otlp_endpoint
    provider = trace.configure_tracing(trace.otlp_exporter(endpoint) if endpoint else None)
    uvloop.run(_until_signalled(settings, roster, parts))
    provider.shutdown()


async def _until_signalled(settings: Settings, roster: Sequence[ButlerConfig], parts: Sequence[str]) -> None:
    from postroom.household.household import running

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        with bar("Starting the household"):  # the first time its database is made, and after an update changed
            household = await stack.enter_async_context(running(settings, parts, roster, os.environ))
        in_private = sys.stdout.isatty()  # what a journal or a file keeps, others may read later
        link = None
        with suppress(StoreUnavailable):  # the household waits for it; `postroom login` prints a link afterwards
            link = await household.sign_in() if household.sign_in and in_private else None
        for line in announcement(household, link, in_private=in_private):
            say(line)
        await stop.wait()
        say("Stopping: sessions may finish for 30 seconds, and what is being sent is finished …")
    say("Stopped.")


def announcement(household: RunningHousehold, link: str | None, *, in_private: bool) -> list[str]:
    """A journal keeps what runs where, and no secret; a person at a terminal reads the last two lines."""
    settings, own = household.settings, typed_name()
    here = "" if settings.home == home_of(os.environ, None) else f" --home {shlex.quote(str(settings.home))}"
    lines = ["", "Postroom is up.", ""]
    if household.parts == ("worker",):
        return [*lines, *_OF_A_WORKER, f"  data         {settings.home}", "", "  Ctrl-C stops."]
    if not in_private:
        lines += [f"  {part:<13}{address}" for part, address in household.addresses.items()]
        lines += ["", f"  tokens       {settings.tokens_file}"]
    lines += [f"  data         {settings.home}", ""]
    if settings.in_sandbox:
        lines += _in_sandbox(household)
    lines += [f"  Ctrl-C stops. In another terminal `{own}{here}` says what runs and what waits.", ""]
    if household.sign_in:
        lines.append(f"  The console   {f'{link}  (once, for ten minutes)' if link else f'{own} login{here}'}")
    return [*lines, f'  Try next      {own} notify "Hello"{here}']


def _in_sandbox(household: RunningHousehold) -> list[str]:
    from postroom.household.channels import configured_channels

    played, url = configured_channels(household.settings), household.addresses.get("sandbox")
    return [
        "  SANDBOX: no provider credentials are set, so nothing leaves this machine.",
        f"  It plays {', '.join(played)}.",
        *([f"  Your phone and your mailbox: {url}"] if url else []),
        "",
    ]


# `postroom config`: the effective settings and where each came from.


def config(home: Home = None, json: Json = False) -> None:
    """Print the effective settings with their source; secrets are hidden."""
    settings, sources = from_process({"home": home})
    values = _flat(settings.model_dump(mode="json"))
    rows = [(key, value, source_of(key, sources) or "default") for key, value in values]
    if json:
        say_json({key: {"value": value, "source": source} for key, value, source in rows})
        return
    for key, value, source in rows:
        say(f"{key} = {value!r}  # {source}")


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else [(f"{prefix}{name}", value)]
    return rows


# `postroom init`: write an editable household.


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the household shall live.")],
    json: Json = False,
) -> None:
    """Write an editable household: settings and one folder per butler."""
    from postroom.settings.accounts import kind_names
    from postroom.settings.roster import shipped_roster
    from postroom.settings.written import CREDENTIALS, NEW_SETTINGS

    roster = directory / "roster"
    if roster.exists() or (directory / "postroom.toml").exists():
        raise SettingsError(
            f"{directory} already holds a household; name another folder, or start this one with --home."
        )
    directory.mkdir(parents=True, exist_ok=True)
    for source in sorted(shipped_roster().glob("*/butler.toml")):
        target = roster / source.parent.name / "butler.toml"
        target.parent.mkdir(parents=True)
        shutil.copyfile(source, target)
    settings = NEW_SETTINGS.format(kinds=", ".join(kind_names()), credentials=", ".join(CREDENTIALS))
    (directory / "postroom.toml").write_text(settings, encoding="utf-8")
    command = shlex.join(["postroom", "up", "--home", str(directory), "--roster", str(roster)])
    if json:
        say_json({"home": str(directory), "roster": str(roster), "command": command})
    else:
        say(f"A household is in {directory}. Start it with:\n  {command}")


# Put a person's e-mail address into that person's preferences, without a running household.


async def remember_address(settings: Settings, user_id: str, email: str) -> None:
    if (address := mailbox(email)) is None:
        raise Mistyped("--email: must be a single e-mail address.")
    edit = partial(changed, wished=Preferences(email=address), names=("email",), confirmed=True)
    async with open_store(settings) as store:
        await store.preferences.change(user_id, edit, SystemClock().now_us())


# `postroom migrate`: bring the database to the newest schema.


def migrate(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Bring the database to the newest schema; `up` does it by itself."""
    settings, _ = from_process({"home": home, "database_url": database})
    before, after = asyncio.run(_migrate(settings, quiet=json))
    if json:
        say_json({"before": before, "after": after})
    elif before == after:
        say(f"The database is at revision {after}: nothing to do.")
    else:
        say(f"The database went from revision {before or 'none'} to {after}.")


async def _migrate(settings: Settings, *, quiet: bool) -> tuple[str | None, str | None]:
    from postroom.household.store import connected

    async with connected(settings) as store:
        with bar("Migrating", quiet=quiet) as show:
            return await store.database.migrate(show)


# `postroom service`: a household that runs whenever you are signed in, so that agents always find one.


app = typer.Typer(help="Run the household as a service of your own account.", no_args_is_help=True)
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the file and change nothing.")]


@app.command("install")
def install(home: Home = None, dry_run: DryRun = False, json: Json = False) -> None:
    """Write the service's file (systemd, or launchd on macOS) and start it."""
    text, path = _text(home), _path()
    if dry_run:
        say_json({"file": str(path), "written": False, "text": text, "failed": []}) if json else say(text.rstrip("\n"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode(), 0o644)
    if not json:
        say(f"Wrote {path}.")
    failed = _all_run(_starting(path), "Starting the service", quiet=json)
    if json:
        say_json({"file": str(path), "written": True, "text": text, "failed": failed})


@app.command("remove")
def remove(dry_run: DryRun = False, json: Json = False) -> None:
    """Stop it and remove the file; the household's data stays."""
    path, failed = _path(), list[str]()
    said, there = "There is no service to remove.", path.exists()
    if there and dry_run:
        said = f"Would stop it and remove {path}."
    elif there:
        failed = _all_run(_stopping(path), "Stopping the service", quiet=json)
        path.unlink()
        said = f"Removed {path}."
    gone = there and not dry_run
    say_json({"file": str(path), "removed": gone, "failed": failed}) if json else say(said)


@app.command("status")
def status(json: Json = False) -> None:
    """Whether it is installed and runs; exits with 1 when it does not."""
    installed, runs = _path().exists(), False
    said = "Not installed: `postroom service install` does it."
    if installed:
        words = ["launchctl", "list", LABEL] if _is_mac() else ["systemctl", "--user", "is-active", UNIT]
        runs = shutil.which(words[0]) is not None and _ended(words) == 0
        said = f"Installed at {_path()}; it {'runs' if runs else 'does not run'}."
    say_json({"file": str(_path()), "installed": installed, "runs": runs}) if json else say(said)
    raise typer.Exit(0 if runs else 1)


def _text(home: str | None) -> str:
    program = [str(_program()), "up", "--home", str(home_of(os.environ, home).absolute())]
    return launchd_file(program, _user_home()) if _is_mac() else systemd_file(program)


def _program() -> Path:
    beside = Path(sys.executable).with_name("postroom")
    found = str(beside) if beside.exists() else shutil.which("postroom")
    if found is None:
        raise UserError(
            "The command postroom is not installed where a service could start it: install it with pipx or uv."
        )
    return Path(found)


def _path() -> Path:
    if _is_mac():
        return _user_home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    return Path(os.environ.get("XDG_CONFIG_HOME") or _user_home() / ".config") / "systemd" / "user" / UNIT


def _starting(path: Path) -> list[list[str]]:
    if _is_mac():
        return [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", UNIT]]


def _stopping(path: Path) -> list[list[str]]:
    if _is_mac():
        return [["launchctl", "bootout", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "disable", "--now", UNIT]]


def _all_run(commands: list[list[str]], title: str, *, quiet: bool) -> list[str]:
    """Those that did not work."""
    failed = []
    with bar(title, quiet=quiet) as show:
        for place, words in enumerate(commands, 1):
            if shutil.which(words[0]) is None or _ended(words) != 0:
                failed.append(shlex.join(words))
            show(place, len(commands))
    for one in failed:
        complain(f"This did not work here: {one}; type it yourself to see why, or let `postroom up` run in a terminal.")
    return failed


def _ended(words: list[str]) -> int:
    return subprocess.run(words, check=False, capture_output=True).returncode  # noqa: S603  # our own words


def _is_mac() -> bool:
    return sys.platform == "darwin"


def _user_home() -> Path:
    return Path(os.environ.get("HOME") or Path.home())


# The files with which a person's own account keeps a household running: systemd's, and launchd's on macOS.


UNIT: Final = "postroom.service"
LABEL: Final = "org.postroom.household"
_SPECIAL: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"})

_SYSTEMD: Final = """\
[Unit]
Description=Postroom household
After=network.target

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=2
TimeoutStopSec=60
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def systemd_file(command: Sequence[str]) -> str:
    return _SYSTEMD.format(command=" ".join(f'"{word.translate(_SPECIAL)}"' for word in command))


def launchd_file(command: Sequence[str], home: Path) -> str:
    log = str(home / "Library" / "Logs" / "postroom.log")
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "ExitTimeOut": 60,
            "StandardOutPath": log,
            "StandardErrorPath": log,
            "Umask": 0o077,
        },
        sort_keys=False,
    ).decode()
