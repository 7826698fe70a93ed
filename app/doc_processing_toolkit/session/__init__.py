"""The conversation: history, accounting, and one turn at a time."""
