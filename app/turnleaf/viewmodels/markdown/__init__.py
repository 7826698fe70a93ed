"""Markdown as plain values that any view can lay out: parsed once, or piece by piece while it streams."""
