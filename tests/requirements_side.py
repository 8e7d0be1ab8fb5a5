SIDE: dict[str, dict[str, str]] = {}
