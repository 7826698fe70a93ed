"""Every error of the toolkit, in one tree.

::

    AgentError
    ├── AgentResultError           a turn ended with an error-shaped result and nothing to store
    ├── ProviderError              a provider, or the local model, refused or could not be reached
    ├── ToolError                  a tool cannot be used as it was given
    ├── DocumentError              a document could not be read as text (``code`` says why)
    │   └── FileMissingError       the file is not there (also a ``FileNotFoundError``)
    ├── UnsupportedPartError       the model's row does not take a part, under ``on_unsupported_part="raise"``
    ├── SessionCompatibilityError  a history cannot be continued on this agent
    ├── EnvelopeError              a saved session is damaged (also a ``ValueError``)
    ├── NotSupportedError          this version cannot do it yet (also a ``NotImplementedError``)
    ├── TurnAbortedError           a hook or the handle aborted the turn
    └── TurnTimeoutError           the turn took longer than the agent's ``timeout`` (also a ``TimeoutError``)
"""

from __future__ import annotations

from typing import Literal

DocumentErrorCode = Literal[
    "not_found",
    "not_a_file",
    "unreadable",
    "empty",
    "too_large",
    "unsupported",
    "damaged",
    "encrypted",
    "no_text",
    "timeout",
    "memory",
    "worker_died",
]


class AgentError(Exception):
    """The root of the toolkit's errors. The message says what happened, to which thing, and what to do next."""

    undelivered_injections: list[str]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.undelivered_injections = []


class AgentResultError(AgentError):
    """A turn ended with an error-shaped result: there is no answer and nothing to store (002, "What a turn leaves")."""


class ProviderError(AgentError):
    """A provider refused a request, broke off, or could not be reached.

    ``provider`` is the row's provider name, ``status`` the HTTP status or ``None`` where none was received,
    ``code`` the server's own error code, ``retry_after`` the seconds it asked to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status
        self.code = code
        self.retry_after = retry_after


class ToolError(AgentError):
    """A tool cannot be used as it was given (its signature or its schema is unusable)."""


class DocumentError(AgentError):
    """A document could not be read as text. ``code`` is the reason, ``name`` the file's name."""

    def __init__(self, message: str, *, code: DocumentErrorCode, name: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.name = name


class UnsupportedPartError(AgentError):
    """The model's registry row does not take a part, and the agent's policy is ``"raise"`` (002, J09)."""


class SessionCompatibilityError(AgentError):
    """A history cannot be continued on this agent; the message names the turn. Nothing was changed (001, K03)."""


class EnvelopeError(AgentError, ValueError):
    """A saved session cannot be opened. The message names the source and the place; nothing was changed."""


class NotSupportedError(AgentError, NotImplementedError):
    """This version of the toolkit cannot do what was asked for yet; the message names the setting."""


class TurnAbortedError(AgentError):
    """A hook or the run handle aborted the turn (002, "Hooks")."""


class TurnTimeoutError(AgentError, TimeoutError):
    """The whole turn took longer than the agent's ``timeout``."""


class FileMissingError(DocumentError, FileNotFoundError):
    """A file that was named does not exist (``code`` is ``"not_found"``)."""
