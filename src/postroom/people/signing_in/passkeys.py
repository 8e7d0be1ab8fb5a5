"""Passkeys: what a browser is asked, and whether its answer proves who is there."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from starlette.requests import Request

from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read, values
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from postroom.people.signing_in.rules import digest
from postroom.people.signing_in.store import console_sessions
from postroom.people.store.tables import passkey_challenges, passkeys

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor


CHALLENGE_LIFE_SECONDS: Final = 300.0
MOST_CHALLENGES: Final = 10_000  # open at a time: anybody may ask for one
MOST_PASSKEYS: Final = 20  # of one person
LONGEST_LABEL: Final = 64


class Ceremony(StrEnum):
    REGISTER = "register"
    SIGN_IN = "sign in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passkey:
    """`id` and `public_key` are base64url, as browsers write them; `counter` is what the device counted last."""

    id: str
    person_id: str
    public_key: str
    counter: int
    transports: tuple[str, ...]
    label: str
    created_at_us: int
    last_used_at_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Kept once, for a short time: by whom it may be answered, and in which browser."""

    digest: str
    ceremony: Ceremony
    browser: str
    person_id: str | None
    expires_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where the console is, as a browser would say it; a passkey is good at one `rp_id`."""

    rp_id: str
    origin: str


def user_handle(person_id: str) -> bytes:
    """What an authenticator keeps to know the person by; it says nothing of them to others."""
    return hashlib.sha256(b"postroom passkey\x1f" + person_id.encode()).digest()


_MOST_CHARACTERS: Final = 16_384  # of what a browser answers
_ID: Final = re.compile(r"[\w-]{1,1400}", re.ASCII)  # the standard's 1,023 bytes in base64url
_NAME: Final = "Postroom"
_TRANSPORTS: Final = frozenset({"usb", "nfc", "ble", "internal", "cable", "hybrid", "smart-card"})


class PasskeyRefused(Exception):
    """One sentence for the person; what exactly was wrong helps only those who try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passkeys:
    """
    `browser` is a secret of the browser before us: a challenge is answered where it was asked.

    The library is imported when it is first needed.
    """

    store: StoredPasskeys
    clock: Clock
    new_challenge: Callable[[], bytes]

    async def registration(self, person_id: str, name: str, site: Site, browser: str) -> str:
        """What the browser is asked to make, as JSON."""
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        options = generate_registration_options(
            rp_id=site.rp_id,
            rp_name=_NAME,
            user_name=name,
            user_display_name=name,
            user_id=user_handle(person_id),
            challenge=await self._challenge(Ceremony.REGISTER, browser, person_id),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
            ),
            exclude_credentials=_descriptors(await self.store.of(person_id)),
        )
        return options_to_json(options)

    async def register(self, person_id: str, by: str, answer: str, label: str, site: Site, browser: str) -> Passkey:
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url

        credential = _read(answer)
        challenge = _challenge_in(credential)
        kept = await self._taken(challenge, Ceremony.REGISTER, browser)
        if kept is None or kept.person_id != person_id:
            raise PasskeyRefused("This took too long or was answered already. Try again.")
        verified = _verified(
            verify_registration_response,
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
            require_user_verification=True,
        )
        made = Passkey(
            id=bytes_to_base64url(verified.credential_id),
            person_id=person_id,
            public_key=bytes_to_base64url(verified.credential_public_key),
            counter=verified.sign_count,
            transports=_transports(credential),
            label=_label(label),
            created_at_us=self.clock.now_us(),
        )
        if not await self.store.add(made, by):
            raise PasskeyRefused("This passkey is registered already, or there are too many: remove one first.")
        return made

    async def question(self, site: Site, browser: str) -> str:
        """What the browser is asked to prove, as JSON; any passkey of this site may answer."""
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=site.rp_id,
            challenge=await self._challenge(Ceremony.SIGN_IN, browser, None),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json(options)

    async def recognise(self, answer: str, site: Site, browser: str) -> Passkey:
        """The passkey that was shown, with its count moved on."""
        from webauthn import verify_authentication_response
        from webauthn.helpers import base64url_to_bytes

        credential = _read(answer)
        challenge = _challenge_in(credential)
        kept = await self._taken(challenge, Ceremony.SIGN_IN, browser)
        known = await self.store.get(credential["id"]) if kept else None
        if kept is None or known is None or not _is_handle(credential, known.person_id):
            raise PasskeyRefused("This passkey is not known here. Sign in by a link.")
        verified = _verified(
            verify_authentication_response,
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
            credential_public_key=base64url_to_bytes(known.public_key),
            credential_current_sign_count=known.counter,
            require_user_verification=True,
        )
        if not await self.store.used(known, verified.new_sign_count, self.clock.now_us()):
            raise PasskeyRefused("This passkey was used somewhere else at the same moment. Try again.")
        return known

    async def _challenge(self, ceremony: Ceremony, browser: str, person_id: str | None) -> bytes:
        made, now_us = self.new_challenge(), self.clock.now_us()
        kept = Challenge(
            digest=digest(made.hex()),
            ceremony=ceremony,
            browser=digest(browser),
            person_id=person_id,
            expires_at_us=now_us + seconds(CHALLENGE_LIFE_SECONDS),
        )
        await self.store.keep_challenge(kept, now_us)
        return made

    async def _taken(self, challenge: bytes, ceremony: Ceremony, browser: str) -> Challenge | None:
        kept = await self.store.take_challenge(digest(challenge.hex()), self.clock.now_us())
        return kept if kept and kept.ceremony is ceremony and browser and kept.browser == digest(browser) else None


