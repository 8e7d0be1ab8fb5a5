"""Who may come in and stay: roles, tokens, invitations, as a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.kernel.guard.tokens import TokenFile, token_id
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.message.delivery import ClosedAddress, Closing
from postroom.people.model import Person, PersonAddress, PersonRole
from postroom.people.signing_in.rules import ConsoleSession, admitted, may_stay, where_to_write

ANN, USER = Principal(Role.PERSON, "ann"), Principal(Role.USER, "ann")
MEMBER, CONTACT, APPROVER = PersonRole.MEMBER, PersonRole.CONTACT, PersonRole.APPROVER


def someone(role: PersonRole, *addresses: PersonAddress) -> Person:
    return Person(
        id=OWNER if role is PersonRole.OWNER else "ann",
        owner_agent="agent://household/owner",
        name="Ann",
        agent_address="agent://contact/ann",
        role=role,
        addresses=addresses,
        source="test",
        created_at_us=0,
        updated_at_us=0,
    )


COMING = {
    "the owner": (PersonRole.OWNER, OPERATOR, False, OPERATOR),
    "a member without anything": (MEMBER, None, False, None),
    "an invited member": (MEMBER, None, True, ANN),
    "a member with a token": (MEMBER, ANN, False, ANN),
    "a member with a token for the inbox": (MEMBER, USER, False, USER),
    "an invited one with a token for the inbox": (MEMBER, USER, True, ANN),
    "an invited approver": (APPROVER, None, True, ANN),
    "an invited contact": (CONTACT, None, True, None),
    "a contact with a token": (CONTACT, ANN, False, None),
}


@pytest.mark.parametrize(("role", "held", "is_invited", "comes_as"), COMING.values(), ids=COMING)
def test_who_comes_in_as_whom(
    tmp_path: Path, role: PersonRole, held: Principal | None, is_invited: bool, comes_as: Principal | None
) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    ids = (token_id(tokens.create(held)),) if held else ()

    found = admitted(someone(role), tokens, is_invited=is_invited)

    assert (found.principal if found else None) == comes_as
    assert found is None or found.token_ids == (ids if held == comes_as else ())


def session(then: PersonRole | None, now: PersonRole | None, *ids: str, invited: bool = False) -> ConsoleSession:
    return ConsoleSession(
        principal=ANN, expires_at_us=1, token_ids=ids, role_then=then, role_now=now, is_invited=invited
    )


STAYING = {
    "by a token that holds": (session(MEMBER, MEMBER, "a"), True, True),
    "by a token that was revoked": (session(MEMBER, MEMBER, "a", invited=True), False, False),
    "by a token, before there was a record": (session(None, MEMBER, "a"), True, True),
    "by a token, without a record": (session(None, None, "a"), True, True),
    "by an invitation": (session(MEMBER, MEMBER, invited=True), False, True),
    "by an invitation that was withdrawn": (session(MEMBER, MEMBER), False, False),
    "by nothing at all": (session(None, None), False, False),
    "by an invitation, without a record": (session(None, None, invited=True), False, False),
    "removed": (session(MEMBER, None, "a", invited=True), True, False),
    "another role": (session(MEMBER, APPROVER, "a", invited=True), True, False),
    "a contact by now": (session(None, CONTACT, "a", invited=True), True, False),
}


@pytest.mark.parametrize(("one", "hold", "stays"), STAYING.values(), ids=STAYING)
def test_who_stays(one: ConsoleSession, hold: bool, stays: bool) -> None:
    assert may_stay(one, tokens_hold=hold) is stays


def place(address: str, rank: int = 1, channel: str = "telegram", *, proved: bool = True) -> PersonAddress:
    return PersonAddress(channel=channel, address=address, rank=rank, verified_at_us=1 if proved else None)


def test_a_link_goes_to_a_verified_open_address_on_a_channel_that_is_set_up() -> None:
    closed = ClosedAddress(
        channel="telegram", address="9", reason=next(iter(Closing)), words="", delivery_id=DeliveryId("d"), at_us=1
    )
    gone = PersonAddress(channel="telegram", address="9", rank=1, verified_at_us=1, came_back=closed)
    one = someone(
        MEMBER, place("1", 1, proved=False), gone, place("2", 3), place("A@b.c", 4, "email"), place("s", 2, "slack")
    )

    def chosen(typed: str) -> str | None:
        found = where_to_write(one, typed, ["telegram", "email"])
        return found.address if found else None

    assert chosen("Ann") == "2"
    assert chosen("a@B.c") == "A@b.c"
    assert chosen("1") == "2"  # what is not proved is chosen by no one
    assert where_to_write(one, "", []) is None
