"""Which echoed messages are new: those behind what was sent (C08), also when the echo is shorter (C10)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from doc_processing_toolkit.core.protocols import Message

log = logging.getLogger(__name__)


def new_messages(echo: Sequence[Message], sent_count: int, question: Message | None) -> list[Message]:
    """Return a turn's own messages: the echo without the ``sent_count`` messages of history that went before it.

    An echo in which the question stands earlier than that is cut at the question, so that it is never lost.
    """
    if question is None or (sent_count < len(echo) and echo[sent_count] == question):
        return list(echo[sent_count:])
    for index in range(min(sent_count, len(echo)) - 1, -1, -1):
        if echo[index] == question:
            log.warning(
                "the echo is %d messages shorter than what was sent; kept from the question", sent_count - index
            )
            return list(echo[index:])
    return list(echo[sent_count:])
