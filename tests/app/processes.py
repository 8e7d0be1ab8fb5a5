"""What is in `tests.household.processes` now."""

from tests.household.processes import *  # noqa: F403
