"""The same question through Postroom and through another product that asks people, also while its server dies."""
