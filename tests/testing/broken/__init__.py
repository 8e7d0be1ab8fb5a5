"""Channels that are wrong on purpose, each in one way; FAILS names the checks that must find it."""
