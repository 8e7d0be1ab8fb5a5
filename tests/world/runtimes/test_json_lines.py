from __future__ import annotations

from postroom.world.runtimes.json_lines import events, items, number, text_of, within


def test_only_whole_objects_are_events() -> None:
    output = b'{"a": 1}\nhello\n[1]\n\n{"b"\n\xff\n{"c": 2}'

    assert list(events(output)) == [{"a": 1}, {"c": 2}]


def test_a_shape_that_is_not_there_is_empty() -> None:
    event = {"item": {"text": "t", "count": 3, "parts": [{"a": 1}, 5]}, "flag": True}

    assert within(event, "item", "nothing") == within(event, "flag", "x") == {}
    assert items(event, "item", "parts") == [{"a": 1}]
    assert items(event, "flag") == []
    assert (text_of(event, "item"), text_of(within(event, "item"), "text")) == ("", "t")
    assert (number(event, "flag"), number(within(event, "item"), "count")) == (0, 3)
