"""What the window shows and does, without any widget: one object per part of the screen."""
