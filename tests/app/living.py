"""What is in `tests.household.living` now."""

from tests.household.living import *  # noqa: F403
