"""Claude Code without a screen: it ends at a question, and is resumed with the person's answer."""
