"""Drives the real application in a real X window: a private X server, session bus, mouse, keyboard and drag source."""
