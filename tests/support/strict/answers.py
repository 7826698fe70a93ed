"""The vocabulary in which a test says what the server answers: parts, endings, refusals, raw bodies.

One `Answer` fits every wire; the wires' `answer.py` modules write it as a body or as a stream. Everything here is
plain data and crosses to a server in another process as JSON (`to_json`, `from_json`).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Json = dict[str, Any]

Stop = Literal[
    "auto",  # "tool" where there are calls, else "end"
    "end",
    "tool",
    "max_tokens",
    "refusal",
    "pause",
    "context_window",
    "content_filter",
    "malformed_call",
    "recitation",
    "prompt_blocked",
    "empty",
]
EndingKind = Literal[
    "complete",
    "drop",  # the socket is reset in mid-stream
    "truncate",  # the body ends cleanly after `after` events: no terminal event
    "no_terminal",  # everything but the terminal events
    "error",  # the provider's error event inside the 200; on OpenAI nested, and `response.failed` follows, as recorded
    "error_flat",  # OpenAI: the error event as documented, not nested; elsewhere as "error"
    "failed",  # OpenAI: `response.failed` alone; elsewhere as "error"
    "stall",  # silence until the client leaves
    "endless",  # text deltas until the client leaves
    "huge_line",  # one line of `size` bytes, then the rest
    "garbage",  # a data line that is not JSON, then the rest
]


@dataclass(frozen=True)
class Text:
    """Answer text. `signed`: on Google it carries a thought signature."""

    text: str
    signed: bool = False


@dataclass(frozen=True)
class Thinking:
    """Reasoning. On Anthropic a signed (or redacted) block, on OpenAI a reasoning item, on Google a thought part."""

    text: str
    redacted: bool = False
    hidden: bool = False
    """The text stays empty and only the signature is sent (Anthropic `display: omitted`)."""


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` as a string is sent as it is, so that broken JSON can be scripted."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""
    signed: bool | None = None
    """Google: whether the part carries a signature; `None` = the first call of the answer does."""


@dataclass(frozen=True)
class Native:
    """A block, item or part in the wire's own shape: server tools, kinds of tomorrow. Streamed whole."""

    block: Json


Part = Text | Thinking | Call | Native


@dataclass(frozen=True)
class Usage:
    """Tokens in one convention: `input` counts every prompt token once, `cached` and `cache_write` are parts of it,
    `reasoning` is a part of `output`. Each wire writes them in its own convention."""

    input: int
    output: int
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Ending:
    """How the answer ends. `after` is the number of stream events before it happens; `None` = half of them."""

    kind: EndingKind = "complete"
    after: int | None = None
    size: int = 100_000_000
    code: str = ""
    message: str = ""


@dataclass(frozen=True)
class Pace:
    """Seconds before the first byte and between events, characters per delta."""

    first_s: float = 0.0
    gap_s: float = 0.0
    piece: int = 12


@dataclass(frozen=True)
class Answer:
    """One answer with status 200. `container` is an Anthropic container id to hand out with it."""

    parts: tuple[Part, ...]
    stop: Stop = "auto"
    usage: Usage | None = None
    ending: Ending = Ending()
    pace: Pace = Pace()
    served_model: str = ""
    container: str = ""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls among the parts, in order."""
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def reason(self) -> Stop:
        """The stop reason with "auto" resolved."""
        if self.stop != "auto":
            return self.stop
        return "tool" if self.calls else "end"


@dataclass(frozen=True)
class Fail:
    """A refusal or a server error with the provider's own body for `status`, before any answer."""

    status: int
    message: str = ""
    code: str = ""
    retry_after: float | None = None
    should_retry: bool | None = None
    """Anthropic's `x-should-retry`."""
    plain: bool = False
    """The body is plain text (W-A47)."""
    pace: Pace = Pace()


@dataclass(frozen=True)
class Disconnect:
    """The connection is closed before any byte of an answer."""

    pace: Pace = Pace()


@dataclass(frozen=True)
class Raw:
    """A body as given, for recorded traffic. `body` is sent in one piece, or line by line with `pace.gap_s`."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    pace: Pace = Pace()


Reply = Answer | Fail | Disconnect | Raw


def answer(*parts: Part | str, **settings: Any) -> Answer:
    """Return an `Answer` of these parts; a bare string is `Text`. `settings` are the fields of `Answer`."""
    return Answer(tuple(Text(part) if isinstance(part, str) else part for part in parts), **settings)


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Text, Thinking, Call, Native, Usage, Ending, Pace, Answer, Fail, Disconnect, Raw)
}


def to_json(value: Any) -> Any:
    """Return a reply as JSON values that `from_json` turns back into an equal one. `$` names what an object is."""
    if type(value) is _KINDS.get(type(value).__name__):
        return {"$": type(value).__name__, **{f.name: to_json(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, bytes):
        return {"$": "bytes", "base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple):
        return {"$": "tuple", "items": [to_json(item) for item in value]}
    return {"$": "value", "value": dict(value)} if isinstance(value, Mapping) else value


def from_json(value: Any) -> Any:
    """Return the reply that `to_json` wrote."""
    if not isinstance(value, dict):
        return value
    kind = value["$"]
    if kind == "bytes":
        return base64.b64decode(value["base64"])
    if kind == "tuple":
        return tuple(from_json(item) for item in value["items"])
    if kind == "value":
        return value["value"]
    return _KINDS[kind](**{name: from_json(item) for name, item in value.items() if name != "$"})
