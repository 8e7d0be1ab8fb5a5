"""A person's wishes about being told, checked before they are kept; and what they mean for a copy by e-mail."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from postroom.attention.model import Policy, QuietWindow
from postroom.attention.rules.policy import merged
from postroom.inbox.model import Notification, Preferences, Terms
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.message.wishes import Urgency


def changed(
    current: Preferences, wished: Preferences, names: Collection[str], *, confirmed: bool = False
) -> Preferences:
    """
    The preferences with the named fields of `wished` in their place; raises ValidationError.

    `confirmed` is whether a new address counts at once, because the operator gave it; the one before it counts until
    it is confirmed.
    """
    after = replace(current, **{name: getattr(wished, name) for name in names})
    if "email" in names:
        waits = not confirmed and wished.email not in (None, current.email)
        kept, pending = (current.email, wished.email) if waits else (wished.email, None)
        after = replace(after, email=kept, email_pending=pending)
    times = ("quiet_hours_start", "quiet_hours_end")
    missing = [name for name in times if getattr(after, name) is None]
    if len(missing) == 1:
        error = FieldError(missing[0], "quiet hours need both a start and an end", "half_set")
        raise ValidationError.of([error])
    return after


def warnings_of(preferences: Preferences, *, email_enabled: bool) -> list[str]:
    """Wishes that are kept and cannot come true as things stand, or be shown whole; empty when there are none."""
    return [*_about_windows(preferences), *_about_email(preferences, email_enabled)]


def _about_windows(preferences: Preferences) -> list[str]:
    if preferences.all_windows is None:
        return []
    return [
        f"Quiet hours are {preferences.all_windows} by the attention policy; other times set here replace them all."
    ]


def _about_email(preferences: Preferences, email_enabled: bool) -> list[str]:
    if not preferences.delivery_channel.has_email:
        return []
    silent = "" if preferences.delivery_channel.has_bell else ", and the bell stays silent"
    if not email_enabled:
        return [f"E-mail is switched off in this household (inbox.email_enabled): no copy is mailed{silent}."]
    if preferences.email is None:
        return [f"No e-mail address is confirmed yet: no copy is mailed{silent}."]
    return []


# Quiet hours: the windows of the attention policy, and no others.

_EMPTY: Final = Policy()
_PASSING: Final = Urgency.TIME_SENSITIVE  # what `high` is among urgencies


def own_policy(preferences: Preferences) -> Policy | None:
    """The person's own; times that stand in the preferences alone count as one."""
    row = preferences.attention
    own = row.policy if row is not None else None
    if own is None and preferences.quiet_hours_start is not None:
        return _with_windows(replace(_EMPTY, zone=preferences.quiet_hours_timezone or None), preferences, None)
    return own


def shown(preferences: Preferences, household: Policy | None, zone: str) -> Preferences:
    """As the person's policy and the household's have it."""
    rules = merged(household, own_policy(preferences))
    first = rules.quiet_hours[0] if rules.quiet_hours else None
    passes = _PASSING in rules.let_pass
    return replace(
        preferences,
        quiet_hours_start=first.start if first else None,
        quiet_hours_end=first.end if first else None,
        quiet_hours_timezone=zone_of(preferences, household, zone),
        high_priority_passes=passes if first else passes or preferences.high_priority_passes,
        attention=None,
        all_windows=_in_words(rules.quiet_hours),
    )


def zone_of(preferences: Preferences, household: Policy | None, zone: str) -> str:
    """In which the person's times are named: as a policy says, or they themselves; else the household's `zone`."""
    policies = (own_policy(preferences), household)
    named = next((one.zone for one in policies if one is not None and one.zone is not None), None)
    return named or preferences.quiet_hours_timezone or preferences.zone or zone


def with_quiet_hours(
    own: Policy | None, before: Preferences, after: Preferences, household: Policy | None
) -> Policy | None:
    """The person's policy once what is shown changed from one to the other; what was not changed stays as it is."""
    if _quiet(before) == _quiet(after):
        return own
    kept, said = own or _EMPTY, after.quiet_hours_timezone
    if said != before.quiet_hours_timezone and (said or after.quiet_hours_start is not None):
        kept = replace(kept, zone=said or None)
    changed = _with_windows(kept, after, household, _times(before) != _times(after))
    return _without_the_rest(changed)


def _quiet(wishes: Preferences) -> tuple[object, ...]:
    return *_times(wishes), wishes.quiet_hours_timezone, wishes.high_priority_passes


def _times(wishes: Preferences) -> tuple[object, ...]:
    return wishes.quiet_hours_start, wishes.quiet_hours_end


def _with_windows(own: Policy, wishes: Preferences, household: Policy | None, new_times: bool = True) -> Policy:
    start, end = wishes.quiet_hours_start, wishes.quiet_hours_end
    if start is None or end is None:
        theirs = household is not None and bool(household.quiet_hours)
        return replace(own, quiet_hours=() if theirs else None)
    windows = (QuietWindow(start, end),) if new_times else own.quiet_hours
    passing = _let_pass(own, household, passes=wishes.high_priority_passes)
    return replace(own, quiet_hours=windows, let_pass=passing)


def _let_pass(own: Policy, household: Policy | None, *, passes: bool) -> tuple[Urgency, ...] | None:
    counts = own.let_pass if own.let_pass is not None else household.let_pass if household is not None else None
    before = counts or ()
    if passes == (_PASSING in before):
        return own.let_pass
    return (*before, _PASSING) if passes else tuple(one for one in before if one is not _PASSING)


def _without_the_rest(policy: Policy) -> Policy | None:
    """A zone and what may pass say nothing by themselves: who takes quiet hours away has no policy, if that was all."""
    if policy.quiet_hours is None and replace(policy, zone=None, let_pass=None) == _EMPTY:
        return None
    return policy


def _in_words(windows: tuple[QuietWindow, ...]) -> str | None:
    """None for what a start and an end say completely."""
    if all(one.days is None for one in windows) and len(windows) < 2:
        return None
    return ", ".join(_words(one) for one in windows)


def _words(window: QuietWindow) -> str:
    days = "" if window.days is None else f"{' '.join(window.days)} "
    return f"{days}{window.start:%H:%M}-{window.end:%H:%M}"


# Why a notification has no copy by e-mail, or none any more.


def no_copy(notification: Notification, preferences: Preferences, terms: Terms) -> str | None:
    if not terms.email_enabled:
        return "e-mail is switched off"
    if not preferences.delivery_channel.has_email:
        return "the person wants no e-mail"
    if preferences.email is None:
        return "no address is known"
    return _settled(notification)


def _settled(notification: Notification) -> str | None:
    """Somebody who has dealt with it in the app needs no letter about it."""
    if notification.dismissed_at_us is not None:
        return "dismissed"
    if notification.archived_at_us is not None:
        return "archived"
    return "read" if notification.read_at_us is not None else None
