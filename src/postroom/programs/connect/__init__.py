"""Write a client's own files so that it reaches the household, and take exactly that out again."""
