"""What a session stores and sends of its history, and where it may be cut."""
