"""The agent: settings, tools, hooks, and the loop of a turn."""
