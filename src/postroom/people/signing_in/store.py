"""Who is invited to sign in, and the links people ask for: limited, sent once, good once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Row,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import Columns, read
from postroom.kernel.database.schema import SHARED, metadata, partial_index
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Principal, Role
from postroom.people.signing_in.rules import (
    LINK_LIFE_SECONDS,
    MOST_OF_PERSON,
    MOST_OF_SENDER,
    MOST_OPEN,
    ROOT,
    SESSION_LIFE_SECONDS,
    ConsoleSession,
    LinkToSend,
    LinkWish,
    OpenSession,
    SignIn,
    SignInWay,
    digest,
    may_stay,
    new_secret,
    person_of,
)
from postroom.people.store.tables import people, sign_in_attempts, sign_in_grants

# The console's sign-in links and sessions, by the digest of their secret.


_UNSENT = text("channel IS NOT NULL AND sent_at IS NULL")

console_links = Table(
    "console_links",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("token_ids", Text),
    Column("person_id", Text),
    Column("way", Text),
    Column("browser", Text),  # by digest: the one that asked, and the only one it is good in
    Column("channel", Text),  # where it is to be sent; unset: it was shown
    Column("address", Text),
    Column("sent_at", BigInteger),
    Index("ix_console_links_person_id", "person_id", "created_at"),
    partial_index("ix_console_links_unsent", "created_at", where=_UNSENT),
    schema=SHARED,
)

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("token_ids", Text),
    Column("person_id", Text),
    Column("person_role", Text),
    Column("way", Text),
    Column("device", Text),
    Column("credential", Text),
    Index("ix_console_sessions_role_name", "role", "name"),
    Index("ix_console_sessions_person_id", "person_id"),
    schema=SHARED,
)

_HOUR_US: Final = seconds(3600.0)
_AT_ONCE: Final = 20
_LINKS, _ATTEMPTS, _GRANTS = console_links.c, sign_in_attempts.c, sign_in_grants.c


class StoredSignInLinks:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def is_invited(self, person_id: str) -> bool:
        return person_id in await self.invited([person_id])

    async def invited(self, person_ids: Sequence[str]) -> frozenset[str]:
        asked = select(_GRANTS.person_id).where(_GRANTS.person_id.in_(person_ids))
        return await self._database.read(lambda connection: frozenset(connection.execute(asked).scalars()))

    async def grant(self, person_id: str, by: str, now_us: int, *, door: str = "console") -> None:
        """However often; the first invitation counts, each is written down."""
        known = select(_GRANTS.person_id).where(_GRANTS.person_id == person_id)
        row = {"person_id": person_id, "invited_by": by, "invited_at": now_us}

        def work(connection: Connection) -> None:
            if connection.execute(known).first() is None:
                connection.execute(insert(sign_in_grants).values(row))
            entry = NewAudit(
                actor=by, kind=AuditKind.ACCESS, act="invited to sign in", subject=f"person:{person_id}", door=door
            )
            add_entry(connection, self._mint(now_us), entry, now_us)

        await self._database.write(work)

    async def withdraw(self, person_id: str) -> bool:
        gone = delete(sign_in_grants).where(_GRANTS.person_id == person_id)
        return bool(await self._database.write(lambda connection: connection.execute(gone).rowcount))

    async def ask(self, wish: LinkWish | None, *, sender: str, browser: str, now_us: int) -> None:
        """Whether or not there is a person to send it to, the same steps are taken; too many are left unsent."""

        def work(connection: Connection) -> None:
            connection.execute(delete(sign_in_attempts).where(_ATTEMPTS.at < now_us - _HOUR_US))
            of_sender = select(func.count()).select_from(sign_in_attempts).where(_ATTEMPTS.sender == digest(sender))
            may_ask = connection.execute(of_sender).scalar_one() < MOST_OF_SENDER
            if may_ask:  # more of them than count are not kept: a stranger must not fill the table
                row = {"id": self._mint(now_us), "sender": digest(sender), "at": now_us}
                connection.execute(insert(sign_in_attempts).values(row))
            is_free = _is_free(connection, person_of(wish.sign_in.principal) if wish else "", now_us)
            if wish is not None and may_ask and is_free:
                self._queue(connection, wish, browser, now_us)

        await self._database.write(work)

    async def send(self, wish: LinkWish, now_us: int) -> None:
        """An invitation: good in any browser."""
        await self._database.write(lambda connection: self._queue(connection, wish, "", now_us))

    async def take(self, now_us: int) -> Sequence[LinkToSend]:
        """What is to be sent, each under a new secret, and handed out once."""
        due = select(console_links).where(
            _LINKS.channel.is_not(None), _LINKS.sent_at.is_(None), _LINKS.used_at.is_(None), _LINKS.expires_at > now_us
        )
        due = due.order_by(_LINKS.created_at).limit(_AT_ONCE).with_for_update(skip_locked=True)

        def work(connection: Connection) -> list[LinkToSend]:
            found = []
            for row in connection.execute(due).all():
                secret = new_secret()
                mine = update(console_links).where(_LINKS.digest == row.digest)
                connection.execute(mine.values(digest=digest(secret), sent_at=now_us))
                found.append(read(LinkToSend, row, digest=digest(secret), secret=secret))
            return found

        return await self._database.write(work)

    def _queue(self, connection: Connection, wish: LinkWish, browser: str, now_us: int) -> None:
        """Under a digest whose secret no one has, until it is sent."""
        row = _row(new_secret(), wish.sign_in, now_us, LINK_LIFE_SECONDS)
        row |= {"browser": digest(browser) if browser else None, "channel": wish.channel, "address": wish.address}
        connection.execute(insert(console_links).values(row))


def _is_free(connection: Connection, person_id: str, now_us: int) -> bool:
    """The person is held meanwhile, so that two who ask at once are counted one after the other."""
    connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
    asked = select(func.count()).select_from(console_links)
    asked = asked.where(_LINKS.person_id == person_id, _LINKS.way == str(SignInWay.LINK))
    lately = connection.execute(asked.where(_LINKS.created_at > now_us - _HOUR_US)).scalar_one()
    open_now = connection.execute(asked.where(_LINKS.used_at.is_(None), _LINKS.expires_at > now_us)).scalar_one()
    return bool(lately < MOST_OF_PERSON and open_now < MOST_OPEN)


# Sign-in links that work once, and the sessions they begin.


_BETWEEN: Final = ","
_KEPT_US: Final = seconds(24 * 3600.0)  # after their end, so that a late click is told "expired" and not "unknown"
_ID_CHARACTERS: Final = 16
_ARTICLES: Final = {
    SignInWay.TERMINAL: "the",
    SignInWay.INVITATION: "an",
    SignInWay.LINK: "a",
    SignInWay.PASSKEY: "a",
}
_SESSIONS: Final = console_sessions.c


class ConsoleSessions:
    """They live no longer than what they stand on: a token, a role, an invitation, looked at again at every request."""

    def __init__(self, database: Database, tokens: TokenFile) -> None:
        self._database = database
        self._mint = IdMint().mint
        self.tokens = tokens

    async def link(self, base_url: str, principal: Principal, now_us: int) -> str:
        """For as long as the tokens that the principal has now are good."""
        sign_in = SignIn(principal=principal, token_ids=self.tokens.ids_of(principal))
        return await self.link_for(base_url, sign_in, now_us)

    async def link_for(self, base_url: str, sign_in: SignIn, now_us: int) -> str:
        """Who opens it first is signed in."""
        secret = new_secret()
        row = _row(secret, sign_in, now_us, LINK_LIFE_SECONDS)

        def work(connection: Connection) -> None:
            for table in (console_links, console_sessions):
                connection.execute(delete(table).where(table.c.expires_at < now_us - _KEPT_US))
            connection.execute(insert(console_links).values(row))

        await self._database.write(work)
        return f"{base_url}{ROOT}/login?key={secret}"

    async def redeem(self, link_secret: str, now_us: int, *, browser: str = "", device: str = "") -> str | None:
        """
        The secret of a new session; None when the link is unknown, used, too old or of one who may come in no more.

        The row decides a race. One that was asked for is good in the browser that asked, and in no other.
        """
        secret = new_secret()
        asked_here = [_LINKS.browser == digest(browser)] if browser else []
        here = or_(_LINKS.browser.is_(None), *asked_here)
        use = update(console_links).where(_good(link_secret, now_us), here).values(used_at=now_us)
        use = use.returning(_LINKS.role, _LINKS.name, _LINKS.token_ids, _LINKS.way)

        def work(connection: Connection) -> bool:
            found = connection.execute(use).first()
            if found is None:
                return False
            way = SignInWay(found.way or SignInWay.TERMINAL)
            principal = Principal(Role(found.role), found.name)
            sign_in = SignIn(principal=principal, token_ids=_ids(found.token_ids), way=way, device=device)
            self._begin(connection, secret, sign_in, now_us)
            return True

        return secret if await self._database.write(work) and await self.find(secret, now_us) else None

    async def is_for_another_browser(self, link_secret: str, browser: str, now_us: int) -> bool:
        """Whether the link would be good where it was asked for."""
        asked = select(_LINKS.browser).where(_good(link_secret, now_us))
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return row is not None and row.browser is not None and row.browser != digest(browser)

    async def begin(self, sign_in: SignIn, now_us: int) -> str | None:
        """The secret of a new session; None when this person may not sign in any more."""
        secret = new_secret()
        await self._database.write(lambda connection: self._begin(connection, secret, sign_in, now_us))
        return secret if await self.find(secret, now_us) else None

    async def find(self, secret: str, now_us: int) -> ConsoleSession | None:
        """With what the person is at this moment, so that a change of it counts at once, by which process ever."""
        person = and_(people.c.id == _SESSIONS.person_id, people.c.owner_agent == HOUSEHOLD_OWNER)
        joined = console_sessions.outerjoin(people, person).outerjoin(
            sign_in_grants, sign_in_grants.c.person_id == _SESSIONS.person_id
        )
        now = (people.c.name.label("called"), people.c.role.label("role_now"), sign_in_grants.c.invited_at)
        wanted = select(console_sessions, _SESSIONS.person_role.label("role_then"), *now).select_from(joined)
        wanted = wanted.where(_SESSIONS.digest == digest(secret), _open(now_us))
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        session = None if row is None else _session(row)
        holds = session is not None and self.tokens.still_holds(session.token_ids)
        return session if session and may_stay(session, tokens_hold=holds) else None

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
            read(
                OpenSession,
                row,
                id=row.digest[:_ID_CHARACTERS],
                way=row.way or str(SignInWay.TERMINAL),
                device=row.device or "",
            )
            for row in rows
        ]

    def _begin(self, connection: Connection, secret: str, sign_in: SignIn, now_us: int) -> None:
        person_id = person_of(sign_in.principal)
        known = select(people.c.role).where(people.c.id == person_id, people.c.owner_agent == HOUSEHOLD_OWNER)
        row = _row(secret, sign_in, now_us, SESSION_LIFE_SECONDS)
        row |= {"device": sign_in.device, "credential": sign_in.credential}
        row["person_role"] = connection.execute(known).scalar_one_or_none()
        connection.execute(insert(console_sessions).values(row))
        words = f"signed in by {_ARTICLES[sign_in.way]} {sign_in.way}"
        entry = NewAudit(actor=str(sign_in.principal), kind=AuditKind.SIGN_IN, act=words, detail=sign_in.device)
        add_entry(connection, self._mint(now_us), entry, now_us)


def _good(link_secret: str, now_us: int) -> ColumnElement[bool]:
    return and_(_LINKS.digest == digest(link_secret), _LINKS.used_at.is_(None), _LINKS.expires_at > now_us)


def _open(now_us: int) -> ColumnElement[bool]:
    return and_(_SESSIONS.ended_at.is_(None), _SESSIONS.expires_at > now_us)


def _session(row: Row[Any]) -> ConsoleSession:
    return read(
        ConsoleSession,
        row,
        principal=Principal(Role(row.role), row.name),
        token_ids=_ids(row.token_ids),
        name=row.called or "",
        is_invited=row.invited_at is not None,
    )


def _ids(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(_BETWEEN)))


def _row(secret: str, sign_in: SignIn, now_us: int, life_seconds: float) -> Columns:
    """What a link and a session have in common."""
    return {
        "digest": digest(secret),
        "role": str(sign_in.principal.role),
        "name": sign_in.principal.name,
        "person_id": person_of(sign_in.principal),
        "created_at": now_us,
        "expires_at": now_us + seconds(life_seconds),
        "token_ids": _BETWEEN.join(sign_in.token_ids),
        "way": str(sign_in.way),
    }
