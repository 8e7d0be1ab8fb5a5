"""`postroom backup`: a household copied into a folder, also while it runs."""

from __future__ import annotations

import fnmatch
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Final
from urllib.parse import quote, unquote, urlsplit

import typer

from postroom.kernel.running.telemetry import scrub
from postroom.kernel.running.terminal import Database, Home, Json, say, say_json
from postroom.kernel.values.errors import UserError
from postroom.settings import Settings
from postroom.settings.load import from_process

# What lies in a home and is not copied: databases are copied by themselves, the rest matters while something runs.
_NOT_COPIED: Final = ("*.db", "*.db[-.]*", ".*", "attention.changed", "sessions", "hooks", "headless", "desk")


def backup(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is not there yet.")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Copy a household into a new folder, also while it runs; restored, it goes on from that moment."""
    settings, _ = from_process({"home": home, "database_url": database})
    folder = directory.expanduser().absolute()
    if folder.exists():
        raise UserError(
            f"{directory} is there already: name a folder that is not, such as one with the day in its name."
        )
    if folder.resolve().is_relative_to(settings.home.resolve()):
        raise UserError(f"{directory} lies in the household's own folder: name one outside of it.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))  # for its owner's eyes alone
    try:
        _copy_database(settings, begun)  # first: then every file that a row names is there
        _copy_files(settings, begun)
        begun.chmod(0o700)
        begun.rename(folder)  # so a folder of this name is whole
    finally:
        shutil.rmtree(begun, ignore_errors=True)
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    if json:
        say_json({"folder": str(folder), "bytes": size})
    else:
        say(f"The household is in {folder}, {size / 1e6:,.1f} MB.")
        say("It holds tokens and credentials: keep it as you keep those.")


def _copy_database(settings: Settings, folder: Path) -> None:
    file = settings.sqlite_file
    if file is None:
        _dump(settings.database, folder / "postroom.dump")
        return
    if not file.exists():
        raise UserError(
            f"No household has been started in {settings.home}: name its folder by --home, or start it by `postroom up`"
        )
    ours = sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=rw", uri=True)
    with closing(ours), closing(sqlite3.connect(folder / "postroom.db")) as copy:
        ours.backup(copy)
    (folder / "postroom.db").chmod(0o600)


def _dump(url: str, file: Path) -> None:
    """The password goes through the environment: others of the machine may read command lines."""
    program = shutil.which("pg_dump")
    if program is None:
        raise UserError(
            "pg_dump is not here: install PostgreSQL's own programs, of the server's version or a newer one."
        )
    parts = urlsplit(url)
    logins, _, place = parts.netloc.rpartition("@")
    user, _, password = logins.partition(":")
    address = f"postgresql://{user}{'@' if user else ''}{place}{parts.path}{parts.query and f'?{parts.query}'}"
    environment = os.environ | ({"PGPASSWORD": unquote(password)} if password else {})
    command = [program, "--format=custom", f"--file={file}", f"--dbname={address}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        told = scrub(done.stderr.strip())[:500]
        raise UserError(f"pg_dump ended with {done.returncode}; mend what it says, or change --database: {told}")


def _copy_files(settings: Settings, folder: Path) -> None:
    files = settings.home / Path(settings.messages.files).expanduser()
    places = {settings.home: folder, files: folder / "files"}
    if settings.roster is not None:
        places[settings.roster] = folder / "roster"

    def not_copied(of: str, names: list[str]) -> set[str]:
        if Path(of) == files:  # what is being handed in has other names
            return {name for name in names if len(name) != 2}
        if Path(of) == settings.home:
            return {name for one in _NOT_COPIED for name in fnmatch.filter(names, one)} | {files.name}
        return set()

    for place, copy in places.items():
        if place.is_dir():
            shutil.copytree(place, copy, ignore=not_copied, dirs_exist_ok=True)
