"""What holds for every test: no display, a profile and keyring of its own, no key of the user's, Qt ended in order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Before Qt is imported anywhere.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_API", "pyside6")

import pytest

from support.requirements import missing_packages

_FOREIGN_PREFIXES = (
    "DPT_",
    "DOC_TOOLKIT_",
    "ANTHROPIC_",
    "OPENAI_",
    "GOOGLE_",
    "GEMINI_",
    "FIREWORKS_",
    "TURNLEAF_PROFILE",
)
_FOREIGN_SUFFIXES = ("_API_KEY", "_BASE_URL", "_PROXY")


def _is_foreign(name: str) -> bool:
    """Return whether a variable would let the developer's keys, servers or switches into a test."""
    upper = name.upper()
    return upper.startswith(_FOREIGN_PREFIXES) or upper.endswith(_FOREIGN_SUFFIXES)


@pytest.fixture(autouse=True)
def private_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test its own profile, no keyring, and none of the developer's settings."""
    for name in list(os.environ):
        if _is_foreign(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TURNLEAF_PROFILE", str(tmp_path / "profile"))
    # The null backend would swallow keys silently; this one says that there is none.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture(scope="session", autouse=True)
def qt_ends_in_order() -> Iterator[None]:
    """Close what windows are left before the interpreter goes, and deliver what Qt still has to delete."""
    yield
    import sys

    widgets = sys.modules.get("PySide6.QtWidgets")
    application = widgets.QApplication.instance() if widgets else None
    if application is None:
        return
    from PySide6.QtCore import QCoreApplication, QEvent

    for window in application.topLevelWidgets():
        window.close()
        window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Name, in the run's last line, the packages that the skipped tests would have needed."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and missing_packages:
        packages = " ".join(sorted(missing_packages))
        reporter.write_line(f"Some tests could not run; they need: apt-get install -y {packages}")
