"""What a thinking signature is bound to: its text, its answer, and the conversation before it (W-A29 to W-A34).

A minted signature carries claims (`Signer`):
`k` kind, `m` minting model, `o` digest of the API key (stands for the organisation), `r` response, `i` and `n` index
and number of the thinking blocks of that response, `h` digest of the text, `p` rolling digest of everything but
thinking that came before (empty on models without preserved thinking), `l` the thinking block that came before.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from support.strict.anthropic.turns import Placed, Turn
from support.strict.rule import Json, as_list, as_text
from support.strict.signer import Claims, Signer, digest

THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Bound:
    """A thinking block of a request with its claims (`None`: not a signature of this signer) and the prefix there."""

    placed: Placed
    claims: Claims | None
    prefix: str
    turn: int


class Prefix:
    """A rolling digest over system, tools and every block but thinking, whatever the message boundaries."""

    def __init__(self, body: Json) -> None:
        self._hash = hashlib.sha256()
        self._add("tools", [_canonical(tool) for tool in as_list(body.get("tools"))])
        system = body.get("system")
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) and system else as_list(system)
        self._add("system", [_canonical(block) for block in blocks])

    def add(self, role: str, block: Json) -> None:
        """Take one more block in; thinking is left out."""
        if block.get("type") not in THINKING:
            self._add(role, _canonical(block))

    def value(self) -> str:
        """The digest so far."""
        return self._hash.copy().hexdigest()[:16]

    def _add(self, role: str, value: object) -> None:
        text = json.dumps([role, value], sort_keys=True, ensure_ascii=False)
        self._hash.update(text.encode("utf-8", "surrogatepass"))


def _canonical(value: object) -> object:
    """Leave out what does not break a prefix (W-A31): cache marks, absent citations, the host of a rotated URL."""
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: _canonical(v) for k, v in value.items() if k != "cache_control" and not (k == "citations" and not v)}
    if value.get("type") == "tool_result" and isinstance(value.get("content"), str):
        kept["content"] = [{"type": "text", "text": value["content"]}]
    if value.get("type") == "url" and "url" in value:
        kept["url"] = urlsplit(as_text(value["url"])).path
    return kept


def bound_blocks(body: Json, turns: list[Turn], signer: Signer) -> list[Bound]:
    """Return every thinking block of a request's assistant turns, with the prefix digest at its place."""
    prefix, found = Prefix(body), []
    for number, turn in enumerate(turns):
        for placed in turn.blocks:
            if placed.kind in THINKING:
                claims = signer.open(as_text(placed.block.get(_token_key(placed.kind))))
                found.append(Bound(placed, claims, prefix.value(), number))
            prefix.add(turn.role, placed.block)
    return found


def _token_key(kind: str) -> str:
    return "signature" if kind == "thinking" else "data"


def block_id(token: str) -> str:
    """Return the short id under which later blocks link to the block with this signature."""
    return digest(token, length=12)


def token_of(placed: Placed) -> str:
    """Return a thinking block's signature, or a redacted one's data."""
    return as_text(placed.block.get(_token_key(placed.kind)))


def seal_thinking(
    signer: Signer, *, model: str, owner: str, response: str, place: tuple[int, int], text: str, prefix: str, link: str
) -> str:
    """Mint the signature (or the data) of a thinking block; `prefix` empty = not bound to the conversation."""
    claims = {"k": "thinking", "m": model, "o": owner, "r": response, "i": place[0], "n": place[1], "h": digest(text)}
    return signer.seal({**claims, "p": prefix, "l": link if prefix else ""})
