"""Services with miniature servers, for the tests of the local model that need no real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doc_processing_toolkit.providers.local import LocalModel, LocalModelService
from unit.local.gguf_files import model_file
from unit.local.serving import STUB


@pytest.fixture
def service() -> Iterator[LocalModelService]:
    """Return a service whose servers are the miniature ones; afterwards nothing of it runs."""
    made = LocalModelService(STUB)
    yield made
    made.close()


@pytest.fixture
def model(tmp_path: Path) -> LocalModel:
    """Return a model file of a user's."""
    return LocalModel(model_file(tmp_path))
