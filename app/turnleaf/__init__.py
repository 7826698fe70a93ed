"""Turnleaf: a desktop app for long conversations with documents."""

__version__ = "0.1.0"
