"""What Slack says when it says no, in our words: a 200 with `ok: false` and a code, or a status that refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from postroom.domain.errors import (
    CredentialsRefused,
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.patience import LONGEST_SECONDS, shortened
from postroom.world.http.http_call import HttpAnswer
from postroom.world.http.retry_after import asked_seconds

CREDENTIALS: Final = frozenset(
    ["invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "not_allowed_token_type"]
)
PERMISSIONS: Final = frozenset(
    ["missing_scope", "no_permission", "ekm_access_denied", "access_denied", "accesslimited", "team_access_not_granted"]
)
THROTTLED: Final = frozenset(["ratelimited", "rate_limited"])
UNSURE: Final = frozenset(["fatal_error", "internal_error"])  # some of it may have been done, say Slack's own pages
AWAY: Final = frozenset(["service_unavailable", "request_timeout", "team_added_to_org", "unknown_method"])
SENTENCES: Final[Mapping[str, str]] = {
    "channel_not_found": "Slack knows no such channel or person, or the app may not see it",
    "not_in_channel": "the Slack app is not in this channel; invite it there",
    "is_archived": "this Slack channel is archived",
    "user_not_found": "Slack knows no such person",
    "user_disabled": "this Slack account has been deactivated",
    "user_not_visible": "the Slack app may not see this person",
    "users_not_found": "Slack knows no such person",
    "cannot_dm_bot": "a Slack app cannot write to another app",
    "messages_tab_disabled": "the Slack app takes no direct messages; turn on its Messages tab in App Home",
    "restricted_action": "this Slack workspace does not let the app write there",
    "restricted_action_read_only_channel": "this Slack channel is read-only",
    "restricted_action_thread_locked": "this Slack thread is locked",
    "restricted_action_thread_only_channel": "this Slack channel takes answers in threads only",
    "restricted_action_non_threadable_channel": "this Slack channel has no threads",
    "slack_connect_blocked_file_type": "Slack Connect does not let this pass",
    "cannot_reply_to_message": "this Slack message cannot be answered",
    "thread_not_found": "the Slack message to answer is gone",
    "message_not_found": "the Slack message is gone",
    "bad_timestamp": "the Slack message is gone",
    "msg_too_long": "the message is too long for Slack",
    "msg_blocks_too_long": "the message is too long for Slack",
    "no_text": "Slack takes no empty message",
    "invalid_blocks": "Slack does not take the message's form",
    "invalid_blocks_format": "Slack does not take the message's form",
    "metadata_too_large": "Slack does not take the message's form",
    "cant_delete_message": "this Slack message was written by another and cannot be deleted",
    "compliance_exports_prevent_deletion": "this Slack workspace keeps every message",
    "cant_update_message": "this Slack message was written by another and cannot be edited",
    "edit_window_closed": "the time in which this Slack message could be edited is over",
    "invalid_name": "Slack has no emoji of this name",
    "file_upload_size_restricted": "this Slack workspace takes no file of this size",
    "file_uploads_disabled": "this Slack workspace takes no files",
    "file_uploads_except_images_disabled": "this Slack workspace takes no files but pictures",
    "file_type_not_allowed": "this Slack workspace takes no file of this type",
    "blocked_file_type": "this Slack workspace takes no file of this type",
    "file_not_found": "Slack does not know the file that was brought to it",
    "file_deleted": "the Slack file is gone",
    "storage_limit_reached": "this Slack workspace has no room for more files",
    "too_many_emoji": "this Slack message has as many different reactions as Slack allows",
    "too_many_reactions": "this Slack message has as many reactions as Slack allows",
}

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SCOPES = re.compile(r"[a-z][a-z0-9_.:,]{0,200}")
_BROKE_WHILE_ANSWERING: Final = frozenset({500, 502, 504})  # 503 says that nothing was begun
_NOT_FOR_US: Final = frozenset({401, 403, 404})  # no message is at fault


class ReactionStands(ValidationError):
    """Our reaction stands there, so it was made before."""


class MessageGone(ValidationError):
    """There is no such message any more; who wanted it gone has what they wanted."""


def refusal(answer: HttpAnswer, told: Mapping[str, Any], now: datetime) -> PostroomError:
    code = _code(told)
    return _meaning(answer, told, code, now).told_by(answer.status, code or "")


def _meaning(answer: HttpAnswer, told: Mapping[str, Any], code: str | None, now: datetime) -> PostroomError:
    if answer.status == 429 or code in THROTTLED:
        return _throttled(answer.retry_after, now)
    if code is not None and (answer.status < 300 or code in UNSURE):
        return _by_code(code, told)
    if 200 <= answer.status < 300:
        return _unreadable(told)
    return _by_status(answer.status)


def not_uploaded(answer: HttpAnswer, now: datetime) -> PostroomError:
    """By the place that takes a file's bytes: nothing of it can be seen yet, and only its size is the file's fault."""
    if answer.status == 429:
        refused = _throttled(answer.retry_after, now)
    elif answer.status == 413:
        refused = ValidationError("Slack takes no file of this size (413)")
    else:
        refused = TargetUnavailable(f"Slack did not take the file ({answer.status})")
    return refused.told_by(answer.status)


def _throttled(retry_after: str | None, now: datetime) -> PostroomError:
    asked = asked_seconds(None, retry_after, now)
    said = f"Slack asks us to slow down{shortened(asked)}"
    return ProviderThrottled(said, retry_after_seconds=min(asked, LONGEST_SECONDS))


def _by_code(code: str, told: Mapping[str, Any]) -> PostroomError:
    if code == "already_reacted":
        return ReactionStands("the reaction stands there already")
    if code in ("message_not_found", "file_not_found", "file_deleted"):
        return MessageGone(f"{SENTENCES[code]} ({code})")
    if code in UNSURE:
        return OutcomeUncertain(f"Slack broke while it had the request ({code}); it may have been carried out")
    if code in CREDENTIALS:
        return CredentialsRefused(f"Slack does not accept our token ({code})")
    if code in PERMISSIONS:
        return CredentialsRefused(f"the Slack app lacks a permission ({_lacking(code, told)})")
    if code in AWAY:
        return TargetUnavailable(f"Slack cannot do this now ({code})")
    return ValidationError(f"{SENTENCES.get(code, 'Slack refused this')} ({code})")


def _unreadable(told: Mapping[str, Any]) -> PostroomError:
    if told.get("ok") is False:
        return ValidationError("Slack refused this and did not say why")
    return OutcomeUncertain("Slack's answer could not be read")


def _by_status(status: int) -> PostroomError:
    said = f"Slack answered {status}"
    if 400 <= status < 500 and status not in _NOT_FOR_US:
        return ValidationError(said)
    return ProviderFailed(said) if status in _BROKE_WHILE_ANSWERING else TargetUnavailable(said)


def _code(told: Mapping[str, Any]) -> str | None:
    """Slack's own short name for what is wrong; anything else could quote the message."""
    code = told.get("error")
    return code if told.get("ok") is False and isinstance(code, str) and _CODE.fullmatch(code) else None


def _lacking(code: str, told: Mapping[str, Any]) -> str:
    needed = told.get("needed")
    return f"{code}: {needed}" if isinstance(needed, str) and _SCOPES.fullmatch(needed) else code
