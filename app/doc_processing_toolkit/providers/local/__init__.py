"""The local model: packaged weights or a file of the user's, served by a process of its own; and servers nearby."""

from doc_processing_toolkit.providers.local.discovery import DiscoveredModel, discover_servers, list_models
from doc_processing_toolkit.providers.local.gguf import GgufInfo, describe_gguf
from doc_processing_toolkit.providers.local.model import DEFAULT_CONTEXT_TOKENS, LocalModel
from doc_processing_toolkit.providers.local.service import Lease, LocalModelService, shared_service
from doc_processing_toolkit.providers.local.template import TRANSCRIPT_STOP, TRANSCRIPT_TEMPLATE

__all__ = [
    "DEFAULT_CONTEXT_TOKENS",
    "TRANSCRIPT_STOP",
    "TRANSCRIPT_TEMPLATE",
    "DiscoveredModel",
    "GgufInfo",
    "Lease",
    "LocalModel",
    "LocalModelService",
    "describe_gguf",
    "discover_servers",
    "list_models",
    "shared_service",
]
