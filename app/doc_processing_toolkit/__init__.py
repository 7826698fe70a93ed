"""A headless toolkit for long conversations with documents, on any provider, that never lose a turn.

Importing it loads no provider SDK, no Qt and no network client.
"""

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
from doc_processing_toolkit.core.version import VERSION
from doc_processing_toolkit.session.session import AgentSession

__version__ = VERSION

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
