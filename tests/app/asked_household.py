"""What is in `tests.household.asked_household` now."""

from tests.household.asked_household import *  # noqa: F403
