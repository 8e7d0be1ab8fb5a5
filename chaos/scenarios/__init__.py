"""One file for each way of breaking things."""
