"""Starts the worker process: run as a script, by its path.

The toolkit's own ``__init__`` would import the whole engine first, which takes longer than reading a document does.
So the package is entered here without it; that also makes sure that the worker runs this very package, wherever that
was imported from.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType


def enter_package() -> None:
    """Make ``doc_processing_toolkit`` importable part by part."""
    package = ModuleType("doc_processing_toolkit")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    sys.modules[package.__name__] = package


if __name__ == "__main__":
    enter_package()

    from doc_processing_toolkit.documents.worker import main

    main()
