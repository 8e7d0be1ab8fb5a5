"""When two requests are the same request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.kinds import KINDS

from postroom.delivery.rules.policy import DeliveryPolicy, content_hash, identify, replay_key
from postroom.household.delivery import delivery_policy
from postroom.message.delivery import Format, Intent, OnUncertain, Priority
from postroom.message.outgoing import Outgoing, RequestContext
from postroom.settings import Settings

NOTIFY = Outgoing(
    origin_butler="health",
    intent=Intent.SEND,
    channel="telegram",
    message="Hello",
    recipient="1000",
    subject=None,
    emoji=None,
    context=None,
    idempotency_key=None,
    priority=Priority.MEDIUM,
    on_uncertain=None,
)
CONTEXT = RequestContext(
    request_id="r", source_channel="telegram", source_endpoint_identity="bot", source_sender_identity="1"
)


def key(request_id: str = "r", target: str = "1000", **changes: Any) -> str:
    return identify(replace(NOTIFY, **changes), request_id=request_id, target_identity=target).key


@pytest.mark.requirement("messenger:key-derivation", "messenger:idempotent-delivery-requests")
@pytest.mark.parametrize(
    "other",
    [
        {"request_id": "r2"},
        {"origin_butler": "general"},
        {"intent": Intent.REPLY},
        {"channel": "email"},
        {"target": "2000"},
        {"message": "hello"},
        {"subject": "S"},
        {"emoji": "👍"},
    ],
    ids=str,
)
def test_everything_that_makes_another_message_makes_another_key(other: dict[str, Any]) -> None:
    assert key(**other) != key()


@pytest.mark.requirement("messenger:key-derivation")
@pytest.mark.parametrize(
    "same",
    [
        {"origin_butler": " Health "},
        {"channel": "TELEGRAM"},
        {"target": " 1000 "},
        {"message": " Hello\n"},
        {"request_id": " R "},
        {"subject": "  "},
        {"priority": Priority.HIGH},
    ],
    ids=str,
)
def test_space_and_case_of_names_make_no_difference(same: dict[str, Any]) -> None:
    assert key(**same) == key()


@pytest.mark.requirement("house:one-folding")
def test_the_target_is_folded_as_every_address_is() -> None:
    assert key(target="Ann@Example.com") == key(target="ann@example.com")
    assert key(target="\u212aim@example.com") != key(target="kim@example.com")


def test_the_case_of_the_message_is_kept() -> None:
    assert key(message="US") != key(message="us")


@given(st.lists(st.text(max_size=6), min_size=3, max_size=3), st.lists(st.text(max_size=6), min_size=3, max_size=3))
def test_no_joint_between_subject_message_and_emoji_is_ambiguous(one: list[str], other: list[str]) -> None:
    first, second = (replace(NOTIFY, subject=parts[0], message=parts[1], emoji=parts[2]) for parts in (one, other))
    trimmed = [[part.strip() for part in parts] for parts in (one, other)]

    assert (content_hash(first) == content_hash(second)) is (trimmed[0] == trimmed[1])


def test_a_caller_s_own_key_stands_for_itself_within_its_butler() -> None:
    mine = identify(replace(NOTIFY, idempotency_key="k"), request_id="1", target_identity="1000")
    again = identify(replace(NOTIFY, idempotency_key=" k "), request_id="2", target_identity="1000")
    other_text = identify(replace(NOTIFY, idempotency_key="k", message="x"), request_id="3", target_identity="1000")
    other_butler = identify(
        replace(NOTIFY, idempotency_key="k", origin_butler="general"), request_id="1", target_identity="1000"
    )

    assert mine == again
    assert (mine.key, mine.fingerprint != other_text.fingerprint) == (other_text.key, True)
    assert mine.key != other_butler.key


def test_only_a_request_of_its_own_needs_no_looking_up() -> None:
    fresh = [
        identify(notify, request_id="r", target_identity="1").fresh
        for notify in (NOTIFY, replace(NOTIFY, context=CONTEXT), replace(NOTIFY, idempotency_key="k"))
    ]

    assert fresh == [True, False, False]


@pytest.mark.requirement("messenger:replay-lineage")
def test_a_replay_of_a_replay_keeps_counting_on_the_original() -> None:
    first = replay_key("abc", 1)

    assert first == "abc::replay-1"
    assert replay_key(first, 2) == "abc::replay-2"


@pytest.mark.requirement("content:format-carried", "content:plain-exact")
def test_the_same_words_in_another_format_are_another_message() -> None:
    assert content_hash(replace(NOTIFY, format=Format.MARKDOWN)) != content_hash(NOTIFY)


def test_the_keys_of_stored_deliveries_stay_what_they_were() -> None:
    """A key that another version wrote is looked up by this one."""
    asked = Outgoing(origin_butler=" Home ", channel="Telegram", message=" Grüße ", recipient="5", subject="S")
    derived = identify(asked, request_id=" r1 ", target_identity="Ä:7")
    own = identify(replace(asked, idempotency_key="k-1"), request_id="r2", target_identity="Ä:7")

    assert derived.key == derived.fingerprint == "dd59b183309bff82d2491031b0471f9e7b20bf14609b5a457da3439e13353c17"
    assert own.key == "9f2f53e56ca8575aee7c6823efe672fb0125b04abad80c95fd4077e7d36c565b"
    assert own.fingerprint == "115e1e1dcd9b7ad6925913a895d09ddb76b738da8ee828281cdf7d0ca0247f80"


POLICY = delivery_policy(Settings(home=Path("unused")), KINDS)


@pytest.mark.requirement("messenger:per-channel-timeouts")
@pytest.mark.parametrize(
    ("channel", "seconds"), [("telegram", 15.0), (" Telegram ", 15.0), ("email", 45.0), ("matrix", 30.0)]
)
def test_every_channel_has_its_deadline(channel: str, seconds: float) -> None:
    assert POLICY.timeout_seconds(channel) == seconds


@pytest.mark.parametrize("lease", [1.0, 30.0, 600.0])
def test_a_lease_outlasts_the_call_it_covers(lease: float) -> None:
    policy = replace(POLICY, lease_seconds=lease)

    for channel in ("telegram", "email", "matrix"):
        assert policy.sending_lease_seconds(channel) >= policy.timeout_seconds(channel) + 10
        assert policy.sending_lease_seconds(channel) >= lease


def test_the_message_decides_before_the_channel_and_the_channel_before_the_household() -> None:
    policy = DeliveryPolicy(on_uncertain_by_channel={"email": OnUncertain.HOLD})

    assert policy.uncertain("telegram", None) is OnUncertain.RESEND
    assert policy.uncertain("email", None) is OnUncertain.HOLD
    assert policy.uncertain("email", OnUncertain.RESEND) is OnUncertain.RESEND


def test_files_have_the_time_they_take_on_a_slow_line_and_no_more_than_four_minutes() -> None:
    assert POLICY.timeout_seconds("telegram", 2_500_000) == 25.0
    assert POLICY.timeout_seconds("telegram", 10**12) == 255.0
    assert POLICY.sending_lease_seconds("telegram", 10**12) > 255.0
