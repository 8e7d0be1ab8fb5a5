"""The desk: a popup that asks the person at the screen."""
