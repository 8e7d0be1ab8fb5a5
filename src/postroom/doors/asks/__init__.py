"""Asking people, and hearing what they answered."""
