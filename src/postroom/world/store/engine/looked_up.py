"""Whether there is a row, asked so that no planner reads a whole table for it."""

from __future__ import annotations

from sqlalchemy import ColumnElement, false, func, select, true


def looked_up(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """
    EXISTS, by one look into an index for each row that is asked about.

    PostgreSQL turns an EXISTS into a join or a hash of everything the conditions
    leave, which is the whole past of a table, for the hundred rows that a LIMIT wants.
    It takes a coalesce to hold for every other row; IS NOT NULL it takes to hold for
    nearly none, and then sorts all there is instead of following an index.
    """
    return func.coalesce(select(true()).where(*conditions).limit(1).scalar_subquery(), false())
