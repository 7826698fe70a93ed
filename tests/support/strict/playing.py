"""How an answer goes out: a body or a list of stream events, and what its `Ending` makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from support.strict.answers import Answer, Ending, Usage
from support.strict.rule import Json, WireRequest
from support.strict.signer import Signer, digest

_PIECE = b"x" * 65536


@dataclass(frozen=True)
class Mint:
    """With what one answer is minted: the signer, a fresh response id, the key's owner."""

    signer: Signer
    response: str
    """Twelve hexadecimal characters, unique to the answer."""
    owner: str
    created: int = 1_795_000_000

    @classmethod
    def fresh(cls, signer: Signer, seed: str, key: str) -> Mint:
        """Return a mint for the answer that `seed` names, to a client with this key."""
        return cls(signer, digest(f"response {seed}", length=12), digest(key))


@dataclass(frozen=True)
class Reel:
    """An answer as its wire writes it. `events` are whole stream events, the last `terminal` of them say it is over."""

    body: Json
    events: list[bytes]
    terminal: int
    error_events: Callable[[Ending], list[bytes]]
    """What says inside a 200 that the answer failed (endings "error", "error_flat", "failed")."""
    text_event: Callable[[str], bytes]
    """An event with one more piece of text, for streams that never end and for huge lines."""
    content_type: str = "text/event-stream; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True)
class Step:
    """One thing the server does while it streams: send bytes, or something that ends the answer oddly."""

    data: bytes = b""
    act: Literal["send", "drop", "stall", "repeat"] = "send"


def steps(reel: Reel, ending: Ending) -> Iterator[Step]:
    """Yield what the server does for a stream with this ending."""
    cut = len(reel.events) // 2 if ending.after is None else ending.after
    before, rest = reel.events[:cut], reel.events[cut:]
    if ending.kind in ("complete", "no_terminal"):
        kept = reel.events if ending.kind == "complete" else reel.events[: len(reel.events) - reel.terminal]
        yield from (Step(event) for event in kept)
        return
    yield from (Step(event) for event in before)
    if ending.kind == "drop":
        yield Step(act="drop")
    elif ending.kind in ("error", "error_flat", "failed"):
        yield from (Step(event) for event in reel.error_events(ending))
    elif ending.kind == "stall":
        yield Step(act="stall")
    elif ending.kind == "endless":
        yield Step(reel.text_event("and on and on "), act="repeat")
    elif ending.kind in ("huge_line", "garbage"):
        yield from _odd_line(reel, ending)
        yield from (Step(event) for event in rest)


def _odd_line(reel: Reel, ending: Ending) -> Iterator[Step]:
    if ending.kind == "garbage":
        yield Step(reel.text_event("broken").rstrip(b"\r\n")[:-3] + b"\n\n")
        return
    head, tail = reel.text_event("HUGE").split(b"HUGE", 1)
    yield Step(head)
    for start in range(0, ending.size, len(_PIECE)):
        yield Step(_PIECE[: min(len(_PIECE), ending.size - start)])
    yield Step(tail)


def usage_of(answer: Answer, request: WireRequest) -> Usage:
    """Return the scripted usage, or an estimate of four bytes a token."""
    if answer.usage is not None:
        return answer.usage
    written = sum(len(str(part)) for part in answer.parts)
    return Usage(input=max(1, request.size // 4), output=max(1, written // 4))


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into deltas of `size` characters; an empty text is one empty delta."""
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]
