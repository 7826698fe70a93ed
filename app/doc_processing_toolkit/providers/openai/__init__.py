"""The OpenAI Responses wire, and what every request through the OpenAI SDK has in common."""
