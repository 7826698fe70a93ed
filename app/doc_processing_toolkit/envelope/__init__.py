"""Saved sessions: writing, reading, and noticing what changed in between."""
