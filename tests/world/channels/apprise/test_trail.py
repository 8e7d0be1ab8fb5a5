from __future__ import annotations

import socket

import pytest

from postroom.world.channels.apprise.trail import Abandoned, Fate, Trail
from postroom.world.http.public_address import PrivateAddress


def trail(*, public_only: bool = False) -> Trail:
    return Trail(patience_seconds=5.0, public_only=public_only)


def test_after_the_end_nothing_begins_leaves_or_connects() -> None:
    ended = trail()
    ended.end()

    for attempt in (ended.begin, ended.leave, lambda: ended.judge(("8.8.8.8", 1)), lambda: ended.opened(None)):
        with pytest.raises(Abandoned):
            attempt()


def test_a_request_that_failed_before_it_left_was_not_sent() -> None:
    watched = trail()
    watched.begin()
    watched.failed()
    watched.begin()
    watched.leave()
    watched.failed()

    assert [request.fate for request in watched.requests] == [Fate.NOT_SENT, Fate.UNKNOWN]


def test_after_a_request_of_unknown_fate_there_is_no_other() -> None:
    watched = trail()
    watched.begin()
    watched.leave()
    watched.failed()

    with pytest.raises(Abandoned, match="may have arrived"):
        watched.begin()


@pytest.mark.requirement("house:private-addresses")
@pytest.mark.parametrize("address", [("127.0.0.1", 1), ("::1", 1, 0, 0), ("example.org", 1), "/run/socket", b"\x00x"])
def test_only_public_addresses_are_connected_to(address: object) -> None:
    watched = trail(public_only=True)
    with pytest.raises(PrivateAddress):
        watched.judge(address)

    assert watched.led_home
    trail().judge(address)


def test_cutting_wakes_the_one_who_waits_for_an_answer() -> None:
    ours, theirs = socket.socketpair()
    watched = trail()
    watched.opened(ours)
    watched.end(cut=True)

    with ours, theirs:
        assert ours.recv(1) == b""


def test_an_end_without_a_cut_leaves_connections_to_their_owner() -> None:
    ours, theirs = socket.socketpair()
    watched = trail()
    watched.opened(ours)
    watched.end()

    with ours, theirs:
        theirs.send(b"x")
        assert ours.recv(1) == b"x"
