"""Which tests may go: what each one covers, what would be missed without it, and which mistakes it notices."""
