"""People instead of addresses, and where one can go."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from postroom.console.frame import NameBook, Navigation, NavigationEntry, NavigationGroup, ShownPerson, initials
from postroom.console.visit import Templates
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.delivery import HeldAddress
from tests.console.visiting import KnownPeople, visit

# -- Names for the addresses of a page, and what each visitor may do with them --


STATIC = Path("src/postroom/console/static")
MEMBER = Principal(Role.PERSON, "ben")
ANN = HeldAddress(person_id="p1", name="Ann Example", channel="email", folded="ann@example.org")
OWNER = HeldAddress(person_id="owner", name="Olga Owner", channel="telegram", folded="1000", is_verified=True)
BEN = HeldAddress(person_id="ben", name="Ben", channel="telegram", folded="2000")
NOBODY = HeldAddress(person_id="p9", name="Late", channel=None)


async def named(channel: str, address: str, who: Principal = OPERATOR, *people: HeldAddress) -> ShownPerson:
    book = NameBook(records=KnownPeople(*(people or (ANN, OWNER, BEN))))
    return (await book.names(who, [(channel, address)])).at(channel, address)


@pytest.mark.requirement("side:people-by-name")
async def test_an_address_is_shown_as_its_person_however_it_is_written() -> None:
    one = await named("email", " ANN@example.org")

    assert (one.person_id, one.shown, one.initials, one.page) == ("p1", "Ann Example", "AE", "/console/people/p1")
    assert one.where.endswith("ANN@example.org") and not one.add and not one.is_me


async def test_a_target_with_its_thread_is_still_that_person() -> None:
    assert (await named("telegram", "1000:77")).person_id == "owner"


async def test_the_same_address_on_another_channel_is_not_that_person() -> None:
    assert (await named("telegram", "ann@example.org")).person_id is None


@pytest.mark.requirement("side:people-by-name")
@pytest.mark.parametrize(
    ("who", "address", "shown"),
    [(OPERATOR, "1000", "You"), (MEMBER, "2000", "You"), (MEMBER, "1000", "Olga Owner"), (OPERATOR, "2000", "Ben")],
    ids=["the owner", "a member", "the owner to a member", "a member to the owner"],
)
async def test_the_visitor_is_you_and_nobody_else_is(who: Principal, address: str, shown: str) -> None:
    assert (await named("telegram", address, who)).shown == shown


async def test_a_member_gets_no_way_to_another_persons_page_and_may_not_add_one() -> None:
    assert (await named("telegram", "1000", MEMBER)).page == ""
    assert (await named("telegram", "2000", MEMBER)).page == "/console/people/ben"
    assert (await named("telegram", "3000", MEMBER)).add == ""


@pytest.mark.requirement("side:people-by-name")
async def test_an_unknown_address_stays_as_it_is_and_can_be_added() -> None:
    one = await named("email", "new+one@example.org")

    assert (one.shown, one.name, one.page) == ("new+one@example.org", "", "")
    assert one.add == "/console/people/new?channel=email&address=new%2Bone%40example.org"


async def test_an_address_of_two_is_that_of_the_one_who_proved_it() -> None:
    bert = HeldAddress(person_id="p2", name="Bert", channel="email", folded="ann@example.org", is_verified=True)

    assert (await named("email", "ann@example.org", OPERATOR, ANN, bert)).shown == "Bert"


async def test_an_address_of_several_says_so_and_is_no_single_persons() -> None:
    bert = HeldAddress(person_id="p2", name="Bert", channel="email", folded="ann@example.org")
    cleo = HeldAddress(person_id="p3", name="Cleo", channel="email", folded="ann@example.org")
    two = await named("email", "ann@example.org", OPERATOR, ANN, bert)
    three = await named("email", "ann@example.org", OPERATOR, ANN, bert, cleo)

    assert (two.shown, two.person_id, two.page) == (
        "Ann Example or Bert",
        None,
        "/console/people?q=ann%40example.org",
    )
    assert three.shown == "Ann Example or 2 others"


async def test_people_are_found_by_id_and_a_deleted_one_keeps_the_name_of_the_record() -> None:
    names = await NameBook(records=KnownPeople(NOBODY)).names(OPERATOR, [], ["p9", "gone"])

    assert (names.of("p9").shown, names.of("p9").page) == ("Late", "/console/people/p9")
    assert (names.of("gone", "Old Name").shown, names.of("gone", "Old Name").page) == ("Old Name", "")


class Away:
    async def held(self, folded: Collection[str], ids: Collection[str]) -> Sequence[HeldAddress]:
        raise StoreUnavailable("away")


async def test_a_page_is_shown_without_names_when_people_cannot_be_read() -> None:
    names = await NameBook(records=Away()).names(OPERATOR, [("email", "a@example.org")], ["p1"])

    assert names.at("email", "a@example.org").shown == "a@example.org"
    assert names.at("email", "a@example.org").add == ""


async def test_a_visit_asks_once_for_a_page() -> None:
    asked: list[Collection[str]] = []

    class Counting(KnownPeople):
        async def held(self, folded: Collection[str], ids: Collection[str]) -> Sequence[HeldAddress]:
            asked.append(folded)
            return await super().held(folded, ids)

    book = NameBook(records=Counting(ANN, BEN))
    await book.names(OPERATOR, [("email", "ann@example.org"), ("telegram", "2000"), ("email", "ANN@example.org")])
    await book.names(OPERATOR, [])

    assert asked == [{"ann@example.org", "2000"}]
    assert (await visit("/", people=[BEN]).names([("telegram", "2000")])).at("telegram", "2000").shown == "Ben"


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Ann Example", "AE"),
        ("ann", "A"),
        ("Dr. Ann Maria de la Cruz", "DC"),
        ("王小明", "王"),
        ("Ελένη Παππά", "ΕΠ"),
        ("\u202eevil \u200bname", "EN"),
        ("<script>", "S"),
        ("‘’ – Zoe", "Z"),
        ("ßeta", "S"),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_initials_are_letters_of_the_first_and_the_last_word(name: str, letters: str) -> None:
    assert initials(name) == letters


HOSTILE = HeldAddress(person_id='"><b>', name='<img src=x onerror="a()">', channel="email", folded='"><i>@x.example')


async def test_hostile_names_and_addresses_are_only_text() -> None:
    one = await named("email", '"><i>@x.example', OPERATOR, HOSTILE)
    shown = _macro("person(one, '/console/deliveries/1')", one)
    unknown = _macro("person(one)", await named("email", '"><script>@y.example', OPERATOR, ANN))

    for text in (shown, unknown):
        assert not re.search(r"<(img|b|i|script)\b", text)
    assert "&lt;img src=x" in shown and "%22%3E%3Cb%3E" in shown


async def test_the_picture_opens_the_person_and_the_name_what_the_row_is_about() -> None:
    shown = _macro("person(one, '/console/deliveries/1')", await named("email", "ann@example.org"))

    assert re.search(r'<a class="face hue-\d" href="/console/people/p1"[^>]*title="Ann Example: email ann@', shown)
    assert re.search(r'<a href="/console/deliveries/1"[^>]*><bdi>Ann Example</bdi></a>', shown)


def _macro(call: str, one: ShownPerson) -> str:
    source = '{% from "parts.html" import person %}{{ ' + call + " }}"
    return Templates().environment.from_string(source).render(one=one)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_hue_can_be_read_in_both_themes() -> None:
    pairs = dict(
        re.findall(r"--(hue-\d(?:-ground)?): light-dark\((#\w{6}, #\w{6})\)", (STATIC / "people.css").read_text())
    )
    assert len(pairs) == 12
    for number in range(6):
        for ink, ground in zip(
            pairs[f"hue-{number}"].split(", "), pairs[f"hue-{number}-ground"].split(", "), strict=True
        ):
            light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (number, ink, ground)


# -- Where a person can go, in which order, and what is in reach --


def entry(name: str, group: NavigationGroup = NavigationGroup.YOURS, waiting: int = 0) -> NavigationEntry:
    return NavigationEntry(name=name, path=f"/console/{name.lower()}", group=group, waiting=waiting)


MANY = Navigation(
    [
        entry("Health", NavigationGroup.HOUSEHOLD),
        *(entry(name, waiting=number) for number, name in enumerate(("A", "B", "C", "D", "E"))),
        entry("Figures", NavigationGroup.HOUSEHOLD, 2),
    ]
)


def test_what_is_theirs_comes_first_and_new_sections_fall_in_place() -> None:
    shown = [(group, [one.name for one in entries]) for group, entries in MANY.groups]

    assert shown == [
        (NavigationGroup.YOURS, ["A", "B", "C", "D", "E"]),
        (NavigationGroup.HOUSEHOLD, ["Health", "Figures"]),
    ]


@pytest.mark.requirement("side:in-reach")
def test_a_thumb_reaches_four_and_hears_how_much_waits_behind_more() -> None:
    assert [one.name for one in MANY.quick] == ["A", "B", "C", "D"]
    assert MANY.waiting_elsewhere == 4 + 2


def test_a_group_without_pages_is_not_shown() -> None:
    assert [group for group, _ in Navigation([entry("A")]).groups] == [NavigationGroup.YOURS]


@pytest.mark.parametrize(
    ("path", "here", "leads"),
    [
        ("/console/", "/console/", True),
        ("/console/", "/console/inbox", False),
        ("/console/inbox", "/console/inbox/01", True),
        ("/console/inbox", "/console/inboxes", False),
    ],
)
def test_a_place_is_marked_on_its_own_pages_alone(path: str, here: str, leads: bool) -> None:
    assert NavigationEntry(name="x", path=path, group=NavigationGroup.YOURS).leads_to(here) is leads
