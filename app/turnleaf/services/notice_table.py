"""The table behind the notices: one line for each kind of error, special ones before general ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from doc_processing_toolkit.core.errors import (
    AgentError,
    AgentResultError,
    DocumentError,
    EnvelopeError,
    NotSupportedError,
    ProviderError,
    SessionCompatibilityError,
    ToolError,
    TurnAbortedError,
    TurnTimeoutError,
    UnsupportedPartError,
)
from turnleaf.services.errors import (
    CheckpointError,
    ConversationDamagedError,
    ConversationNotFoundError,
    JournalError,
    LinkedFileChangedError,
    ModelUnavailableError,
    ProfileBusyError,
    ProfileError,
    SaveFileError,
    StorageError,
)

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table: for errors of ``kind`` for which ``holds``, or for all of them."""

    kind: type[BaseException]
    id: str
    text: str
    actions: tuple[str, ...] = ()
    severity: Severity = "error"
    holds: Callable[[Any], bool] | None = None

    def fits(self, error: BaseException) -> bool:
        """Whether this line is about the error."""
        return isinstance(error, self.kind) and (self.holds is None or self.holds(error))


def _document(code: str, id_: str, text: str) -> Rule:
    return Rule(DocumentError, id_, text, severity="warning", holds=_code(code))


def _status(*values: int) -> Callable[[ProviderError], bool]:
    return lambda error: error.status in values


def _code(*values: str) -> Callable[[Any], bool]:
    return lambda error: error.code in values


def _is_full(error: StorageError) -> bool:
    return error.full_disk


_TOO_LONG = _code("context_length_exceeded", "exceed_context_size_error")
_UNREACHABLE = _code("connection", "timeout", "http_502", "http_503", "http_504")
_AGAIN = ("send_again", "choose_model", "edit", "discard")

# The first one that fits decides.
TABLE: tuple[Rule, ...] = (
    Rule(
        CheckpointError,
        "not_saved_disk_full",
        "Not saved: the disk is full. The turn is kept in memory.",
        ("retry_save", "save_elsewhere"),
        holds=_is_full,
    ),
    Rule(CheckpointError, "not_saved", "Not saved. The turn is kept in memory.", ("retry_save", "save_elsewhere")),
    Rule(
        JournalError,
        "not_sent_disk_full",
        "The question was not sent: the disk is full, and it would not survive a crash.",
        ("send_again",),
        holds=_is_full,
    ),
    Rule(
        JournalError,
        "not_sent",
        "The question was not sent, because it could not be written down first.",
        ("send_again",),
    ),
    Rule(
        SaveFileError,
        "file_not_saved",
        "{name} could not be saved; what stood there is unchanged.",
        ("retry_save", "save_elsewhere"),
    ),
    Rule(
        LinkedFileChangedError,
        "file_changed",
        "{name} was changed by another program; it was not overwritten.",
        ("save_elsewhere", "overwrite"),
        "warning",
    ),
    Rule(
        StorageError,
        "storage_disk_full",
        "{name} could not be stored: the disk is full.",
        ("retry_save",),
        holds=_is_full,
    ),
    Rule(StorageError, "storage", "{name} could not be written.", ("retry_save",)),
    Rule(
        ConversationDamagedError,
        "conversation_damaged",
        "This conversation's file is damaged; an earlier state of it can be opened.",
        ("open_generation",),
        holds=lambda error: error.can_recover,
    ),
    Rule(
        ConversationDamagedError,
        "conversation_lost",
        "This conversation's file is damaged and cannot be opened.",
        ("show_folder",),
    ),
    Rule(ConversationNotFoundError, "conversation_missing", "This conversation is no longer there.", (), "warning"),
    Rule(
        ModelUnavailableError,
        "model_unavailable",
        "{model} cannot be used: {reason}",
        ("use_demo_model", "choose_model"),
        "warning",
    ),
    Rule(ProfileBusyError, "profile_busy", "Another Turnleaf is using this profile."),
    Rule(ProfileError, "profile", "The profile's folders cannot be used."),
    Rule(
        EnvelopeError,
        "not_a_conversation",
        "{name} is not a conversation that can be opened; the file was not changed.",
    ),
    Rule(
        SessionCompatibilityError,
        "history_refused",
        "This conversation cannot go on with this model.",
        ("choose_model",),
    ),
    Rule(UnsupportedPartError, "part_refused", "This model does not take one of the files.", ("choose_model",)),
    _document(
        "encrypted", "document_encrypted", "{name} is protected by a password; save a copy without one and attach that."
    ),
    _document(
        "no_text", "document_no_text", "{name} has no text, only pictures of pages; this model would see nothing of it."
    ),
    _document("damaged", "document_damaged", "{name} is damaged and cannot be read."),
    _document("empty", "document_empty", "{name} is empty (0 bytes)."),
    _document("not_a_file", "document_not_a_file", "{name} is not a file that can be attached."),
    _document("not_found", "document_missing", "{name} is not there any more."),
    _document("unreadable", "document_unreadable", "{name} cannot be read."),
    _document(
        "unsupported",
        "document_unsupported",
        "{name} is of a kind that cannot be attached yet; PDF and text files can.",
    ),
    _document("too_large", "document_too_large", "{name} is too large to be attached."),
    Rule(
        DocumentError,
        "document_limits",
        "Reading {name} took too much time or memory and was stopped.",
        ("retry",),
        "warning",
        holds=_code("timeout", "memory", "worker_died"),
    ),
    Rule(DocumentError, "document", "{name} cannot be attached.", severity="warning"),
    Rule(
        ProviderError,
        "too_long",
        "The conversation is too long for this model.",
        ("choose_model", "edit", "discard"),
        holds=_TOO_LONG,
    ),
    Rule(
        ProviderError,
        "key_refused",
        "{provider} refused the key.",
        ("enter_key", "choose_model", "discard"),
        holds=_status(401, 403),
    ),
    Rule(ProviderError, "rate_limited", "{provider} asks to wait.", _AGAIN, "warning", holds=_status(429)),
    Rule(
        ProviderError,
        "overloaded",
        "{provider} is overloaded at the moment.",
        _AGAIN,
        "warning",
        holds=_status(503, 529),
    ),
    Rule(
        ProviderError,
        "incomplete",
        "The answer broke off before it was complete.",
        _AGAIN,
        holds=_code("incomplete_stream"),
    ),
    Rule(ProviderError, "unreachable", "{provider} cannot be reached.", _AGAIN, holds=_UNREACHABLE),
    Rule(ProviderError, "provider", "{provider} could not answer.", _AGAIN),
    Rule(TurnTimeoutError, "turn_timeout", "The answer took too long and was stopped.", _AGAIN),
    Rule(TurnAbortedError, "turn_aborted", "The turn was stopped.", _AGAIN, "info"),
    Rule(ToolError, "tool", "A tool cannot be used."),
    Rule(NotSupportedError, "not_supported", "This version cannot do that yet.", (), "warning"),
    Rule(AgentResultError, "no_answer", "The model gave no answer.", _AGAIN),
    Rule(AgentError, "agent", "The turn failed.", _AGAIN),
)
