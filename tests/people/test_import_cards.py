from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.errors import Code, Refused
from postroom.people.import_cards import read_csv, read_vcards, tables_of

VCARD = """BEGIN:VCARD\r
VERSION:3.0\r
FN:Zoë Müller\\, PhD\r
N:Müller;Zoë;;;\r
NICKNAME:Zo,Zoë M.\r
item1.EMAIL;TYPE=INTERNET;TYPE="home,pref":zoe@exam\r
 ple.org\r
X-TELEGRAM:@zoemueller\r
END:VCARD\r
BEGIN:VCARD\r
VERSION:4.0\r
N:明;李;;;\r
END:VCARD\r
BEGIN:VCARD\r
FN:???\r
END:VCARD\r
"""


def test_a_vcard_is_read_with_all_its_names() -> None:
    cards = read_vcards(VCARD)

    zoe, li = cards.read
    assert (zoe.name, zoe.aliases, zoe.address_on("email"), zoe.address_on("telegram")) == (
        "Zoë Müller, PhD",
        ("Zo", "Zoë M."),
        "zoe@example.org",
        "@zoemueller",
    )
    assert li.name == "李 明"
    assert [number for number, _ in cards.skipped] == [3]


def test_a_csv_is_read_by_its_columns() -> None:
    cards = read_csv(
        "\ufeffname,aliases,email,telegram_chat_id,trusted\nBob,Bobby;Rob,BOB@x.org,2001,yes\n,,,,\nAnna,,nonsense,,\n"
    )

    bob = cards.read[0]
    assert (bob.name, bob.aliases, bob.address_on("email"), bob.address_on("telegram"), bob.trusted) == (
        "Bob",
        ("Bobby", "Rob"),
        "bob@x.org",
        "2001",
        True,
    )
    assert cards.skipped == [(4, "email: must be an e-mail address")]


def test_columns_of_other_programs_are_known() -> None:
    cards = read_csv("First Name,Last Name,E-mail 1 - Value\nBob,Miller,bob@x.org\n")

    assert [(one.name, one.address_on("email")) for one in cards.read] == [("Bob Miller", "bob@x.org")]


@pytest.mark.parametrize(
    ("read", "text"), [(read_csv, "bob,anna\n1,2\n"), (read_csv, ""), (read_vcards, "hello"), (read_vcards, "")]
)
def test_a_file_of_another_kind_is_refused(read: object, text: str) -> None:
    with pytest.raises(Refused) as refused:
        read(text)  # type: ignore[operator]

    assert refused.value.code is Code.IMPORT_INVALID


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (read_csv, read_vcards):
        try:
            read(text)
            read(f"name,email\n{text}")
        except Refused:
            continue


@given(st.text(max_size=300))
def test_any_card_is_read_or_skipped(text: str) -> None:
    read_vcards(f"BEGIN:VCARD\nFN:{text}\nEND:VCARD\n")


# Well inside a second when every character is looked at once; longer than anybody would wait when they are combined.
@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "parameters",
    [";" * 5_000, ";a" * 5_000, ';"' * 5_000, ';"a"' * 5_000, ";a=b" + ",c" * 5_000],
    ids=lambda text: text[:5],
)
def test_a_line_of_nothing_but_parameters_is_passed_over_at_once(parameters: str) -> None:
    cards = read_vcards(f"BEGIN:VCARD\nFN:Bob\nEMAIL{parameters}\nEND:VCARD\n")

    assert [(one.name, one.address_on("email")) for one in cards.read] == [("Bob", None)]


def test_parameters_may_be_quoted_more_than_once() -> None:
    cards = read_vcards('BEGIN:VCARD\nFN:Bob\nEMAIL;TYPE="a;b","c:d";PREF=1:bob@x.org\nEND:VCARD\n')

    assert [one.address_on("email") for one in cards.read] == ["bob@x.org"]


@pytest.mark.parametrize("character", ["\0", "\ud800"], ids=["nul", "surrogate"])
def test_an_address_that_no_store_can_keep_leaves_its_card_out(character: str) -> None:
    cards = read_csv(f"name,email\nBob,bo{character}b@x.org\nAnna,anna@x.org\n")

    assert [one.name for one in cards.read] == ["Anna"]
    assert cards.skipped == [(2, "email: must be an e-mail address")]


def test_an_old_card_has_parameters_without_names_and_quoted_letters() -> None:
    cards = read_vcards(
        "BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Zo=C3=AB=FF\n"
        "EMAIL;INTERNET;HOME:zoe@example.org\nEND:VCARD\n"
        "BEGIN:VCARD\nVERSION:2.1\nFN;QUOTED-PRINTABLE:J=C3=BCrg\nEND:VCARD\n"
    )

    assert [(one.name, one.address_on("email")) for one in cards.read] == [
        ("Zoë\ufffd", "zoe@example.org"),
        ("Jürg", None),
    ]


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("BEGIN:VCARD\n" * 20_000 + "FN:Bob\n" + "END:VCARD\n" * 20_000, 1),
        ("BEGIN:VCARD\n" * 20_000, 0),
        ("BEGIN:VCARD\nFN:Bob\n" + " \n" * 100_000 + "END:VCARD\n", 1),
        ("BEGIN:VCARD\nFN:Bob\nNOTE:" + "a" * 1_000_000 + "\nEND:VCARD\n", 1),
        ("BEGIN:VCARD\nFN;ENCODING=QUOTED-PRINTABLE;CHARSET=nonsense:=ZZ=\nEND:VCARD\n", 1),
        ("BEGIN:VCARD\nFN:a\ud800b\x00\nEND:VCARD\n", 0),
    ],
    ids=["deep", "never closed", "folded", "long", "no such encoding", "no text"],
)
def test_a_hostile_card_is_read_or_passed_over_in_good_time(text: str, read: int) -> None:
    assert len(read_vcards(text).read) == read


def test_cards_travel_as_tables_of_a_size_and_are_read_as_the_same_contacts() -> None:
    picture = f"BEGIN:VCARD\nFN:Pia\nPHOTO;ENCODING=b:{'A' * 5_000}\nEND:VCARD\n"
    contacts = [*read_vcards(VCARD).read, *read_vcards(picture).read, *read_csv("name,trusted\n'A, \"B\"',yes\n").read]

    tables = list(tables_of(contacts * 20, 400))

    assert all(len(one) <= 400 for one in tables)
    assert [contact for one in tables for contact in read_csv(one).read] == contacts * 20
    assert list(tables_of([], 400)) == []
