"""What the settings file says of people: it holds until a person is changed in the database, and from then on not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from postroom.kernel.database.rows import read, values
from postroom.kernel.values.principal import OWNER
from postroom.message.delivery import folded
from postroom.people.model import FROM_SETTINGS, INBOX, SIGN_IN, NewPerson, Overruled, Person, PersonAddress, PersonRole
from postroom.people.names.normalise import normalise
from postroom.people.store.rows import read_people, slices
from postroom.people.store.tables import people, people_seeds, person_addresses
from postroom.people.store.writing import BookWriter, as_kept, said, taken_of

_NAMELESS: Final = "Owner"
_OWNERS_KEY: Final = ""  # no contact is without a name


@dataclass(frozen=True, slots=True)
class Seed:
    """What the file said of a person when it was last read; `changed`: by hand since then."""

    person_id: str
    owner_agent: str
    name: str
    said: str
    changed: bool = False


def keep_in_step(writer: BookWriter, wanted: Sequence[NewPerson]) -> None:
    """Those that stay keep their ids; those the file no longer names go first, as another may want the address."""
    seeds = _seeds(writer.connection, writer.book)
    pairs = _paired(seeds, wanted)
    kept = {OWNER, *(seed.person_id for _, seed in pairs if seed is not None)}
    _drop(writer, [one for one in seeds if one.person_id not in kept])
    _renew(writer, [(new, seed) for new, seed in pairs if seed is not None and seed.said != said(new)])
    _add_all(writer, [new for new, seed in pairs if seed is None])


def overruled(connection: Connection, owner_agent: str, wanted: Sequence[NewPerson]) -> list[Overruled]:
    found = []
    for new, seed in _paired(_seeds(connection, owner_agent), wanted):
        if fields := _against(connection, owner_agent, new, seed):
            found.append(Overruled(name=new.name or _NAMELESS, fields=fields))
    return found


def _against(connection: Connection, owner_agent: str, new: NewPerson, seed: Seed | None) -> tuple[str, ...]:
    if seed is None:
        has_other = new.role is not PersonRole.OWNER and new.agent_address is not None
        return ("agent",) if has_other and taken_of(connection, owner_agent, [new.agent_address or ""]) else ()
    known = read_people(connection, owner_agent, [seed.person_id])
    if not known:
        return ("removed",)
    return _differing(new, known[0]) if seed.changed else ()


def _differing(new: NewPerson, known: Person) -> tuple[str, ...]:
    """Only what the file does say counts."""
    names = {normalise(name) for name in (known.name, *known.aliases)}
    here = {one.key for one in known.addresses}
    fields = [
        ("name", bool(new.name) and new.name != known.name),
        ("aliases", any(normalise(alias) not in names for alias in new.aliases)),
        ("agent", new.agent_address not in (None, known.agent_address)),
        ("trusted", new.role is not PersonRole.OWNER and new.trusted != known.trusted),
        *((one.channel, one.key not in here) for one in new.addresses),
    ]
    return tuple(name for name, differs in fields if differs)


def _add_all(writer: BookWriter, news: Sequence[NewPerson]) -> None:
    """Contacts all together: there may be thousands."""
    for one in news:
        if one.role is PersonRole.OWNER:
            _add_owner(writer, one)
    plain = [one for one in news if one.role is not PersonRole.OWNER]
    taken = taken_of(writer.connection, writer.book, [one.agent_address for one in plain if one.agent_address])
    fresh: dict[str, NewPerson] = {}
    for one in plain:
        if one.agent_address is None or one.agent_address not in taken:
            taken |= {one.agent_address} if one.agent_address else set()
            fresh[writer.mint(writer.now_us)] = one
    if fresh:
        writer.insert_many(fresh, FROM_SETTINGS)
        _plant(writer, [Seed(one, writer.book, new.name, said(new)) for one, new in fresh.items()])


def _add_owner(writer: BookWriter, new: NewPerson) -> None:
    if known := writer.read([OWNER]):  # the owner had an inbox before there were people
        _apply(writer, [(known[0], new)])
    else:
        _claim_proofs(writer, OWNER, new)
        writer.insert(OWNER, replace(new, name=new.name or _NAMELESS), FROM_SETTINGS)
    _plant(writer, [Seed(OWNER, writer.book, new.name, said(new))])


def _renew(writer: BookWriter, differing: Sequence[tuple[NewPerson, Seed]]) -> None:
    known = {one.id: one for one in writer.read([seed.person_id for _, seed in differing if not seed.changed])}
    meant = [(known[seed.person_id], new) for new, seed in differing if seed.person_id in known]
    for one, new in (pair for pair in meant if _is_proved(*pair)):  # one may take from the next what was proved
        (fresh,) = writer.read([one.id])
        _apply(writer, [(fresh, new)])
    _apply(writer, [pair for pair in meant if not _is_proved(*pair)])
    mine = people_seeds.c.person_id == bindparam("whose")
    rows = [{"whose": seed.person_id, "says": said(new)} for new, seed in differing]
    if rows:
        writer.connection.execute(update(people_seeds).where(mine).values(said=bindparam("says")), rows)


def _apply(writer: BookWriter, meant: Sequence[tuple[Person, NewPerson]]) -> None:
    """One who would have an agent address that another has stays as they are."""
    wanted = [(known, as_kept(_beside_what_is_known(new, known), known)) for known, new in meant]
    moving = [new.agent_address or "" for known, new in wanted if new.agent_address != known.agent_address]
    taken, changes = taken_of(writer.connection, writer.book, moving), list[tuple[Person, NewPerson]]()
    for known, new in wanted:
        address = new.agent_address or ""
        if new == known.as_written or (address != known.agent_address and address in taken):
            continue
        taken.discard(known.agent_address)
        taken.add(address)
        _claim_proofs(writer, known.id, new)
        changes.append((known, new))
    if changes:
        writer.rewrite_many(changes)


def _drop(writer: BookWriter, seeds: Sequence[Seed]) -> None:
    """Those that were changed stay, and so does the row, in case the file names them again."""
    staying = {one.id for one in writer.read([seed.person_id for seed in seeds if seed.changed])}
    gone = [seed.person_id for seed in seeds if seed.person_id not in staying]
    writer.remove(*gone)
    for some in slices(gone):
        writer.connection.execute(delete(people_seeds).where(people_seeds.c.person_id.in_(some)))


def _seeds(connection: Connection, owner_agent: str) -> list[Seed]:
    asked = select(people_seeds).where(people_seeds.c.owner_agent == owner_agent).order_by(people_seeds.c.person_id)
    return [read(Seed, row) for row in connection.execute(asked)]


def _plant(writer: BookWriter, seeds: Sequence[Seed]) -> None:
    writer.connection.execute(insert(people_seeds), [values(one) for one in seeds])


def _paired(seeds: Sequence[Seed], wanted: Sequence[NewPerson]) -> list[tuple[NewPerson, Seed | None]]:
    """By name; of namesakes, first those of whom the file says what it said before."""
    left: dict[str, list[Seed]] = {}
    for seed in seeds:
        left.setdefault(_OWNERS_KEY if seed.person_id == OWNER else seed.name, []).append(seed)
    asked = [(new, _OWNERS_KEY if new.role is PersonRole.OWNER else new.name, said(new)) for new in wanted]
    known = {(key, seed.said) for key, some in left.items() for seed in some}
    pairs: list[tuple[NewPerson, Seed | None]] = []
    for new, key, words in sorted(asked, key=lambda one: one[1:] not in known):
        mine = left.get(key, [])
        found = next((one for one in mine if one.said == words), mine[0] if mine else None)
        if found is not None:
            mine.remove(found)
        pairs.append((new, found))
    return pairs


def _is_proved(known: Person, new: NewPerson) -> bool:
    """Whether an address of theirs is proved, or vouched for as the owner's are."""
    return new.role is PersonRole.OWNER or any(one.verified_at_us is not None for one in known.addresses)


