"""Where a person can go, in which order, and what is in reach."""

from __future__ import annotations

import pytest

from postroom.console.frame import Navigation, NavigationEntry, NavigationGroup


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