def _verified(verify: Callable[..., Any], **what: Any) -> Any:
    """The library refuses what a stranger made up in many ways; all of them mean the same here."""
    try:
        return verify(**what)
    except Exception as error:
        raise PasskeyRefused("The passkey could not be verified, so nothing was done.") from error


def _read(answer: str) -> dict[str, Any]:
    try:
        read = json.loads(answer) if len(answer) <= _MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict) or not isinstance(read.get("response"), dict) or not _is_id(read.get("id")):
        raise PasskeyRefused("This is not a passkey's answer.")
    return read


def _is_id(said: object) -> bool:
    return isinstance(said, str) and _ID.fullmatch(said) is not None


def _challenge_in(credential: dict[str, Any]) -> bytes:
    """As the browser quotes it; whether it is ours is asked of the store."""
    from webauthn.helpers import base64url_to_bytes

    try:
        said = json.loads(base64url_to_bytes(credential["response"]["clientDataJSON"]))
        return base64url_to_bytes(said["challenge"])
    except Exception as error:
        raise PasskeyRefused("This is not a passkey's answer.") from error


def _is_handle(credential: dict[str, Any], person_id: str) -> bool:
    from webauthn.helpers import bytes_to_base64url

    said = credential["response"].get("userHandle")
    return isinstance(said, str) and said.rstrip("=") == bytes_to_base64url(user_handle(person_id))


def _transports(credential: dict[str, Any]) -> tuple[str, ...]:
    said = credential["response"].get("transports")
    return tuple(sorted({one for one in said if isinstance(one, str)} & _TRANSPORTS)) if isinstance(said, list) else ()


def _label(text: str) -> str:
    return " ".join(text.split())[:LONGEST_LABEL] or "Passkey"


def _descriptors(known: Sequence[Passkey]) -> list[PublicKeyCredentialDescriptor]:
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.id)) for one in known]


# On disk: a challenge is handed out once and taken once.

_KEYS, _CHALLENGES = passkeys.c, passkey_challenges.c