def _beside_what_is_known(new: NewPerson, known: Person) -> NewPerson:
    """What the file does not speak of stays: the zone, the inbox's address, and that an address was proved."""
    before = {one.key: one for one in known.addresses}
    now = {one.key: one for one in new.addresses}
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


def _claim_proofs(writer: BookWriter, person_id: str, new: NewPerson) -> None:
    """For what the settings say, the operator vouches: another who had proved the address has it no longer alone."""
    table = person_addresses.c
    for one in new.addresses:
        if one.verified_at_us is None:
            continue
        others = (table.person_id != person_id, table.owner_agent == writer.book, table.channel == one.channel)
        same = update(person_addresses).where(*others, table.folded == folded(one.address))
        writer.connection.execute(same.values(verified_at=None))


# Records of those who can sign in: made for those who have none, and in the role the settings give until changed.
# Their rows in `people_seeds` stand apart: the file does not say who they are, only what they may.


def admit(writer: BookWriter, signing_in: Mapping[str, PersonRole]) -> None:
    changed = {seed.person_id: seed.changed for seed in _seeds(writer.connection, SIGN_IN)}
    asked = select(people.c.id).where(people.c.owner_agent == writer.book, people.c.source == SIGN_IN)
    for person in writer.read(list(writer.connection.execute(asked).scalars())):
        if person.role is PersonRole.OWNER:
            continue
        if person.id not in changed:
            _remember(writer, person.id)
        role = signing_in.get(person.id, PersonRole.MEMBER)
        if not changed.get(person.id, False) and person.role is not role:  # named as an approver no longer, for one
            writer.apply(person, replace(person.as_written, role=role))
    asked = select(people.c.id).where(people.c.id.in_([*signing_in]))
    for one in sorted(signing_in.keys() - set(writer.connection.execute(asked).scalars()) - {OWNER}):
        writer.insert(one, NewPerson(name=one, role=signing_in[one]), SIGN_IN)
        _remember(writer, one)


def _remember(writer: BookWriter, person_id: str) -> None:
    writer.connection.execute(delete(people_seeds).where(people_seeds.c.person_id == person_id))
    _plant(writer, [Seed(person_id, SIGN_IN, person_id, "")])
