"""One more try at a structured answer: what was wrong is told, and the detour is not stored (A10)."""

from __future__ import annotations

from collections.abc import Sequence

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import Lens, TextPart
from doc_processing_toolkit.providers.base import Reply

_ASKED = "That answer cannot be used: {problem}. Answer again, with nothing but JSON of the form asked for."


class Repair:
    """The repair attempt of one turn."""

    def __init__(self, lens: Lens) -> None:
        self._lens = lens
        self._detour: tuple[int, int] | None = None

    @property
    def was_tried(self) -> bool:
        """Whether the model was asked once more already."""
        return self._detour is not None

    def ask(self, sent: list[Message], reply: Reply, problem: str) -> None:
        """Put what was wrong behind the answer that cannot be used, which is the last of ``sent``."""
        start = len(sent) - len(reply.messages)
        if not reply.text.strip():
            # An answer without text is no message that every server takes back.
            del sent[start:]
        sent.append(self._lens.user_message([TextPart(_ASKED.format(problem=problem))]))
        self._detour = (start, len(sent))

    def mended(self, sent: Sequence[Message], reply: Reply) -> list[Message]:
        """Return what was said without the detour; the good answer is plain text then.

        Its reasoning goes, since it belongs to the detour. Where tools were called on the way, all is kept as it was.
        """
        if self._detour is None or self._detour[1] + len(reply.messages) != len(sent):
            return list(sent)
        return [*sent[: self._detour[0]], self._lens.assistant_message(reply.text)]
