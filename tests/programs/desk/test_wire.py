from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.wire import Sheet, decode_sheet, encode_sheet


@given(st.text(), st.lists(st.tuples(st.sampled_from(["stt", "tts"]), st.text())), st.lists(st.text()))
def test_a_sheet_arrives_as_it_was_sent_in_one_line(
    message: str, history: list[tuple[str, str]], options: list[str]
) -> None:
    sheet = Sheet(
        message=message,
        title="T",
        history=tuple(history),
        options=tuple(options),
        timeout_seconds=7.5,
        draft_file="d",
        turn_file="t",
        turn_token="x",
    )
    line = encode_sheet(sheet)
    assert line.count(b"\n") == 1
    assert decode_sheet(line) == sheet


def test_texts_are_not_in_the_repr() -> None:
    sheet = Sheet(
        message="private", title="T", history=(("stt", "private"),), draft_file="", turn_file="", turn_token=""
    )
    assert "private" not in repr(sheet)
