"""One service for all tests of a module: the packaged model takes a second to load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from doc_processing_toolkit.providers.local import LocalModelService


@pytest.fixture(scope="module")
def service() -> Iterator[LocalModelService]:
    """Return a service with the packaged model; afterwards its server is gone."""
    made = LocalModelService()
    yield made
    made.close()
