"""Say at start which tokens of the first version decide nothing any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import structlog

from postroom.domain.principal import Principal, Role

_log = structlog.get_logger("postroom.tokens")


def warn_of_users(principals: Iterable[Principal], approvers: Collection[str]) -> None:
    """Programs hold such tokens, too, so a user decides only when the settings name that user."""
    users = sorted(one.name for one in principals if one.role is Role.USER and one.name not in approvers)
    if users:
        _log.warning(
            "tokens.users_decide_nothing",
            users=users,
            mend="name people in approvals.approvers, or make tokens with `postroom token create --person ID`",
        )
