"""The import hook of PySide does not stay in the app."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

APP = Path(__file__).parents[3] / "app"

PROBE = """
import builtins
import PySide6.QtCore
from turnleaf.bridge.plain_import import restore_plain_import
restore_plain_import()
left = builtins.__import__
assert left.__name__ != "__feature_import__", left
restore_plain_import()
assert builtins.__import__ is left
import PySide6.QtGui, PySide6.QtWidgets
assert builtins.__import__ is left, "a later import of PySide put the hook back"
"""


def test_importing_pyside_leaves_no_feature_hook_in_pythons_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env={"PYTHONPATH": str(APP)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
