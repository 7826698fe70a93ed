"""Reading a history of any dialect into neutral entries; what belongs to its provider alone is left out and noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from doc_processing_toolkit.conversion.native import call_of, glue_of, is_signed, parts_of, result_of, text_of
from doc_processing_toolkit.conversion.neutral import Entry, Notes, Part
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.detect import dialect_of, foreign_dialect, lens_of
from doc_processing_toolkit.dialects.view import BlockView, Kind, Lens, TextPart

# What each dialect calls its reasoning, for the report (K02).
_REASONING = {"anthropic": "thinking", "chat": "reasoning_content", "google": "thought", "openai": "reasoning"}
_KNOWN_KEYS = frozenset(
    {
        *("role", "content", "parts", "type", "id", "name", "status", "phase"),
        *("tool_calls", "tool_call_id", "reasoning_content", "refusal"),
    }
)
_SOURCES = ("citations", "annotations")
_ROLES = {"tool": "user", "other": "user"}


def read(messages: Sequence[Message], dialect: str, notes: Notes) -> list[Entry]:
    """Return the history's entries in order; a message with nothing that can cross has none."""
    entries: list[Entry] = []
    own = lens_of(dialect)
    is_mixed = foreign_dialect(messages, dialect) is not None
    for index, message in enumerate(messages):
        if is_plain_text(message):
            # Not every server knows developers (W-F2).
            plain = {**message, "role": "system"} if message["role"] == "developer" else message
            entries.append(Entry(index, plain["role"], [TextPart(message["content"])], plain=plain))
            continue
        if (said := _only_text(message)) is not None:
            entries.append(Entry(index, "assistant" if message["role"] == "model" else "user", [TextPart(said)]))
            continue
        lens = _lens(own, message) if is_mixed else own
        entry = _Reading(index, message, lens, notes).entry()
        if entry is not None:
            entries.append(entry)
    return entries


def is_plain_text(message: Message) -> bool:
    """Whether the message is a role and a string, which every dialect reads, and nothing else."""
    return (
        len(message) == 2
        and type(message.get("content")) is str
        and message.get("role") in ("user", "assistant", "system", "developer")
    )


def _only_text(message: Message) -> str | None:
    """Return the text of a Gemini content that is one unsigned text, the most frequent one; ``None`` for any other."""
    parts = message.get("parts")
    if type(parts) is not list or len(parts) != 1 or len(message) != 2 or message.get("role") not in ("user", "model"):
        return None
    text = parts[0].get("text") if type(parts[0]) is dict and len(parts[0]) == 1 else None
    return text if type(text) is str else None


def is_plain(message: Message) -> bool:
    """Whether the message is text in the neutral form, and nothing else: a string, or parts that are only text."""
    if is_plain_text(message):
        return True
    content = message.get("content")
    return (
        len(message) == 2
        and message.get("role") in ("user", "assistant", "system", "developer")
        and type(content) is list
        and all(
            isinstance(part, dict) and len(part) == 2 and part.get("type") == "text" and type(part.get("text")) is str
            for part in content
        )
    )


def _lens(own: Lens, message: Message) -> Lens:
    """Return the lens that reads a message: the history's own, but for one of another shape."""
    if own.sniff(message):
        return own
    found = dialect_of(message)
    return own if found in (None, "neutral") else lens_of(str(found))


class _Reading:
    """One message on its way into an entry."""

    def __init__(self, index: int, message: Message, lens: Lens, notes: Notes) -> None:
        self._index = index
        self._message = message
        self._lens = lens
        self._dialect = lens.name
        self._notes = notes
        self._lost: dict[str, Counter[str]] = {}
        role = lens.role(message)
        self._entry = Entry(index, _ROLES.get(role, role))

    def entry(self) -> Entry | None:
        """Return the entry, ``None`` when nothing of the message can cross."""
        before: Kind | None = None
        signatures, is_gemini = 0, self._dialect == "google"
        for view in self._lens.views(self._message):
            signatures += is_gemini and is_signed(view.block)
            self._take(view, before)
            before = view.kind
        if signatures:
            self._lose("thought", "thought signature", signatures)
        self._read_keys()
        self._report()
        entry = self._entry
        return entry if entry.parts or entry.calls or entry.results else None

    def _take(self, view: BlockView, before: Kind | None) -> None:
        block = view.block
        match view.kind:
            case Kind.TEXT:
                self._take_text(block, is_joined=before is Kind.TEXT)
            case Kind.MEDIA:
                self._take_parts(block)
            case Kind.CALL:
                self._entry.calls.append(call_of(self._dialect, self._index, view))
            case Kind.RESULT:
                self._entry.results.append(result_of(self._lens, self._index, view, self._lose))
            case Kind.REASONING:
                self._lose(_REASONING[self._dialect], _reasoning_name(self._dialect, block))
            case Kind.PROVIDER_TOOL:
                self._lose("provider_tool", _type_of(block))
            case Kind.OTHER if self._dialect != "google" or not is_signed(block):
                self._take_parts(block)

    def _take_text(self, block: Any, *, is_joined: bool) -> None:
        text = text_of(block)
        if not text and self._dialect == "google" and is_signed(block):
            return
        if isinstance(block, dict) and any(block.get(key) for key in _SOURCES):
            self._lose("citations", "text part with citations")
        glue = glue_of(self._dialect, self._entry.role)
        last = self._entry.parts[-1] if self._entry.parts else None
        if glue is not None and is_joined and isinstance(last, TextPart):
            self._entry.parts[-1] = TextPart(last.text + glue + text)
        else:
            self._entry.parts.append(TextPart(text))

    def _take_parts(self, block: Any) -> None:
        parts: list[Part] | None = parts_of(self._lens, block, self._lose)
        if parts is None:
            self._lose("unknown", _type_of(block))
        else:
            self._entry.parts += parts

    def _read_keys(self) -> None:
        """Take a refusal that stands beside the content, and note keys that nobody here knows."""
        message = self._message
        if self._dialect == "chat" and isinstance(message.get("refusal"), str) and message["refusal"]:
            self._entry.parts.append(TextPart(message["refusal"]))
        if message.get("type") in (None, "message") and self._dialect != "anthropic":
            for key, value in message.items():
                if key not in _KNOWN_KEYS and value:
                    self._lose("citations" if key in _SOURCES else "unknown", key)

    def _lose(self, artefact: str, what: str, count: int = 1) -> None:
        self._lost.setdefault(artefact, Counter())[what] += count

    def _report(self) -> None:
        for artefact, counted in self._lost.items():
            parts = ", ".join(f"{count} {what}(s)" for what, count in counted.items())
            self._notes.drop(artefact, self._index, parts)


def _reasoning_name(dialect: str, block: Any) -> str:
    if dialect == "anthropic":
        if block.get("type") == "redacted_thinking":
            return "redacted thinking block"
        return "signed thinking block" if block.get("signature") else "thinking block"
    if dialect == "openai":
        return "encrypted reasoning item" if block.get("encrypted_content") else "reasoning item"
    return "thought part" if dialect == "google" else "visible reasoning text"


def _type_of(block: Any) -> str:
    if not isinstance(block, dict):
        return type(block).__name__
    if isinstance(block.get("type"), str):
        return str(block["type"])
    return next((str(name) for name, value in block.items() if value is not None), "empty part")
