"""The chat-completions wire: local models, OpenAI-compatible servers, Fireworks."""
