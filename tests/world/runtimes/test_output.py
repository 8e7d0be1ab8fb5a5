from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.world.runtimes.output import Bounded, without


@given(st.lists(st.binary(max_size=40)), st.integers(2, 64))
def test_beginning_and_end_are_kept_and_never_more_than_allowed(chunks: list[bytes], most: int) -> None:
    bounded, whole = Bounded(most), b"".join(chunks)
    for chunk in chunks:
        bounded.add(chunk)

    content, half = bounded.content(), most // 2

    assert len(content) <= 2 * half + 1
    if len(whole) <= 2 * half:
        assert content == whole
    else:
        assert content == whole[:half] + b"\n" + whole[-half:]


def test_secrets_are_covered_wherever_they_stand() -> None:
    output = b'{"key": "sk-long-enough", "again": "sk-long-enough"} short'

    assert without(["sk-long-enough", "short", ""], output) == b'{"key": "***", "again": "***"} short'
