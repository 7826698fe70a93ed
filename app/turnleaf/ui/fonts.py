"""The bundled faces. Where they are missing, the families that a theme names next take their place."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtGui import QFontDatabase

from turnleaf.services.resources import resource

log = logging.getLogger(__name__)

FACE_SUFFIXES = frozenset({".ttf", ".otf"})


def load_fonts() -> list[str]:
    """Make the faces in ``resources/fonts`` known to Qt; return the families found."""
    families: list[str] = []
    for path in _faces():
        number = QFontDatabase.addApplicationFont(str(path))
        if number < 0:
            log.warning("the font %s cannot be used", path.name)
        else:
            families.extend(QFontDatabase.applicationFontFamilies(number))
    return families


def _faces() -> list[Path]:
    try:
        folder = resource("fonts")
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in FACE_SUFFIXES)
    except OSError:
        log.warning("no bundled fonts were found")
        return []
