"""The main menu, made of the actions."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu

from turnleaf.ui.actions import Actions
from turnleaf.ui.texts import tr

_LAYOUT: tuple[str, ...] = (
    "newTab",
    "openFile",
    "reopenTab",
    "-",
    "saveFile",
    "saveFileAs",
    "-",
    "toggleList",
    "toggleOutline",
)
_TEXT = ("zoomIn", "zoomOut", "zoomReset", "-", "compactText", "enterSends")
_THEMES = ("themeSystem", "themeLight", "themeDark", "themeContrast")
_END = ("shortcuts", "-", "quit")


def fill_main_menu(menu: QMenu, actions: Actions) -> None:
    """Put every action into `menu` that has its place there."""
    _add(menu, actions, _LAYOUT)
    _add(_submenu(menu, tr("Text")), actions, _TEXT)
    _add(_submenu(menu, tr("Theme")), actions, _THEMES)
    menu.addSeparator()
    _add(menu, actions, _END)


def _submenu(menu: QMenu, title: str) -> QMenu:
    submenu = QMenu(title, menu)
    menu.addMenu(submenu)
    return submenu


def _add(menu: QMenu, actions: Actions, names: tuple[str, ...]) -> None:
    for name in names:
        if name == "-":
            menu.addSeparator()
        else:
            menu.addAction(actions[name])
