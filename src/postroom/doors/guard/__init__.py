"""Who is calling, and from where: shared by every door."""
