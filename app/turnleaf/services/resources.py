"""Owns where bundled files (fonts, icons, samples) lie: inside the installed package, or `resources/` in a clone."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(name: str) -> Path:
    """Return the path of a bundled file or folder, `name` as in "fonts/Inter-Regular.otf".

    Raises FileNotFoundError where the installation lacks it, ValueError for a name that leads out of the resources.
    """
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name:
        raise ValueError(f"{name!r} does not name a bundled file")
    path = _root() / relative
    if not path.exists():
        raise FileNotFoundError(f"the bundled file {name} is missing from {_root()}; install Turnleaf again")
    return path


def _root() -> Path:
    packaged = _PACKAGE / "resources"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "resources"
