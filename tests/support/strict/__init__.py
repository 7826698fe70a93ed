"""Loopback servers that speak the four providers' APIs and refuse what the real ones refuse.

How a test uses them::

    from support.strict import Call, Thinking, answer, checked_server

    def test_a_tool_round_is_answered() -> None:
        with checked_server() as server:                       # fails at its end on any violation
            server.script(
                answer(Thinking("hm"), Call("add", {"a": 1, "b": 2})),
                answer("3"),
            )
            agent = Agent("claude-haiku-4-5", tools=[add], api_key="k", base_url=server.url("anthropic"))
            assert asyncio.run(agent.run("1 + 2?")).output == "3"
        assert server.requests[1]["messages"][-1]["content"][0]["type"] == "tool_result"

- *Addresses*: `server.url(name)` with `anthropic`, `openai` (Responses and chat completions), `google`
  (generateContent, streamGenerateContent, Files), `fireworks`, `deepseek` (demands reasoning back), `compatible`
  (any local server).
- *Replies*: `answer(*parts)`; parts are strings, `Text`, `Thinking`, `Call`, `Native` (a block in the wire's own
  shape). `stop=` is the reason, `usage=Usage(...)`, `pace=Pace(first_s, gap_s, piece)`; `ending=Ending(kind, after)`
  breaks a stream: `drop`, `truncate`, `no_terminal`, `error`, `error_flat`, `failed`, `stall`, `endless`,
  `huge_line`, `garbage`.
  `Fail(status, retry_after=…, plain=…)` refuses, `Disconnect()` hangs up, `Raw(body)` plays recorded traffic.
  `script` queues (for all, or `wire="google"`), `always` stands when the queue is empty, `respond` decides by request.
- *Checks*: every request meets the rules of its wire (`anthropic.check`, `responses.check`, `chat.check`,
  `google.check`: pure functions from a `WireRequest` to a list of `Violation`). A violation with a status is an HTTP
  error in the provider's own shape and stands in `server.violations`; one without is taken and stands in `warnings`.
  Rule ids are those of the wire rules (`W-A1` …); ids that begin with `X` say in their module where they come from.
- *Signatures are really checked.* What the server mints (thinking signatures, redacted data, `encrypted_content`,
  thought signatures, item and call ids) is an HMAC over what it is bound to, so a block that was changed, moved or
  left out is noticed, also by another server or process; `StrictServer(secret=…)` makes a stranger, another API key
  another organisation.
- *Records*: `server.exchanges` (status, times, `client_left_at` when the client went early, `complete`),
  `server.requests` (bodies), `server.files` (uploads: `expire`, `polls`), `server.open_connections`, `settled()`.
- *Another process*, for benchmarks: `StrictProcess()` has the same face, but for `respond`.

A key named `invalid` is refused; any other key is a customer.
"""

from support.strict.answers import (
    Answer,
    Call,
    Disconnect,
    Ending,
    Fail,
    Native,
    Pace,
    Raw,
    Reply,
    Text,
    Thinking,
    Usage,
    answer,
)
from support.strict.process import StrictProcess
from support.strict.rule import Violation, WireRequest
from support.strict.server import StrictServer, checked_server
from support.strict.state import Exchange

__all__ = [
    "Answer",
    "Call",
    "Disconnect",
    "Ending",
    "Exchange",
    "Fail",
    "Native",
    "Pace",
    "Raw",
    "Reply",
    "StrictProcess",
    "StrictServer",
    "Text",
    "Thinking",
    "Usage",
    "Violation",
    "WireRequest",
    "answer",
    "checked_server",
]
