"""Sign-in links that work once, and the sessions they begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, delete, insert, or_, select, update

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.console_session import (
    LINK_LIFE_SECONDS,
    SESSION_LIFE_SECONDS,
    ConsoleSession,
    OpenSession,
    SignIn,
    SignInWay,
    digest,
    new_secret,
    person_of,
)
from postroom.domain.ids import IdMint
from postroom.domain.person import PersonRole
from postroom.domain.principal import Principal, Role
from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.shared.audit import add_entry
from postroom.world.store.tables.console_sessions import console_links, console_sessions
from postroom.world.store.tables.people import people
from postroom.world.store.tables.sign_in import sign_in_grants

_BETWEEN: Final = ","
_KEPT_US: Final = seconds(24 * 3600.0)  # after their end, so that a late click is told "expired" and not "unknown"
_ID_CHARACTERS: Final = 16
_LINKS, _SESSIONS = console_links.c, console_sessions.c


class StoredConsoleSessions:
    def __init__(self, database: Database, mint: Callable[[int], str] | None = None) -> None:
        self._database = database
        self._mint = mint or IdMint().mint

    async def invite(
        self,
        principal: Principal,
        now_us: int,
        *,
        token_ids: Sequence[str] = (),
        way: SignInWay = SignInWay.TERMINAL,
    ) -> str:
        """The secret of a new link; whoever shows it first is signed in, for as long as these tokens are good."""
        secret = new_secret()
        row = link_row(digest(secret), principal, now_us, token_ids, way)

        def work(connection: Connection) -> None:
            for table in (console_links, console_sessions):
                connection.execute(delete(table).where(table.c.expires_at < now_us - _KEPT_US))
            connection.execute(insert(console_links).values(row))

        await self._database.write(work)
        return secret

    async def redeem(self, link_secret: str, now_us: int, *, browser: str = "", device: str = "") -> str | None:
        """
        The secret of a new session, or None when the link is unknown, used or too old; the row decides a race.

        One that was asked for is good in the browser that asked, and in no other.
        """
        secret = new_secret()
        here = or_(_LINKS.browser.is_(None), _LINKS.browser == digest(browser)) if browser else _LINKS.browser.is_(None)
        use = (
            update(console_links)
            .where(_LINKS.digest == digest(link_secret), _LINKS.used_at.is_(None), _LINKS.expires_at > now_us, here)
            .values(used_at=now_us)
            .returning(_LINKS.role, _LINKS.name, _LINKS.token_ids, _LINKS.way)
        )

        def work(connection: Connection) -> bool:
            found = connection.execute(use).first()
            if found is None:
                return False
            way = SignInWay(found.way or SignInWay.TERMINAL)
            principal = Principal(Role(found.role), found.name)
            sign_in = SignIn(principal=principal, token_ids=_ids(found.token_ids), way=way, device=device)
            self._begin(connection, secret, sign_in, now_us)
            return True

        return secret if await self._database.write(work) else None

    async def is_for_another_browser(self, link_secret: str, browser: str, now_us: int) -> bool:
        """Whether the link would be good where it was asked for."""
        asked = select(_LINKS.browser).where(
            _LINKS.digest == digest(link_secret), _LINKS.used_at.is_(None), _LINKS.expires_at > now_us
        )
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return row is not None and row.browser is not None and row.browser != digest(browser)

    async def begin(self, sign_in: SignIn, now_us: int) -> str:
        secret = new_secret()
        await self._database.write(lambda connection: self._begin(connection, secret, sign_in, now_us))
        return secret

    async def find(self, secret: str, now_us: int) -> ConsoleSession | None:
        """With what the person is at this moment, so that a change of it counts at once, by which process ever."""
        person = and_(people.c.id == _SESSIONS.person_id, people.c.owner_agent == HOUSEHOLD_OWNER)
        joined = console_sessions.outerjoin(people, person).outerjoin(
            sign_in_grants, sign_in_grants.c.person_id == _SESSIONS.person_id
        )
        now = (people.c.name.label("called"), people.c.role.label("role_now"), sign_in_grants.c.invited_at)
        wanted = select(console_sessions, *now).select_from(joined)
        wanted = wanted.where(_SESSIONS.digest == digest(secret), _open(now_us))
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else _session(row)

    async def end(self, secret: str, now_us: int) -> None:
        ended = update(console_sessions).where(_SESSIONS.digest == digest(secret), _SESSIONS.ended_at.is_(None))
        await self._database.write(lambda connection: connection.execute(ended.values(ended_at=now_us)))

    async def end_all(self, principal: Principal, now_us: int, *, but: str = "") -> int:
        """Everywhere this person is signed in, but for one secret, and every link that was not used yet."""
        person_id, kept = person_of(principal), digest(but) if but else ""
        unused = delete(console_links).where(_LINKS.person_id == person_id, _LINKS.used_at.is_(None))
        ended = update(console_sessions).where(
            _SESSIONS.person_id == person_id, _SESSIONS.ended_at.is_(None), _SESSIONS.digest != kept
        )

        def work(connection: Connection) -> int:
            connection.execute(unused)
            return int(connection.execute(ended.values(ended_at=now_us)).rowcount)

        return await self._database.write(work)

    async def end_one(self, person_id: str, session_id: str, now_us: int) -> bool:
        mine = update(console_sessions).where(
            _SESSIONS.person_id == person_id,
            _SESSIONS.ended_at.is_(None),
            _SESSIONS.digest.startswith(session_id, autoescape=True),
        )
        if len(session_id) != _ID_CHARACTERS:
            return False
        return bool(
            await self._database.write(lambda connection: connection.execute(mine.values(ended_at=now_us)).rowcount)
        )

    async def open_of(self, person_id: str, now_us: int) -> Sequence[OpenSession]:
        asked = select(console_sessions).where(_SESSIONS.person_id == person_id, _open(now_us))
        asked = asked.order_by(_SESSIONS.created_at.desc()).limit(100)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [
            OpenSession(
                id=session_id_of(row.digest),
                way=row.way or str(SignInWay.TERMINAL),
                device=row.device or "",
                created_at_us=row.created_at,
                expires_at_us=row.expires_at,
            )
            for row in rows
        ]

    def _begin(self, connection: Connection, secret: str, sign_in: SignIn, now_us: int) -> None:
        person_id = person_of(sign_in.principal)
        known = select(people.c.role).where(people.c.id == person_id, people.c.owner_agent == HOUSEHOLD_OWNER)
        row = _row(digest(secret), sign_in.principal, now_us, SESSION_LIFE_SECONDS, sign_in.token_ids)
        role = connection.execute(known).scalar_one_or_none()
        more = {"person_role": role, "device": sign_in.device, "credential": sign_in.credential}
        connection.execute(insert(console_sessions).values({**row, **more, "way": str(sign_in.way)}))
        words = f"signed in by {'the terminal' if sign_in.way is SignInWay.TERMINAL else _with_article(sign_in.way)}"
        entry = NewAudit(actor=str(sign_in.principal), kind=AuditKind.SIGN_IN, act=words, detail=sign_in.device)
        add_entry(connection, self._mint(now_us), entry, now_us)


def session_id_of(secret_digest: str) -> str:
    return secret_digest[:_ID_CHARACTERS]


def link_row(
    link_digest: str, principal: Principal, now_us: int, token_ids: Sequence[str], way: SignInWay
) -> dict[str, Any]:
    return {**_row(link_digest, principal, now_us, LINK_LIFE_SECONDS, token_ids), "way": str(way)}


def _open(now_us: int) -> Any:
    return and_(_SESSIONS.ended_at.is_(None), _SESSIONS.expires_at > now_us)


def _session(row: Row[Any]) -> ConsoleSession:
    return ConsoleSession(
        principal=Principal(Role(row.role), row.name),
        expires_at_us=row.expires_at,
        token_ids=_ids(row.token_ids),
        name=row.called or "",
        role_then=PersonRole(row.person_role) if row.person_role else None,
        role_now=PersonRole(row.role_now) if row.role_now else None,
        is_invited=row.invited_at is not None,
    )


def _ids(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(_BETWEEN)))


def _with_article(way: SignInWay) -> str:
    return f"{'an' if way is SignInWay.INVITATION else 'a'} {way}"


def _row(kept: str, principal: Principal, now_us: int, life_seconds: float, token_ids: Sequence[str]) -> dict[str, Any]:
    return {
        "digest": kept,
        "role": str(principal.role),
        "name": principal.name,
        "person_id": person_of(principal),
        "created_at": now_us,
        "expires_at": now_us + seconds(life_seconds),
        "token_ids": _BETWEEN.join(token_ids),
    }
