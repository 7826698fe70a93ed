"""Block views: what every dialect shows of its messages, so that modes, cuts and media are written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from doc_processing_toolkit.core.protocols import Message


class Kind(Enum):
    """What a block is. ``OTHER`` is kept on the same provider and dropped, with a report, on a crossing."""

    TEXT = "text"
    MEDIA = "media"
    REASONING = "reasoning"
    CALL = "call"
    RESULT = "result"
    PROVIDER_TOOL = "provider_tool"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class BlockView:
    """One block of a message: its kind, the native block, and where it stands in the message.

    ``call_id`` and ``name`` are set on calls and results where the dialect gives them.
    """

    kind: Kind
    block: Any
    path: tuple[str | int, ...]
    call_id: str | None = None
    name: str | None = None

    def with_block(self, block: Any) -> BlockView:
        """Return the same view over another native block."""
        return replace(self, block=block)


@dataclass(frozen=True, slots=True)
class InlineMedia:
    """A media part whose bytes are in the message, as base64 text (or a ``$media:`` marker in its place)."""

    data: str
    mime_type: str | None


@dataclass(frozen=True, slots=True)
class MediaReference:
    """A media part that points elsewhere: ``kind`` is ``url``, ``provider_file`` or ``google_file_uri``."""

    kind: str
    uri: str
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text in a user's message."""

    text: str


@dataclass(frozen=True, slots=True)
class MediaPart:
    """Bytes in a user's message: base64 text, its media type, and the file's name."""

    data: str
    mime_type: str
    name: str = ""

    @property
    def kind(self) -> str:
        """The input type that a row must list: ``image``, ``audio``, ``video`` or ``document``."""
        family = self.mime_type.partition("/")[0]
        return family if family in ("image", "audio", "video") else "document"


UserPart = TextPart | MediaPart


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool call came to: text, or parts where media is among it, or the text of its error."""

    call_id: str
    name: str
    content: str | tuple[UserPart, ...]
    is_error: bool = False


class Lens(Protocol):
    """The knowledge of one message shape. Every function is pure; a message is never changed in place."""

    name: str

    def sniff(self, message: Message) -> bool:
        """Whether the message is in this dialect (a plain text message is in every one)."""

    def role(self, message: Message) -> str:
        """Return ``user``, ``assistant``, ``tool`` or ``system``."""

    def views(self, message: Message) -> list[BlockView]:
        """Return the message's blocks in order."""

    def rebuild(self, message: Message, kept: Sequence[BlockView]) -> Message | None:
        """Return the message with these blocks: the same object when nothing changed, ``None`` when nothing is left."""

    def result_text(self, view: BlockView) -> str:
        """Return a tool result's text."""

    def with_result(self, view: BlockView, content: str) -> BlockView:
        """Return a tool result with other content."""

    def media_views(self, message: Message) -> list[BlockView]:
        """Return every media block of a message, those inside tool results too."""

    def media(self, view: BlockView) -> InlineMedia | MediaReference | None:
        """Return what a media block holds; ``None`` for any other block."""

    def with_media(self, view: BlockView, data: str) -> BlockView:
        """Return a media block with other base64 text (or a marker) in the place of its own."""

    def text_block(self, view: BlockView, text: str) -> BlockView:
        """Return a text block in the place of a media block."""

    def user_message(self, parts: Sequence[UserPart]) -> Message:
        """Return a user message with these parts; a single text part becomes plain text."""

    def assistant_message(self, text: str) -> Message:
        """Return an assistant message that carries plain text."""

    def result_messages(self, results: Sequence[ToolOutcome]) -> list[Message]:
        """Return the messages that answer the calls of one round, in the order of the calls."""

    def system_text(self, message: Message) -> str | None:
        """Return a system message's text, ``None`` for any other message."""


@runtime_checkable
class MendingLens(Protocol):
    """What a lens has besides where its messages lean on each other (OpenAI's items do)."""

    def mend(self, before: Sequence[Message], after: Sequence[Message]) -> list[Message]:
        """Return ``after``, what a filter left of ``before``, without what cannot stand there any more."""

    def longest_legal(self, messages: Sequence[Message], count: int) -> int:
        """Return ``count``, or less where the cut would leave a message without what it needs."""


def replace_blocks(message: Message, views: Sequence[BlockView]) -> Message:
    """Return a copy of the message with each view's block at its path; what is not on a path is shared, not copied."""
    changed: Any = message
    for view in views:
        changed = _replaced(changed, view.path, view.block)
    return dict(changed)


def _replaced(value: Any, path: tuple[str | int, ...], block: Any) -> Any:
    if not path:
        return block
    copied: Any = list(value) if isinstance(value, list) else dict(value)
    copied[path[0]] = _replaced(value[path[0]], path[1:], block)
    return copied
