from __future__ import annotations

from postroom.domain.patience import LONGEST_SECONDS, said_so, shortened


def test_a_wait_within_reason_needs_no_words() -> None:
    assert (shortened(0.0), shortened(LONGEST_SECONDS)) == ("", "")


def test_a_wait_that_is_cut_says_what_was_asked_and_what_follows() -> None:
    words = shortened(3 * 86_400.0)

    assert words == "; it asked for a wait of 3 days, which is cut to 1 hour and asked again then"
    assert said_so(f"throttled by the provider: 429{words}") == words.removeprefix("; ")


def test_a_reason_of_another_kind_holds_no_such_words() -> None:
    assert said_so("throttled by the provider: 429") == ""
