from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.email.incoming.languages import HEADS, WROTE

from postroom.channels.email.incoming.own_words import own_words, unflowed

REPLIES = {
    "plain": ("Yes, please.", "Yes, please."),
    "gmail": ("2\n\nOn Mon, 16 Nov 2026 at 09:00, Bot <bot@post.example> wrote:\n\n> health asks:\n> Ship it?", "2"),
    "broken over lines": (
        "yes\n\nOn Mon, 16 Nov 2026 at 09:00, A Very Long Name\n<bot@post.example> wrote:\n> x",
        "yes",
    ),
    "without marks": ("yes\n\nOn Mon, 16 Nov 2026 bot wrote:\nhealth asks:\nShip it?\n", "yes"),
    "below the quote": ("On 16 Nov 2026, bot wrote:\n> Ship it?\n\nno, not yet", "no, not yet"),
    "between": ("> one?\nyes\n> two?\nno", "yes\nno"),
    "german": ("ja\n\nAm 16.11.2026 um 09:00 schrieb Bot:\n> Ship it?", "ja"),
    "french": ("oui\n\nLe lun. 16 nov. 2026 à 09:00, Bot a écrit :\n> x", "oui"),
    "outlook": (
        "yes\n\n__________________\nFrom: Bot <b@post.example>\nSent: Monday\nTo: Ada\nSubject: x\n\nShip it?",
        "yes",
    ),
    "outlook without a rule": (
        "yes\n\nFrom: Bot <b@post.example>\nSent: Monday\nTo: Ada\nSubject: Ship it?\n\nx",
        "yes",
    ),
    "outlook in german": ("ja\n\nVon: Bot\nGesendet: Montag\nAn: Ada\nBetreff: Frage\n\nx", "ja"),
    "original message": ("yes\n-----Original Message-----\nFrom: Bot\nShip it?", "yes"),
    "signature": ("yes\n-- \nAda Lovelace\nAnalyst", "yes"),
    "phone": ("yes\n\nSent from my iPhone", "yes"),
    "closing": ("2\n\nBest regards,\nAda", "2"),
    "name": ("2\n\nAda", "2"),
    "whole name": ("2\n\nAda Lovelace", "2"),
    "crlf": ("yes\r\n\r\nOn 16 Nov 2026, bot wrote:\r\n> x\r\n", "yes"),
    "own sentence": ("On Monday he wrote:\nnever mind, ship it", "On Monday he wrote:\nnever mind, ship it"),
    "thanks alone": ("Thanks", "Thanks"),
    "no answer": ("> Ship it?\n", ""),
    "long answer": ("First.\n\nSecond: not From: here.\n\nThird", "First.\n\nSecond: not From: here.\n\nThird"),
}


@pytest.mark.requirement("mail:own-words")
@pytest.mark.parametrize(("text", "own"), REPLIES.values(), ids=REPLIES)
def test_only_what_the_person_wrote_is_left(text: str, own: str) -> None:
    assert own_words(text, "Ada Lovelace") == own


OWN = "bot@post.example"


@pytest.mark.requirement("mail:own-words")
@pytest.mark.parametrize("line", WROTE.values(), ids=WROTE)
def test_who_wrote_what_is_quoted_is_no_part_of_the_answer_in_any_language(line: str) -> None:
    said = line.format(own=OWN)
    broken = said.replace(" <", "\n<", 1)
    for written in (
        f"no, not yet\n\n{said}\n> Ship it?",
        f"no, not yet\n\n{said}\n\n> Ship it?\n>\n> 1. yes",
        f"no, not yet\n{said}\n> Ship it?",
        f"no, not yet\n\n{broken}\n> Ship it?",
        f"no, not yet\n\n{said}\nShip it?\n1. yes",
        f"{said}\n> Ship it?\n\nno, not yet",
        f"no, not yet\n\n{said}",
    ):
        assert own_words(written, "Ada Lovelace", [OWN]) == "no, not yet"


@pytest.mark.requirement("mail:own-words")
@pytest.mark.parametrize("labels", HEADS.values(), ids=HEADS)
def test_the_head_of_a_quoted_mail_ends_the_answer_in_any_language(labels: tuple[str, str, str, str]) -> None:
    sender, sent, to, subject = labels
    values = f"{sender}: Bot <{OWN}>\n{sent}: 16. 11. 2026 09:00\n{to}: Ada <ada@example.org>\n{subject}: Ship it?"
    bold = values.replace(":", ":*", 1)
    for head in (values, f"________________________________\n{values}", f"*{bold}"):
        assert own_words(f"no\n\n{head}\n\nShip it?", "Ada Lovelace", [OWN]) == "no"


@pytest.mark.parametrize(
    "own",
    [
        "Bob says:\nship it",
        "Take these:\n1. red\n2. blue",
        "Name: Ada\nMail: ada@example.org\nBorn: 10 December 1815",
        "At 9:30:\nwe ship it",
        "The dates are:\n16.11.2026",
    ],
)
def test_a_persons_own_lines_that_end_in_a_colon_stay(own: str) -> None:
    assert own_words(f"{own}\n\nOn 16 Nov 2026, Bot <{OWN}> wrote:\n> x", "Eve", [OWN]) == own


def test_paragraphs_that_a_program_broke_are_whole_again() -> None:
    assert unflowed("one \r\ntwo\r\nthree \r\n-- \r\nAda") == "one two\nthree \n-- \nAda"


@given(st.text(alphabet=st.sampled_from("ab:>-_ \nOnwrote@1From"), max_size=300))
def test_nothing_is_added_and_nothing_raises(text: str) -> None:
    left = own_words(text).split("\n")

    assert all(line in text for line in left)


def test_a_text_of_any_length_is_read_in_time() -> None:
    for line in ("On " * 20_000, "_" * 60_000, "From: \n" * 9_000, "On 1\n" * 12_000, "> \n" * 20_000):
        own_words(line)
