"""Several bots of one household in its sandbox: each fetches what is its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.errors import ValidationError
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import (
    SANDBOX_TOKEN,
    ArmedFaults,
    Fault,
    FaultChannel,
    Mode,
    bot_name,
    next_of,
    parse,
    sandbox_token,
    smtp_code,
    use_up,
)


def test_a_token_names_its_bot() -> None:
    assert [bot_name(sandbox_token(name)) for name in ("", "work", "a-b_c")] == ["", "work", "a-b_c"]
    assert bot_name("4242:sandbox-work") == ""
    assert sandbox_token() == SANDBOX_TOKEN


@pytest.mark.requirement("chan:sandbox-accounts")
def test_what_is_done_to_a_message_is_for_the_bot_that_sent_it() -> None:
    ledger = SandboxLedger()
    telegram = ledger.telegram
    card = telegram.keep(chat_id="42", text="?", now_us=1, bot="work")
    telegram.press(card, "yes", now_us=1, announce=lambda _: ("callback_query", {"of": "work"}))
    telegram.keep(
        chat_id="42",
        text="no",
        now_us=1,
        reply_to=card.message_id,
        from_person=True,
        announce=lambda _: ("message", {"of": "work"}),
    )
    telegram.keep(chat_id="42", text="hi", now_us=1, from_person=True, announce=lambda _: ("message", {"of": ""}))
    kinds = ["message", "callback_query"]

    both = [telegram.updates(offset=0, limit=9, kinds=kinds, bot=bot) for bot in ("", "work")]
    confirmed = telegram.updates(offset=4, limit=9, kinds=kinds, bot="")
    untouched = telegram.updates(offset=0, limit=9, kinds=kinds, bot="work")
    ledger.close()

    assert both == [
        [{"update_id": 3, "message": {"of": ""}}],
        [{"update_id": 1, "callback_query": {"of": "work"}}, {"update_id": 2, "message": {"of": "work"}}],
    ]
    assert (confirmed, untouched) == ([], both[1])


TELEGRAM, EMAIL = FaultChannel.TELEGRAM, FaultChannel.EMAIL


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        pytest.param({"channel": "telegram", "status": 503}, Fault(channel=TELEGRAM, status=503), id="once-by-default"),
        pytest.param(
            {"channel": "telegram", "times": 3, "status": 429, "retry_after": 5},
            Fault(channel=TELEGRAM, times=3, status=429, retry_after=5),
            id="status-with-wait",
        ),
        pytest.param(
            {"channel": "email", "times": -1, "delay_seconds": 20},
            Fault(channel=EMAIL, times=-1, delay_seconds=20.0),
            id="delay-until-cleared",
        ),
        pytest.param(
            {"channel": "email", "mode": "hang", "status": None},
            Fault(channel=EMAIL, mode=Mode.HANG),
            id="null-is-absent",
        ),
    ],
)
def test_a_fault_is_read_as_it_was_written(payload, fault):
    assert parse(payload) == fault


@pytest.mark.parametrize(
    ("payload", "wrong"),
    [
        pytest.param({}, {"channel", "body"}, id="nothing"),
        pytest.param([], {"body", "channel"}, id="no-object"),
        pytest.param({"channel": "sms", "status": 200, "times": 0}, {"channel", "status", "times"}, id="all-at-once"),
        pytest.param({"channel": "email", "status": 503, "mode": "hang"}, {"mode"}, id="two-kinds"),
        pytest.param({"channel": "email", "mode": "explode"}, {"mode"}, id="unknown-mode"),
        pytest.param({"channel": "email", "mode": "hang", "retry_after": 1}, {"retry_after"}, id="wait-without-status"),
        pytest.param({"channel": "email", "status": 503, "chanel": "x"}, {"chanel"}, id="unknown-key"),
        pytest.param({"channel": "email", "status": 503, "times": -2}, {"times"}, id="times-below"),
        pytest.param({"channel": "email", "status": 503, "times": True}, {"times"}, id="times-boolean"),
        pytest.param({"channel": "email", "status": "503"}, {"status"}, id="status-text"),
        pytest.param({"channel": "email", "delay_seconds": 0}, {"delay_seconds"}, id="delay-zero"),
        pytest.param({"channel": "email", "delay_seconds": float("nan")}, {"delay_seconds"}, id="delay-not-a-number"),
    ],
)
def test_every_wrong_field_is_named_at_once(payload, wrong):
    with pytest.raises(ValidationError) as caught:
        parse(payload)

    assert {item.field for item in caught.value.fields} == wrong


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (503, 451),
        (500, 451),
        (429, 451),
        (408, 451),
        (404, 550),
        (400, 550),
        (421, 421),
        (451, 451),
        (550, 550),
        (554, 554),
    ],
)
def test_a_status_that_no_smtp_server_gives_is_read_as_http(status, code):
    assert smtp_code(status) == code


faults = st.builds(
    Fault,
    channel=st.sampled_from(FaultChannel),
    times=st.integers(1, 4),
    status=st.integers(400, 599),
)


@given(st.lists(faults, max_size=6))
def test_each_channel_sees_its_faults_in_order_and_each_as_often_as_asked(armed):
    holder = ArmedFaults()
    for fault in armed:
        holder.arm(fault)

    for channel in FaultChannel:
        expected = [fault.status for fault in armed if fault.channel is channel for _ in range(fault.times)]
        seen = [holder.take(channel).status for _ in expected]
        assert seen == expected
        assert holder.take(channel) is None
    assert holder.listed() == ()


@given(st.lists(faults, min_size=1, max_size=6))
def test_a_fault_until_cleared_is_never_used_up(armed):
    lasting = Fault(channel=TELEGRAM, times=-1, mode=Mode.REFUSE)
    everything = (lasting, *armed)

    assert use_up(everything, lasting) == everything
    assert next_of(everything, TELEGRAM) == lasting
