"""What ships for testing what is built on the toolkit: a scripted model, and builders of histories.

::

    agent = scripted_agent(["Hello.", ["to", "kens"], [ToolUse("add", {"a": 1, "b": 2})], "3", ProviderError("down")])
    session = agent.session()
    assert asyncio.run(session.run("Hi")).output == "Hello."
    assert agent.requests[0].messages == [{"role": "user", "content": "Hi"}]

The whole engine runs; only the model is a list: one reply per request, each text, an exception, or a list of pieces.
"""

from doc_processing_toolkit.testing.histories import PIXEL, answer, envelope, image_part, question, tool_round
from doc_processing_toolkit.testing.scripted import (
    Cut,
    Pause,
    RecordedRequest,
    ScriptedAgent,
    ToolUse,
    scripted_agent,
)

__all__ = [
    "PIXEL",
    "Cut",
    "Pause",
    "RecordedRequest",
    "ScriptedAgent",
    "ToolUse",
    "answer",
    "envelope",
    "image_part",
    "question",
    "scripted_agent",
    "tool_round",
]
