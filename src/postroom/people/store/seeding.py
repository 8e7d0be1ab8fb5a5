"""What the settings file says of people: it holds until a person is changed in the database, and from then on not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER
from postroom.message.delivery import folded
from postroom.people.model import FROM_SETTINGS, INBOX, SIGN_IN, NewPerson, Overruled, Person, PersonAddress, PersonRole
from postroom.people.store.rows import read_people, slices
from postroom.people.store.tables import contact_aliases, people, people_seeds, person_addresses
from postroom.people.store.writing import PersonWriter, is_taken, said, taken_of

_NAMELESS: Final = "Owner"
_OWNERS_KEY: Final = ""  # no contact is without a name

Pair = tuple[NewPerson, "Row[Any] | None"]


class Seeds:
    def __init__(self, writer: PersonWriter) -> None:
        self._writer = writer

    def keep_in_step(self, connection: Connection, owner_agent: str, wanted: Sequence[NewPerson], now_us: int) -> None:
        """Those that stay keep their ids; those the file no longer names go first, as another may want the address."""
        rows = _rows(connection, owner_agent)
        pairs = _paired(rows, wanted)
        kept = {OWNER, *(row.person_id for _, row in pairs if row is not None)}
        self._drop(connection, owner_agent, [one for one in rows if one.person_id not in kept])
        differing = [(new, row) for new, row in pairs if row is not None and row.said != said(new)]
        self._renew(connection, owner_agent, differing, now_us)
        self._add_all(connection, owner_agent, [new for new, row in pairs if row is None], now_us)

    def overruled(self, connection: Connection, owner_agent: str, wanted: Sequence[NewPerson]) -> list[Overruled]:
        found = []
        for new, row in _paired(_rows(connection, owner_agent), wanted):
            if fields := self._against(connection, owner_agent, new, row):
                found.append(Overruled(name=new.name or _NAMELESS, fields=fields))
        return found

    def _against(
        self, connection: Connection, owner_agent: str, new: NewPerson, row: Row[Any] | None
    ) -> tuple[str, ...]:
        if row is None:
            return ("agent",) if _cannot_have_its_address(connection, owner_agent, new) else ()
        known = read_people(connection, owner_agent, [row.person_id])
        if not known:
            return ("removed",)
        return self._differing(new, known[0]) if row.changed else ()

    def _differing(self, new: NewPerson, known: Person) -> tuple[str, ...]:
        """Only what the file does say counts."""
        names = {self._writer.normal(name) for name in (known.name, *known.aliases)}
        here = {(one.channel, folded(one.address)) for one in known.addresses}
        fields = [
            ("name", bool(new.name) and new.name != known.name),
            ("aliases", any(self._writer.normal(alias) not in names for alias in new.aliases)),
            ("agent", new.agent_address not in (None, known.agent_address)),
            ("trusted", new.role is not PersonRole.OWNER and new.trusted != known.trusted),
            *((one.channel, (one.channel, folded(one.address)) not in here) for one in new.addresses),
        ]
        return tuple(name for name, differs in fields if differs)

    def _add_all(self, connection: Connection, owner_agent: str, news: Sequence[NewPerson], now_us: int) -> None:
        """Those of whom nothing is vouched for, as contacts are, all together: there may be thousands."""
        vouched = [one for one in news if _is_vouched(one)]
        for one in vouched:
            self._add(connection, owner_agent, one, now_us)
        plain = [one for one in news if not _is_vouched(one)]
        taken = taken_of(connection, owner_agent, [one.agent_address for one in plain if one.agent_address])
        fresh: dict[str, NewPerson] = {}
        for one in plain:
            if one.agent_address is None or one.agent_address not in taken:
                taken |= {one.agent_address} if one.agent_address else set()
                fresh[self._writer.mint(now_us)] = one
        if fresh:
            self._writer.insert_many(connection, owner_agent, fresh, FROM_SETTINGS, now_us)
            connection.execute(insert(people_seeds), [_seed(owner_agent, *one) for one in fresh.items()])

    def _add(self, connection: Connection, owner_agent: str, new: NewPerson, now_us: int) -> None:
        if _cannot_have_its_address(connection, owner_agent, new):
            return
        is_owner = new.role is PersonRole.OWNER
        person_id = OWNER if is_owner else self._writer.mint(now_us)
        known = read_people(connection, owner_agent, [person_id]) if is_owner else []
        if known:  # the owner had an inbox before there were people
            self._apply(connection, owner_agent, [(known[0], new)], now_us)
        else:
            _claim_proofs(connection, owner_agent, person_id, new)
            named = replace(new, name=new.name or _NAMELESS)
            self._writer.insert(connection, owner_agent, person_id, named, FROM_SETTINGS, now_us)
        connection.execute(insert(people_seeds), _seed(owner_agent, person_id, new))

    def _renew(
        self, connection: Connection, owner_agent: str, differing: Sequence[tuple[NewPerson, Row[Any]]], now_us: int
    ) -> None:
        ids = [row.person_id for _, row in differing if not row.changed]
        known = {one.id: one for one in read_people(connection, owner_agent, ids)}
        meant = [(known[row.person_id], new) for new, row in differing if row.person_id in known]
        for one, new in (pair for pair in meant if _is_proved(*pair)):  # one may take from the next what was proved
            (fresh,) = read_people(connection, owner_agent, [one.id])
            self._apply(connection, owner_agent, [(fresh, new)], now_us)
        self._apply(connection, owner_agent, [pair for pair in meant if not _is_proved(*pair)], now_us)
        mine = people_seeds.c.person_id == bindparam("whose")
        rows = [{"whose": row.person_id, "says": said(new)} for new, row in differing]
        if rows:
            connection.execute(update(people_seeds).where(mine).values(said=bindparam("says")), rows)

    def _apply(
        self, connection: Connection, owner_agent: str, meant: Sequence[tuple[Person, NewPerson]], now_us: int
    ) -> None:
        """One who would have an agent address that another has stays as they are."""
        wanted = [(known, self._writer.as_kept(_beside_what_is_known(new, known), known)) for known, new in meant]
        moving = [new.agent_address or "" for known, new in wanted if new.agent_address != known.agent_address]
        taken, changes = taken_of(connection, owner_agent, moving), list[tuple[Person, NewPerson]]()
        for known, new in wanted:
            address = new.agent_address or ""
            if new == known.as_written or (address != known.agent_address and address in taken):
                continue
            taken.discard(known.agent_address)
            taken.add(address)
            _claim_proofs(connection, owner_agent, known.id, new)
            changes.append((known, new))
        if changes:
            self._writer.rewrite_many(connection, owner_agent, changes, now_us)

    def _drop(self, connection: Connection, owner_agent: str, rows: Sequence[Row[Any]]) -> None:
        """Those that were changed stay, and so does the row, in case the file names them again."""
        changed = [row.person_id for row in rows if row.changed]
        staying = {one.id for one in read_people(connection, owner_agent, changed)}
        gone = [row.person_id for row in rows if row.person_id not in staying]
        self._writer.remove(connection, owner_agent, *gone)
        for some in slices(gone):
            connection.execute(delete(people_seeds).where(people_seeds.c.person_id.in_(some)))


def _rows(connection: Connection, owner_agent: str) -> list[Row[Any]]:
    asked = select(people_seeds).where(people_seeds.c.owner_agent == owner_agent).order_by(people_seeds.c.person_id)
    return list(connection.execute(asked))


def _paired(rows: Sequence[Row[Any]], wanted: Sequence[NewPerson]) -> list[Pair]:
    """By name; of namesakes, first those of whom the file says what it said before."""
    left: dict[str, list[Row[Any]]] = {}
    for row in rows:
        left.setdefault(_OWNERS_KEY if row.person_id == OWNER else row.name, []).append(row)
    asked = [(new, _key(new), said(new)) for new in wanted]
    known = {(key, row.said) for key, some in left.items() for row in some}
    pairs: list[Pair] = []
    for new, key, words in sorted(asked, key=lambda one: one[1:] not in known):
        mine = left.get(key, [])
        found = next((one for one in mine if one.said == words), mine[0] if mine else None)
        if found is not None:
            mine.remove(found)
        pairs.append((new, found))
    return pairs


def _key(new: NewPerson) -> str:
    return _OWNERS_KEY if new.role is PersonRole.OWNER else new.name


def _seed(owner_agent: str, person_id: str, new: NewPerson) -> dict[str, Any]:
    about = {"person_id": person_id, "owner_agent": owner_agent, "name": new.name}
    return about | {"said": said(new), "changed": False}


def _is_vouched(new: NewPerson) -> bool:
    return new.role is PersonRole.OWNER or any(one.verified_at_us is not None for one in new.addresses)


def _is_proved(known: Person, new: NewPerson) -> bool:
    return _is_vouched(new) or any(one.verified_at_us is not None for one in known.addresses)


def _cannot_have_its_address(connection: Connection, owner_agent: str, new: NewPerson) -> bool:
    if new.agent_address is None or new.role is PersonRole.OWNER:
        return False
    return is_taken(connection, owner_agent, "", new.agent_address)


def _beside_what_is_known(new: NewPerson, known: Person) -> NewPerson:
    """What the file does not speak of stays: the zone, the inbox's address, and that an address was proved."""
    before = {(one.channel, folded(one.address)): one for one in known.addresses}
    now = {(one.channel, folded(one.address)): one for one in new.addresses}
    places = [_as_proved(one, before.get(key)) for key, one in now.items()]
    places += [one for key, one in before.items() if one.label == INBOX and key not in now]
    return replace(
        new,
        name=new.name or known.name,
        zone=new.zone or known.zone,
        language=new.language or known.language,
        default_butler=new.default_butler or known.default_butler,
        addresses=tuple(places),
    )


