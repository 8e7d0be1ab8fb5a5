"""What is in `tests.household.courier` now."""

from tests.household.courier import *  # noqa: F403
