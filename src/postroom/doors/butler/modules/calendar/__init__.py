"""A butler's calendar, kept at Google."""
