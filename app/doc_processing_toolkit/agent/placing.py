"""Media that a provider took while it answered: the messages point to it from then on (J10)."""

from __future__ import annotations

from collections.abc import Mapping

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import Lens


class Placing:
    """The messages of one turn whose media lies with the provider now.

    ``history`` pairs each message of the history that went before the question with the one to be stored instead.
    """

    def __init__(self, lens: Lens) -> None:
        self._lens = lens
        self.history: list[tuple[Message, Message]] = []

    def take(self, sent: list[Message], placed: Mapping[int, Message], start: int) -> Message | None:
        """Put the placed messages into ``sent``, and return the question, at ``start``, if it is one of them."""
        for position, message in placed.items():
            if position < start:
                self.history.append((sent[position], message))
            sent[position] = message
        return placed.get(start)

    def without_context(self, question: Message, *, has_context: bool) -> Message:
        """Return a question as it is stored: context that was sent in its first part is not."""
        if not has_context:
            return question
        return self._lens.rebuild(question, self._lens.views(question)[1:]) or question
