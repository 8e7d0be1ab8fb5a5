"""The pages of docs/reference, written from the code."""
