"""What an import brings along: the toolkit no SDK, no Qt and no HTTP client; the services no Qt."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]
SDKS = ("anthropic", "openai", "google.genai", "xllamacpp")
QT = ("PySide6", "shiboken6", "qasync")
HTTP = ("httpx2", "httpcore2")


def modules_after(import_line: str) -> set[str]:
    """Return the names of all modules that a fresh interpreter has loaded after `import_line`."""
    code = f"import sys; sys.path.insert(0, {str(CLONE / 'app')!r}); {import_line}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def imported_by(module: Path) -> set[str]:
    """Return the full names of what a module imports, `from PySide6 import QtWidgets` included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_toolkit_loads_no_sdk_no_qt_and_no_http_client() -> None:
    loaded = modules_after("import doc_processing_toolkit; doc_processing_toolkit.Agent")
    assert "doc_processing_toolkit" in loaded
    assert loaded.isdisjoint((*SDKS, *QT, *HTTP, "keyring", "turnleaf"))


@pytest.mark.parametrize("name", ["library", "models", "transcript", "settings"])
def test_services_load_no_sdk_and_no_qt(name: str) -> None:
    assert modules_after(f"import turnleaf.services.{name}").isdisjoint((*SDKS, *QT))


def test_window_loads_no_sdk() -> None:
    assert modules_after("import turnleaf.main").isdisjoint(SDKS)


def test_layers_point_down() -> None:
    """The contracts of pyproject.toml, the directions between the layers, hold."""
    call = "lint_imports(config_filename=sys.argv[1], no_cache=True)"
    code = f"import sys; from importlinter.cli import lint_imports; sys.exit({call})"
    line = [sys.executable, "-c", code, str(CLONE / "pyproject.toml")]
    done = subprocess.run(line, cwd=CLONE / "app", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_widgets_are_imported_in_ui_and_main_only() -> None:
    """Import-linter does not see into PySide6, so the source is asked."""
    outside = {
        str(path.relative_to(CLONE)): sorted(found)
        for path in (CLONE / "app").glob("**/*.py")
        if not path.is_relative_to(CLONE / "app/turnleaf/ui") and path != CLONE / "app/turnleaf/main.py"
        if (found := imported_by(path) & {"PySide6.QtWidgets", "PySide6.QtGui"})
    }
    below_bridge = {
        name: found for name, found in outside.items() if "/bridge/" not in name and "/viewmodels/" not in name
    }
    assert [name for name, found in outside.items() if "PySide6.QtWidgets" in found] == []
    assert below_bridge == {}


def test_launcher_needs_nothing_but_the_standard_library() -> None:
    names = [path.stem for path in (CLONE / "app").glob("launcher*.py")]
    loaded = {name.split(".")[0] for name in modules_after(f"import {', '.join(names)}")}
    bare = {name.split(".")[0] for name in modules_after("pass")}
    assert loaded - bare - set(names) <= set(sys.stdlib_module_names)