class StoredPasskeys:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def keep_challenge(self, challenge: Challenge, now_us: int) -> None:
        row = values(challenge)

        def work(connection: Connection) -> None:
            connection.execute(delete(passkey_challenges).where(_CHALLENGES.expires_at <= now_us))
            _make_room(connection)
            connection.execute(insert(passkey_challenges).values(row))

        await self._database.write(work)

    async def take_challenge(self, digest: str, now_us: int) -> Challenge | None:
        """Whoever asks first has it, and it is gone; None when it is unknown, used or too old."""
        taken = delete(passkey_challenges).where(_CHALLENGES.digest == digest).returning(*passkey_challenges.c)
        row = await self._database.write(lambda connection: connection.execute(taken).first())
        if row is None or row.expires_at <= now_us:
            return None
        return read(Challenge, row)

    async def get(self, passkey_id: str) -> Passkey | None:
        asked = select(passkeys).where(_KEYS.id == passkey_id)
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return _passkey(row) if row else None

    async def of(self, person_id: str) -> Sequence[Passkey]:
        asked = select(passkeys).where(_KEYS.person_id == person_id).order_by(_KEYS.created_at, _KEYS.id)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [_passkey(row) for row in rows]

    async def counts(self, person_ids: Sequence[str]) -> dict[str, int]:
        asked = select(_KEYS.person_id, func.count()).where(_KEYS.person_id.in_(person_ids)).group_by(_KEYS.person_id)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return {row[0]: row[1] for row in rows}

    async def add(self, passkey: Passkey, by: str) -> bool:
        """False when it is registered already, or the person has as many as one may have."""

        def work(connection: Connection) -> bool:
            mine = select(func.count()).select_from(passkeys).where(_KEYS.person_id == passkey.person_id)
            known = select(_KEYS.id).where(_KEYS.id == passkey.id)
            is_full = connection.execute(mine).scalar_one() >= MOST_PASSKEYS
            if is_full or connection.execute(known).first() is not None:
                return False
            connection.execute(insert(passkeys).values(values(passkey, transports=",".join(passkey.transports))))
            self._audit(connection, by, "registered a passkey", passkey.label, passkey.created_at_us)
            return True

        return await self._database.write(work)

    async def used(self, passkey: Passkey, counter: int, now_us: int) -> bool:
        """False when another sign-in with it came between, or it was removed."""
        mine = update(passkeys).where(_KEYS.id == passkey.id, _KEYS.counter == passkey.counter)
        change = mine.values(counter=counter, last_used_at=now_us)
        return bool(await self._database.write(lambda connection: connection.execute(change).rowcount))

    async def remove(self, person_id: str, passkey_id: str, by: str, now_us: int) -> bool:
        """With every session that began with it."""
        gone = delete(passkeys).where(_KEYS.id == passkey_id, _KEYS.person_id == person_id).returning(_KEYS.label)
        table = console_sessions.c
        ended = update(console_sessions).where(table.credential == passkey_id, table.ended_at.is_(None))

        def work(connection: Connection) -> bool:
            row = connection.execute(gone).first()
            if row is None:
                return False
            connection.execute(ended.values(ended_at=now_us))
            self._audit(connection, by, "removed a passkey", row.label, now_us)
            return True

        return await self._database.write(work)

    async def remove_all(self, person_id: str) -> int:
        gone = delete(passkeys).where(_KEYS.person_id == person_id)
        return int(await self._database.write(lambda connection: connection.execute(gone).rowcount))

    def _audit(self, connection: Connection, by: str, act: str, label: str, now_us: int) -> None:
        entry = NewAudit(actor=by, kind=AuditKind.ACCESS, act=act, detail=label)
        add_entry(connection, self._mint(now_us), entry, now_us)


def _make_room(connection: Connection) -> None:
    """The oldest go: strangers who ask without end must not fill the table."""
    many = connection.execute(select(func.count()).select_from(passkey_challenges)).scalar_one()
    if many >= MOST_CHALLENGES:
        oldest = select(_CHALLENGES.digest).order_by(_CHALLENGES.expires_at).limit(many - MOST_CHALLENGES + 1)
        connection.execute(delete(passkey_challenges).where(_CHALLENGES.digest.in_(oldest)))


def _passkey(row: Row[Any]) -> Passkey:
    return read(Passkey, row, transports=tuple(filter(None, row.transports.split(","))))


# Whether passkeys can be used where the console was opened, and from which device a person signed in.


_LOCAL: Final = "localhost"


def site_of(request: Request) -> Site | None:
    """
    By the name it was asked for, which the guard has checked against the settings.

    None for a bare address such as 127.0.0.1, which the standard gives no passkeys.
    """
    host = request.headers.get("host", "").lower()
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name == _LOCAL:
        return Site(rp_id=_LOCAL, origin=f"http://{host}")
    return None if not name or _is_number(name) or "." not in name else Site(rp_id=name, origin=f"https://{host}")


def local_address(request: Request) -> str:
    """The same page under the name that has passkeys on this machine."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"http://{_LOCAL}:{port}" if port.isdigit() else f"http://{_LOCAL}"


def is_this_machine(request: Request) -> bool:
    host = request.headers.get("host", "").lower()
    return host.startswith(("127.", "[::1]"))


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# The device, in words its person knows it by.

_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)
UNKNOWN: Final = "an unknown device"


def device_words(user_agent: str) -> str:
    """Only from this list: what a browser says of itself is another's text."""
    browser = next((word for mark, word in _BROWSERS if mark in user_agent), "")
    system = next((word for mark, word in _SYSTEMS if mark in user_agent), "")
    return " on ".join(filter(None, (browser, system))) or UNKNOWN
