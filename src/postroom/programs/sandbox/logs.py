"""Keep message texts and bot tokens out of what the two server libraries log."""

from __future__ import annotations

import logging


def http_logger() -> logging.Logger:
    """For aiohttp, whose errors quote the request line and with it the bot token."""
    logger = logging.getLogger("postroom.sandbox.http")
    if not logger.filters:
        logger.addFilter(_name_the_error_only)
    return logger


def silence_smtp() -> None:
    """For aiosmtpd, which logs every line of every mail. A filter outlives a change of levels; a level does not."""
    logger = logging.getLogger("mail.log")
    if _drop not in logger.filters:
        logger.addFilter(_drop)


def _drop(record: logging.LogRecord) -> bool:
    return False


def _name_the_error_only(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[0] is not None:
        record.msg, record.args = "sandbox request failed: %s", (record.exc_info[0].__name__,)
        record.exc_info = record.exc_text = None
    return True
