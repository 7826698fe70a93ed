"""The toolkit's version, written into every envelope as ``toolkit_version``."""

from __future__ import annotations

VERSION = "0.1.0"