def _as_proved(one: PersonAddress, known: PersonAddress | None) -> PersonAddress:
    if known is None:
        return one
    return replace(one, verified_at_us=known.verified_at_us or one.verified_at_us, label=one.label or known.label)


def _claim_proofs(connection: Connection, owner_agent: str, person_id: str, new: NewPerson) -> None:
    """For what the settings say, the operator vouches: another who had proved the address has it no longer alone."""
    table = person_addresses.c
    for one in new.addresses:
        if one.verified_at_us is None:
            continue
        others = (table.person_id != person_id, table.owner_agent == owner_agent, table.channel == one.channel)
        same = update(person_addresses).where(*others, table.folded == folded(one.address))
        connection.execute(same.values(verified_at=None))


# Records of those who can sign in: made for those who have none, and in the role the settings give until changed.


class SignIns:
    """Their rows in `people_seeds` stand apart: the file does not say who they are, only what they may."""

    def __init__(self, writer: PersonWriter) -> None:
        self._writer = writer

    def admit(self, connection: Connection, signing_in: Mapping[str, PersonRole], now_us: int) -> None:
        changed = _changed(connection)
        for person in self._known(connection, now_us):
            if person.id not in changed:
                self._remember(connection, person.id)
            if not changed.get(person.id, False):
                self._keep_role(connection, person, signing_in.get(person.id, PersonRole.MEMBER), now_us)
        asked = select(people.c.id).where(people.c.id.in_([*signing_in]))
        for one in sorted(signing_in.keys() - set(connection.execute(asked).scalars()) - {OWNER}):
            new = NewPerson(name=one, role=signing_in[one])
            self._writer.insert(connection, HOUSEHOLD_OWNER, one, new, SIGN_IN, now_us)
            self._remember(connection, one)

    def _known(self, connection: Connection, now_us: int) -> list[Person]:
        """With names that can be found, also those who came by way of the upgrade."""
        asked = select(people.c.id).where(people.c.owner_agent == HOUSEHOLD_OWNER, people.c.source == SIGN_IN)
        found = read_people(connection, HOUSEHOLD_OWNER, list(connection.execute(asked).scalars()))
        table = contact_aliases.c
        names = select(table.contact_id).where(table.is_name, table.contact_id.in_([one.id for one in found]))
        named = set(connection.execute(names).scalars())
        for person in found:
            if person.id not in named:
                self._writer.name_again(connection, person, now_us)
        return [person for person in found if person.role is not PersonRole.OWNER]

    def _keep_role(self, connection: Connection, person: Person, role: PersonRole, now_us: int) -> None:
        """Who is named as an approver no longer decides no longer."""
        if person.role is not role:
            self._writer.apply(connection, person, replace(person.as_written, role=role), now_us)

    def _remember(self, connection: Connection, person_id: str) -> None:
        connection.execute(delete(people_seeds).where(people_seeds.c.person_id == person_id))
        row = {"person_id": person_id, "owner_agent": SIGN_IN, "name": person_id, "said": "", "changed": False}
        connection.execute(insert(people_seeds), row)


def _changed(connection: Connection) -> dict[str, bool]:
    table = people_seeds.c
    asked = select(table.person_id, table.changed).where(table.owner_agent == SIGN_IN)
    return {row.person_id: row.changed for row in connection.execute(asked)}
