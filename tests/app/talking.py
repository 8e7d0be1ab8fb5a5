"""What is in `tests.household.talking` now."""

from tests.household.talking import *  # noqa: F403
