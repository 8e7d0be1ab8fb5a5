"""What is in `tests.household.courier` now."""

from tests.household.courier import *
