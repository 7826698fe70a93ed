"""What a turn on Gemini stores of its final answer (B07)."""

from __future__ import annotations

from collections.abc import Sequence

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.google import text_of
from doc_processing_toolkit.dialects.google_parts import is_empty, kind_of
from doc_processing_toolkit.dialects.view import Kind

_PLAIN = frozenset({Kind.TEXT, Kind.REASONING})


def stored_turn(messages: Sequence[Message], *, retains_content: bool) -> list[Message]:
    """Return a completed turn's messages, from its question to its answer, as the session stores them (B07).

    With ``retains_content`` (``DPT_GOOGLE_RETAIN_FINAL_TURN`` is not off) the final answer is the content that the
    API returned, signature and thought summary included, so that both are sent again. Otherwise it is plain text;
    parts that are neither text nor thought are kept.
    """
    turn = list(messages)
    if retains_content or not turn or turn[-1].get("role") != "model" or not isinstance(turn[-1].get("parts"), list):
        return turn
    parts = turn[-1]["parts"]
    kinds = [kind_of(part) for part in parts]
    if Kind.CALL in kinds:
        return turn
    others = [part for part, kind in zip(parts, kinds, strict=True) if kind not in _PLAIN and not _is_bare(part)]
    if others:
        kept = [part for part, kind in zip(parts, kinds, strict=True) if kind is not Kind.REASONING]
        turn[-1] = {**turn[-1], "parts": kept}
    else:
        turn[-1] = {"role": "assistant", "content": text_of(turn[-1])}
    return turn


def _is_bare(part: object) -> bool:
    """Whether a part holds nothing but a signature."""
    if not isinstance(part, dict):
        return True
    return is_empty(
        {name: value for name, value in part.items() if name not in ("thought_signature", "thoughtSignature")}
    )
