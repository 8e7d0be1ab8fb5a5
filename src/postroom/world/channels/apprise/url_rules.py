"""Which Apprise URLs an account may have: one service elsewhere, and nothing that reads or does something here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

HERE: Final = frozenset(
    {"blink1", "dbus", "gio", "glib", "gnome", "growl", "kde", "macosx", "qt", "syslog", "rsyslog", "windows"}
)
CHAINS: Final = frozenset({"apprise", "apprises"})
OURS: Final = frozenset(
    {"retry", "wait", "optional", "redirect", "verify", "overflow", "cto", "rto", "store", "format", "emojis"}
)
FILES: Final = frozenset({"template", "keyfile", "subfile", "pgp", "pgppub", "pgpprv", "attach"})

_SECOND: Final = re.compile(r"[\s,;][^?&=]*://")
_FORM: Final = re.compile(r"[a-z0-9]{1,32}://[!-~]*", re.IGNORECASE)


def form_problem(url: str) -> str | None:
    """What is wrong with the URL as it is written; the sentence repeats nothing of it."""
    if _SECOND.search(url):
        return "must name one service; make an account for each"
    if not _FORM.fullmatch(url):
        return "must be an Apprise URL such as ntfys://host/topic, without spaces"
    return None


def service_problem(schemas: Iterable[str], parameters: Iterable[str] = ()) -> str | None:
    """The same of what Apprise reads in it, so that no other spelling gets around the rules."""
    named = {schema.lower() for schema in schemas}
    if named & HERE:
        return f"must not be {_listed(named & HERE)}: it would do something on this machine"
    if named & CHAINS:
        return "must not lead to another Apprise: nothing could be known about what it does"
    given = {parameter.strip().lower() for parameter in parameters}
    if taken := given & OURS:
        return f"must not set {_listed(taken)}: retries, patience and form are Postroom's own"
    if read := given & FILES:
        return f"must not set {_listed(read)}: it can read files of this machine"
    return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
