"""Every action of the app, once: its words, its keys and its name. Menus and the shortcut sheet are made from these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from turnleaf.ui.texts import tr


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action. ``group`` is the heading it stands under in the shortcut sheet; ``choice`` makes it checkable."""

    name: str
    text: str
    keys: tuple[str, ...] = ()
    group: str = ""
    tip: str = ""
    checkable: bool = False
    choice: str = ""


SPECS: tuple[ActionSpec, ...] = (
    ActionSpec("newTab", "New conversation", ("Ctrl+T", "Ctrl+N"), "Tabs"),
    ActionSpec("closeTab", "Close tab", ("Ctrl+W",), "Tabs"),
    ActionSpec("nextTab", "Next tab", ("Ctrl+Tab", "Ctrl+PgDown"), "Tabs"),
    ActionSpec("previousTab", "Previous tab", ("Ctrl+Shift+Tab", "Ctrl+PgUp"), "Tabs"),
    ActionSpec("reopenTab", "Reopen closed tab", ("Ctrl+Shift+T",), "Tabs"),
    ActionSpec("openFile", "Open conversation…", ("Ctrl+O",), "Files", "Open a saved conversation (.json)"),
    ActionSpec("saveFile", "Save", ("Ctrl+S",), "Files", "Save this conversation to its file"),
    ActionSpec("saveFileAs", "Save as…", ("Ctrl+Shift+S",), "Files", "Save this conversation to a new file"),
    ActionSpec("attachFiles", "Attach files…", ("Ctrl+Shift+A",), "Conversation"),
    ActionSpec("focusComposer", "Go to the composer", ("Ctrl+L",), "Conversation"),
    ActionSpec("chooseModel", "Choose the model…", ("Ctrl+M",), "Conversation"),
    ActionSpec("sendNow", "Send", ("Ctrl+Enter", "Ctrl+Return"), "Conversation", "Send, whatever Enter does"),
    ActionSpec("stopAnswer", "Stop the answer", (), "Conversation", "Esc stops it from an empty composer"),
    ActionSpec("previousTurn", "Previous turn", ("Alt+Up",), "Conversation"),
    ActionSpec("nextTurn", "Next turn", ("Alt+Down",), "Conversation"),
    ActionSpec("toggleList", "Conversations", ("F9",), "View", "Show or hide the list of conversations", True),
    ActionSpec("toggleOutline", "Outline", ("F10",), "View", "Show or hide the outline of turns", True),
    ActionSpec("zoomIn", "Larger text", ("Ctrl++", "Ctrl+="), "View"),
    ActionSpec("zoomOut", "Smaller text", ("Ctrl+-",), "View"),
    ActionSpec("zoomReset", "Normal text size", ("Ctrl+0",), "View"),
    ActionSpec("compactText", "Compact text", (), "View", "Smaller running text", True),
    ActionSpec("enterSends", "Enter sends", (), "View", "Off: Enter breaks the line, Ctrl+Enter sends", True),
    ActionSpec("themeSystem", "As the system", (), "View", "", True, "theme"),
    ActionSpec("themeLight", "Light", (), "View", "", True, "theme"),
    ActionSpec("themeDark", "Dark", (), "View", "", True, "theme"),
    ActionSpec("themeContrast", "High contrast", (), "View", "", True, "theme"),
    ActionSpec("shortcuts", "Keyboard shortcuts", ("F1",), "Turnleaf"),
    ActionSpec("quit", "Quit", ("Ctrl+Q",), "Turnleaf"),
)


class Actions:
    """Makes the actions of `window` and gives them out by name."""

    def __init__(self, window: QWidget) -> None:
        self._actions: dict[str, QAction] = {}
        groups: dict[str, QActionGroup] = {}
        for spec in SPECS:
            action = QAction(tr(spec.text), window)
            action.setObjectName(spec.name)
            action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
            action.setToolTip(tr(spec.tip or spec.text))
            action.setCheckable(spec.checkable)
            if spec.choice:
                groups.setdefault(spec.choice, QActionGroup(window)).addAction(action)
            window.addAction(action)
            self._actions[spec.name] = action

    def __getitem__(self, name: str) -> QAction:
        """Return an action. Raises ``KeyError`` for a name that is none."""
        return self._actions[name]

    def on(self, name: str, handler: Callable[[], object]) -> None:
        """Call `handler` when the action is triggered."""
        self._actions[name].triggered.connect(lambda _checked=False: handler())

    def on_toggled(self, name: str, handler: Callable[[bool], object]) -> None:
        """Call `handler` with the new state when the user switches the action."""
        self._actions[name].triggered.connect(lambda checked=False: handler(bool(checked)))
