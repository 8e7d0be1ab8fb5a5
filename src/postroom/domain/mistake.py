"""Something the person at the keyboard can put right, said in one sentence."""

from __future__ import annotations


class Mistake(Exception):
    """Shown as it is, without a traceback."""
