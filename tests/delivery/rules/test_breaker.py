"""A circuit breaker as data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.delivery.rules.breaker import (
    BreakerPolicy,
    Circuit,
    CircuitState,
    Permit,
    Report,
    acquire,
    as_of,
    refusal,
    remaining_us,
    report,
    report_of,
    state_at,
)
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    OutOfDescriptors,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import SECOND_US

NOW = 1_800_000_000_000_000
POLICY = BreakerPolicy()
RECOVERED = NOW + POLICY.recovery_us


def call(circuit: Circuit, result: Report, now: int = NOW, token: str = "t") -> Circuit:
    circuit, permit = acquire(circuit, POLICY, "telegram", token, now)
    assert permit.allowed
    return report(circuit, POLICY, permit, result, now, reason="HTTP 503", error_class="target_unavailable")


def after(*results: Report) -> Circuit:
    circuit = Circuit()
    for result in results:
        circuit = call(circuit, result)
    return circuit


def tripped() -> Circuit:
    return after(*[Report.FAILURE] * 5)


FAIL, OK, NEUTRAL = Report.FAILURE, Report.SUCCESS, Report.NEUTRAL


@pytest.mark.parametrize(
    ("results", "state", "failures"),
    [
        pytest.param([FAIL] * 4, CircuitState.CLOSED, 4, id="four failures are not enough"),
        pytest.param([FAIL] * 5, CircuitState.OPEN, 5, id="the fifth opens"),
        pytest.param([FAIL] * 4 + [OK] + [FAIL] * 4, CircuitState.CLOSED, 4, id="a success starts the count again"),
        pytest.param([FAIL] * 4 + [NEUTRAL], CircuitState.CLOSED, 4, id="a bad recipient does not count"),
        pytest.param([FAIL] * 4 + [NEUTRAL, FAIL], CircuitState.OPEN, 5, id="nor does it reset"),
        pytest.param([NEUTRAL] * 50, CircuitState.CLOSED, 0, id="only bad recipients"),
        pytest.param([OK] * 3, CircuitState.CLOSED, 0, id="all well"),
    ],
)
def test_what_opens_a_circuit(results: list[Report], state: CircuitState, failures: int) -> None:
    circuit = after(*results)
    assert (circuit.state, circuit.failures) == (state, failures)


def test_an_open_circuit_says_why_and_how_long() -> None:
    circuit, permit = acquire(tripped(), POLICY, "telegram", "t", NOW + 20 * SECOND_US)
    assert (circuit.reason, circuit.error_class) == ("HTTP 503", "target_unavailable")
    assert (permit.allowed, permit.state, permit.retry_after_seconds) == (False, CircuitState.OPEN, 40.0)


def test_a_closed_circuit_has_no_trip_reason_after_a_success() -> None:
    assert after(FAIL, OK) == Circuit()


@pytest.mark.parametrize(
    ("later_us", "state"),
    [(POLICY.recovery_us - 1, CircuitState.OPEN), (POLICY.recovery_us, CircuitState.HALF_OPEN)],
    ids=["a microsecond early", "on time"],
)
def test_time_alone_makes_an_open_circuit_half_open(later_us: int, state: CircuitState) -> None:
    assert state_at(tripped(), POLICY, NOW + later_us) is state
    assert as_of(tripped(), POLICY, NOW + later_us).state is state


def test_half_open_lets_two_probes_through_at_a_time() -> None:
    circuit, allowed = tripped(), []
    for number in range(20):
        circuit, permit = acquire(circuit, POLICY, "telegram", f"t{number}", RECOVERED)
        allowed.append(permit.allowed)
    assert allowed == [True, True] + [False] * 18


def test_a_refused_probe_waits_for_the_earliest_lease() -> None:
    circuit, _ = acquire(tripped(), POLICY, "telegram", "a", RECOVERED)
    circuit, _ = acquire(circuit, POLICY, "telegram", "b", RECOVERED + 10 * SECOND_US)
    _, permit = acquire(circuit, POLICY, "telegram", "c", RECOVERED + 20 * SECOND_US)
    assert (permit.allowed, permit.state, permit.retry_after_seconds) == (False, CircuitState.HALF_OPEN, 40.0)


def test_a_lost_probe_makes_room_when_its_lease_ends() -> None:
    circuit, _ = acquire(tripped(), POLICY, "telegram", "a", RECOVERED)
    circuit, _ = acquire(circuit, POLICY, "telegram", "b", RECOVERED)
    circuit, permit = acquire(circuit, POLICY, "telegram", "c", RECOVERED + POLICY.probe_lease_us)
    assert permit.allowed
    assert set(circuit.probes) == {"c"}


def test_two_good_probes_close_and_everything_is_forgotten() -> None:
    probing = call(tripped(), OK, RECOVERED, "a")
    assert probing.state is CircuitState.HALF_OPEN
    closed = call(probing, OK, RECOVERED, "b")
    assert closed == Circuit(generation=closed.generation)


def test_the_first_bad_probe_opens_again_for_the_whole_time() -> None:
    reopened = call(call(tripped(), OK, RECOVERED, "a"), FAIL, RECOVERED, "b")
    assert (reopened.state, reopened.failures, reopened.successes) == (CircuitState.OPEN, 6, 0)
    assert remaining_us(reopened, POLICY, RECOVERED) == POLICY.recovery_us


def test_a_neutral_probe_gives_its_place_back_and_decides_nothing() -> None:
    circuit = call(tripped(), NEUTRAL, RECOVERED, "a")
    assert (circuit.state, circuit.successes, circuit.probes) == (CircuitState.HALF_OPEN, 0, {})


@pytest.mark.parametrize("result", list(Report))
def test_results_of_an_earlier_phase_are_ignored(result: Report) -> None:
    _, early = acquire(Circuit(), POLICY, "telegram", "early", NOW)
    probing, _ = acquire(tripped(), POLICY, "telegram", "probe", RECOVERED)
    for circuit in (tripped(), probing):
        assert report(circuit, POLICY, early, result, RECOVERED) == circuit


@pytest.mark.parametrize("result", list(Report))
def test_a_refused_call_has_no_result(result: Report) -> None:
    circuit, refused = acquire(tripped(), POLICY, "telegram", "t", NOW)
    assert report(circuit, POLICY, refused, result, NOW) == circuit


def test_one_probe_reported_twice_is_one_success() -> None:
    circuit, permit = acquire(tripped(), POLICY, "telegram", "a", RECOVERED)
    for _ in range(2):
        circuit = report(circuit, POLICY, permit, OK, RECOVERED)
    assert (circuit.state, circuit.successes) == (CircuitState.HALF_OPEN, 1)


def test_a_clock_set_back_by_an_hour_does_not_keep_a_circuit_open_for_an_hour() -> None:
    hour_ago = NOW - 3600 * SECOND_US
    circuit, permit = acquire(tripped(), POLICY, "telegram", "t", hour_ago)
    assert permit.retry_after_seconds == POLICY.recovery_seconds
    _, permit = acquire(circuit, POLICY, "telegram", "t", hour_ago + POLICY.recovery_us)
    assert permit.allowed


def test_a_clock_set_back_by_an_hour_does_not_keep_lost_probes_for_an_hour() -> None:
    circuit, _ = acquire(tripped(), POLICY, "telegram", "a", RECOVERED)
    circuit, _ = acquire(circuit, POLICY, "telegram", "b", RECOVERED)
    back = RECOVERED - 3600 * SECOND_US
    circuit, permit = acquire(circuit, POLICY, "telegram", "c", back)
    assert permit.retry_after_seconds == POLICY.probe_lease_seconds
    _, permit = acquire(circuit, POLICY, "telegram", "c", back + POLICY.probe_lease_us)
    assert permit.allowed


@pytest.mark.parametrize(
    "wrong",
    [
        {"failure_threshold": 0},
        {"half_open_probes": 0},
        {"half_open_successes": 0},
        {"recovery_seconds": 0},
        {"probe_lease_seconds": -1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_policy_that_could_never_work_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="breaker"):
        BreakerPolicy(**wrong)  # type: ignore[arg-type]


policies = st.builds(
    BreakerPolicy,
    failure_threshold=st.integers(1, 4),
    recovery_seconds=st.sampled_from([0.5, 10.0]),
    half_open_probes=st.integers(1, 3),
    half_open_successes=st.integers(1, 3),
    probe_lease_seconds=st.sampled_from([0.5, 20.0]),
)
steps = st.lists(
    st.one_of(
        st.just(("acquire",)),
        st.tuples(st.just("report"), st.integers(0, 30), st.sampled_from(Report)),
        st.tuples(st.just("turn"), st.sampled_from([-3600.0, -1.0, 0.1, 0.5, 5.0, 10.0, 60.0])),
    ),
    max_size=60,
)


@given(policy=policies, steps=steps)
def test_whatever_happens_the_promises_hold(policy: BreakerPolicy, steps: list[tuple]) -> None:
    circuit, permits, now = Circuit(), [], NOW
    for number, step in enumerate(steps):
        before = circuit
        match step:
            case ("acquire",):
                circuit, permit = acquire(circuit, policy, "telegram", f"t{number}", now)
                permits.append(permit)
                assert_permit(permit, circuit, policy)
            case ("report", which, result) if permits:
                circuit = report(circuit, policy, permits[which % len(permits)], result, now)
            case ("turn", by):
                now += round(by * SECOND_US)
        assert_circuit(before, circuit, policy)


def assert_permit(permit: Permit, circuit: Circuit, policy: BreakerPolicy) -> None:
    longest = max(policy.recovery_seconds, policy.probe_lease_seconds)
    assert permit.allowed == (permit.retry_after_seconds == 0)
    assert 0 <= permit.retry_after_seconds <= longest
    assert not (permit.allowed and circuit.state is CircuitState.OPEN)
    assert bool(permit.token) == (permit.allowed and circuit.state is CircuitState.HALF_OPEN)


def assert_circuit(before: Circuit, circuit: Circuit, policy: BreakerPolicy) -> None:
    assert len(circuit.probes) <= policy.half_open_probes
    assert circuit.generation - before.generation == int(circuit.state is not before.state)
    assert circuit.state is CircuitState.HALF_OPEN or not circuit.probes
    assert circuit.state is not CircuitState.CLOSED or circuit.failures < policy.failure_threshold


BREAKER_NOW = 1_000_000_000
BREAKER_POLICY = BreakerPolicy()


@pytest.mark.requirement("messenger:closed-to-open-transition")
@pytest.mark.parametrize(
    ("error", "report"),
    [
        (None, Report.SUCCESS),
        (TargetUnavailable("x"), Report.FAILURE),
        (DeliveryTimeout("x"), Report.FAILURE),
        (OutcomeUncertain("x"), Report.FAILURE),
        (ValidationError("x"), Report.NEUTRAL),
        (ProviderThrottled("x"), Report.NEUTRAL),
        (InternalError("x"), Report.NEUTRAL),
        (OutOfDescriptors(), Report.NEUTRAL),
    ],
    ids=repr,
)
def test_only_the_provider_s_own_failures_count(error: PostroomError | None, report: Report) -> None:
    assert report_of(error) is report


@pytest.mark.parametrize(
    ("circuit", "wait"),
    [
        (Circuit(), None),
        (Circuit(state=CircuitState.OPEN, opened_at_us=BREAKER_NOW - 10_000_000), 50.0),
        (Circuit(state=CircuitState.OPEN, opened_at_us=BREAKER_NOW - 90_000_000), 0.0),
        (Circuit(state=CircuitState.HALF_OPEN), None),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": BREAKER_NOW + 9_000_000}), None),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": BREAKER_NOW + 9_000_000, "b": BREAKER_NOW + 500_000}), 0.5),
        (
            Circuit(state=CircuitState.HALF_OPEN, probes={"a": BREAKER_NOW + 9_000_000, "b": BREAKER_NOW + 8_000_000}),
            1.0,
        ),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": BREAKER_NOW + 9_000_000, "b": BREAKER_NOW - 1}), None),
    ],
    ids=str,
)
def test_new_work_is_refused_while_open_and_while_every_probe_is_taken(circuit: Circuit, wait: float | None) -> None:
    error = refusal(circuit, BREAKER_POLICY, "telegram", BREAKER_NOW)

    assert (error.retry_after_seconds if error else None) == wait
    if error:
        assert error.message == f"the circuit of telegram is {circuit.state}"
