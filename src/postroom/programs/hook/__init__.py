"""What a coding agent's hook asks, asked on the phone; the answer in the agent's own words."""
