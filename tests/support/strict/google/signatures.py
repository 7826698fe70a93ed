"""Gemini thought signatures: where they must be, and that they are what they were (W-G13 to W-G18).

A minted signature carries `k` ("call" or "text"), `h` (a digest of the call or the text it stands on), `r` (response).
"""

from __future__ import annotations

import re

from support.strict.google.parts import Placed, Turn, spelled
from support.strict.payloads import decode_base64
from support.strict.rule import Found, Json, Violation, as_text
from support.strict.signer import Signer, digest

DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_DUMMY_BYTES = {decode_base64(name) for name in DUMMIES} | {name.encode() for name in DUMMIES}
_DEMANDING = re.compile(r"(models/)?gemini-([3-9]|\d\d|flash-latest|pro-latest|flash-lite-latest)")


def demands_signatures(model: str) -> bool:
    """Whether the model refuses an unsigned call of the current turn (W-G13, W-G17)."""
    return bool(_DEMANDING.match(model))


def part_digest(part: Json) -> str:
    """Return the digest of what a signature stands on: the call, or the text."""
    if "functionCall" in part:
        call = spelled(part["functionCall"])
        return digest({"name": call.get("name"), "args": call.get("args") or {}, "id": call.get("id")})
    # Empty text and no text are the same: the signature of streamed text rides on a part of its own.
    return digest({key: part[key] for key in ("text", "executableCode", "codeExecutionResult") if part.get(key)})


def check_present(turns: list[Turn], model: str) -> Found:
    """W-G13, W-G15: in the current turn the first call of every step is signed."""
    if not demands_signatures(model):
        return
    asking = (n for n, turn in enumerate(turns) if turn.role == "user" and len(turn.responses) < len(turn.parts))
    start = max(asking, default=-1)
    for turn in turns[start + 1 :]:
        first = turn.calls[0] if turn.calls else None
        if turn.role == "model" and first is not None and not first.part.get("thoughtSignature"):
            name = as_text((first.call or {}).get("name"))
            text = (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}` , position {first.content + 1}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
            yield Violation("W-G13", first.path, text)


def check_authentic(turns: list[Turn], signer: Signer | None) -> Found:
    """W-G18: every signature decodes and, where the signer is known, stands on the part that it was minted for."""
    for turn in turns:
        for placed in turn.parts:
            signature = placed.part.get("thoughtSignature")
            if signature is None:
                continue
            raw = decode_base64(as_text(signature))
            if not raw:
                text = f"Invalid value at '{placed.path}.thought_signature' (TYPE_BYTES), Base64 decoding failed."
                yield Violation("W-G18", placed.path, text)
            elif signer is not None and raw not in _DUMMY_BYTES and not _stands(placed, as_text(signature), signer):
                yield Violation("W-G18", placed.path, "Corrupted thought signature.")


def _stands(placed: Placed, signature: str, signer: Signer) -> bool:
    claims = signer.open(signature)
    return claims is not None and claims.get("k") == "google" and claims["h"] == part_digest(placed.part)


def seal(part: Json, signer: Signer, response: str) -> str:
    """Mint the signature of a part."""
    return signer.seal({"k": "google", "h": part_digest(part), "r": response})
