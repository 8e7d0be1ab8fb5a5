"""Whatever is said aside is heard."""

from __future__ import annotations

import logging
import sys

import pytest
import structlog

from postroom.testing.checks import everything_said, overhearing


def test_logs_of_both_kinds_and_both_streams_are_heard() -> None:
    with overhearing() as heard:
        logging.getLogger("deep.inside").debug("by logging")
        structlog.get_logger("deep").info("by structlog", secret="in a field")
        print("by print")
        print("by stderr", file=sys.stderr)

    assert all(said in heard.text for said in ("by logging", "by structlog", "in a field", "by print", "by stderr"))


def test_afterwards_everything_is_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    level, handlers = logging.getLogger().level, list(logging.getLogger().handlers)
    with overhearing() as heard:
        pass
    print("seen")

    assert (logging.getLogger().level, logging.getLogger().handlers) == (level, handlers)
    assert (heard.text, capsys.readouterr().out) == ("", "seen\n")


def test_an_error_says_what_its_cause_says() -> None:
    try:
        try:
            raise KeyError("canary")
        except KeyError:
            raise ValueError("something else") from None
    except ValueError as error:
        assert any("canary" in said for said in everything_said(error))
