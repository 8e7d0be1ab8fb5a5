"""Names of `tests.household`, for those who still import them from here."""
