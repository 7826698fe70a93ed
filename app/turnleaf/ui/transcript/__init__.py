"""The conversation as it is read. ``TranscriptView`` is the door; everything else is behind it."""
