"""Builds the parts of a household from its settings and runs them: the only place that knows everything."""
