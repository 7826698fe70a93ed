"""A headless toolkit for long conversations with documents, on any provider, that never lose a turn.

Importing it loads no provider SDK, no Qt and no network client; each name is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit.core.version import VERSION

if TYPE_CHECKING:
    from doc_processing_toolkit.agent.agent import Agent
    from doc_processing_toolkit.agent.builder import AgentBuilder
    from doc_processing_toolkit.agent.handle import RunHandle
    from doc_processing_toolkit.agent.hooks import Hooks
    from doc_processing_toolkit.agent.media_policy import DirectoryMediaStore, MediaStore
    from doc_processing_toolkit.agent.tools import Tool
    from doc_processing_toolkit.core import events
    from doc_processing_toolkit.core.errors import (
        AgentError,
        AgentResultError,
        DocumentError,
        EnvelopeError,
        FileMissingError,
        NotSupportedError,
        ProviderError,
        SessionCompatibilityError,
        ToolError,
        TurnAbortedError,
        TurnTimeoutError,
        UnsupportedPartError,
    )
    from doc_processing_toolkit.core.result import AgentResult, CostRecord, MediaUpload
    from doc_processing_toolkit.session.session import AgentSession

__version__ = VERSION

_HOMES = {
    "Agent": "doc_processing_toolkit.agent.agent",
    "AgentBuilder": "doc_processing_toolkit.agent.builder",
    "RunHandle": "doc_processing_toolkit.agent.handle",
    "Hooks": "doc_processing_toolkit.agent.hooks",
    "DirectoryMediaStore": "doc_processing_toolkit.agent.media_policy",
    "MediaStore": "doc_processing_toolkit.agent.media_policy",
    "Tool": "doc_processing_toolkit.agent.tools",
    "AgentError": "doc_processing_toolkit.core.errors",
    "AgentResultError": "doc_processing_toolkit.core.errors",
    "DocumentError": "doc_processing_toolkit.core.errors",
    "EnvelopeError": "doc_processing_toolkit.core.errors",
    "FileMissingError": "doc_processing_toolkit.core.errors",
    "NotSupportedError": "doc_processing_toolkit.core.errors",
    "ProviderError": "doc_processing_toolkit.core.errors",
    "SessionCompatibilityError": "doc_processing_toolkit.core.errors",
    "ToolError": "doc_processing_toolkit.core.errors",
    "TurnAbortedError": "doc_processing_toolkit.core.errors",
    "TurnTimeoutError": "doc_processing_toolkit.core.errors",
    "UnsupportedPartError": "doc_processing_toolkit.core.errors",
    "AgentResult": "doc_processing_toolkit.core.result",
    "CostRecord": "doc_processing_toolkit.core.result",
    "MediaUpload": "doc_processing_toolkit.core.result",
    "AgentSession": "doc_processing_toolkit.session.session",
}

__all__ = [
    "Agent",
    "AgentBuilder",
    "AgentError",
    "AgentResult",
    "AgentResultError",
    "AgentSession",
    "CostRecord",
    "DirectoryMediaStore",
    "DocumentError",
    "EnvelopeError",
    "FileMissingError",
    "Hooks",
    "MediaStore",
    "MediaUpload",
    "NotSupportedError",
    "ProviderError",
    "RunHandle",
    "SessionCompatibilityError",
    "Tool",
    "ToolError",
    "TurnAbortedError",
    "TurnTimeoutError",
    "UnsupportedPartError",
    "__version__",
    "events",
]


def __getattr__(name: str) -> Any:
    if name == "events":
        value: Any = importlib.import_module("doc_processing_toolkit.core.events")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
