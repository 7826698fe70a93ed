"""Carrying a history over to another provider, and saying what that leaves behind."""
