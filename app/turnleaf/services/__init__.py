"""What the desktop does without a window: files, models, checkpoints, transcripts; plain Python, no Qt."""
