"""Which question comes next."""

from __future__ import annotations

from postroom.domain.question import QuestionKind, Wording
from postroom.programs.desk.asks.asked import Ask
from postroom.programs.desk.asks.board import Board


def ask(name: str, revision: int = 1) -> Ask:
    return Ask(id=name, revision=revision, asker="butler:health", wording=Wording(kind=QuestionKind.TEXT, question="?"))


def test_the_oldest_comes_first_and_one_that_was_put_aside_does_not_come_again() -> None:
    board = Board()
    board.put([ask("a"), ask("b")])
    assert board.next() == ask("a")
    board.put_aside(ask("a"))
    board.put([ask("a"), ask("b")])
    assert board.next() == ask("b")
    board.put_aside(ask("b"))
    assert board.next() is None


def test_other_words_bring_a_question_back() -> None:
    board = Board()
    board.put([ask("a")])
    board.put_aside(ask("a"))
    board.put([ask("a", revision=2)])

    assert board.next() == ask("a", revision=2)
    assert not board.holds(ask("a")) and board.holds(ask("a", revision=2))


def test_it_says_what_has_ended_and_rings() -> None:
    board = Board()
    board.put([ask("a"), ask("b")])
    news = board.changed.news()

    assert board.put([ask("b")]) == {"a"}
    assert news.is_set() and not board.holds(ask("a"))
