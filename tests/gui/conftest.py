"""The fixture that every test of the window uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gui.harness import Gui


@pytest.fixture
def gui(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gui:
    """A window on a profile of the test's own."""
    return Gui(qapp, tmp_path, monkeypatch)
