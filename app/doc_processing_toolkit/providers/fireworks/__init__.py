"""Fireworks: chat completions at one address, with that server's own rules."""
