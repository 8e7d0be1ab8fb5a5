"""Faults: read as they were written, refused with every wrong field named, and used up in the order they were armed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.errors import ValidationError
from postroom.sandbox.faults import ArmedFaults, Fault, FaultChannel, Mode, parse, smtp_code

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
    holder = ArmedFaults()
    everything = (Fault(channel=TELEGRAM, times=-1, mode=Mode.REFUSE), *armed)
    for fault in everything:
        holder.arm(fault)

    assert [holder.take(TELEGRAM) for _ in range(3)] == [everything[0]] * 3
    assert holder.listed() == everything
    assert (holder.clear(), holder.take(TELEGRAM)) == (len(everything), None)
