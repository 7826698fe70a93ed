"""What a rule is given (a request off the wire) and what it says (a violation)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class WireRequest:
    """One request as it reached the server: parsed body, and what of its address and headers the rules need."""

    wire: str
    """`anthropic`, `responses`, `chat` or `google`."""
    body: Any
    model: str = ""
    operation: str = "generate"
    stream: bool = False
    size: int = 0
    """Bytes of the body as sent; 0 where it is not known (a recording)."""
    headers: Mapping[str, str] | None = None
    """Lower-case names; `None` where they are not known (a recording)."""
    key: str = ""
    path: str = ""
    profile: str = ""
    """Which server of the chat family this is: `openai`, `fireworks`, `deepseek` or `compatible`."""


@dataclass(frozen=True)
class Violation:
    """A wire rule that a request breaks.

    `status` is the HTTP status of the refusal, `None` where the server takes the request all the same and only a
    careful client would have sent another. `code` and `param` go into error bodies that have such fields.
    """

    rule: str
    path: str
    message: str
    status: int | None = 400
    code: str | None = None
    param: str | None = None
    details: tuple[Json, ...] = field(default=())

    def __str__(self) -> str:
        place = f" at {self.path}" if self.path else ""
        return f"{self.rule}{place}: {self.message}"


Found = Iterator[Violation]


def as_object(value: object) -> Json:
    """Return `value` when it is an object, else an empty one, so that a rule need not repeat the shape check."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return `value` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return `value` when it is a string, else the empty string."""
    return value if isinstance(value, str) else ""


def words(names: str) -> frozenset[str]:
    """Return the set of the blank-separated names, so that tables stay readable."""
    return frozenset(names.split())
