"""The few dialogs. None of them runs a loop of its own: they are opened, and they tell when they are done."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from turnleaf.ui.actions import SPECS, Actions
from turnleaf.ui.texts import tr

MOST_OF_SCREEN = 0.85


def ask_open_files(
    parent: QWidget, title: str, filters: str, chosen: Callable[[list[Path]], None], *, many: bool = True
) -> None:
    """Let the user choose files, and call `chosen` with them."""
    dialog = _file_dialog(parent, title, filters)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles if many else QFileDialog.FileMode.ExistingFile)
    dialog.filesSelected.connect(lambda names: chosen([Path(name) for name in names]))
    dialog.open()


def ask_save_file(parent: QWidget, title: str, suggestion: str, filters: str, chosen: Callable[[Path], None]) -> None:
    """Let the user name a file to write, and call `chosen` with it."""
    dialog = _file_dialog(parent, title, filters)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("json")
    dialog.selectFile(suggestion)
    dialog.fileSelected.connect(lambda name: chosen(Path(name)))
    dialog.open()


def ask_address(parent: QWidget, chosen: Callable[[str], None]) -> None:
    """Let the user give a server's address, and call `chosen` with it."""
    dialog = _dialog(parent, "serverDialog", tr("Add server"))
    field = QLineEdit(dialog)
    field.setObjectName("serverAddress")
    field.setAccessibleName(tr("Address"))
    field.setToolTip(tr("For example http://127.0.0.1:11434/v1"))
    field.setPlaceholderText("http://127.0.0.1:11434/v1")
    field.setMinimumWidth(360)
    form = QFormLayout()
    form.addRow(tr("Address"), field)
    buttons = _buttons(dialog, tr("Add"))

    def accept() -> None:
        if field.text().strip():
            dialog.accept()

    buttons.accepted.connect(accept)
    note = _label(dialog, tr("Any OpenAI-compatible server: Ollama, LM Studio, llama-server, vLLM."))
    note.setProperty("look", "muted")
    _stack(dialog, note, form, buttons)
    dialog.accepted.connect(lambda: chosen(field.text().strip()))
    dialog.open()


def confirm_link(parent: QWidget, address: str) -> None:
    """Show the real address of a link, and open it in the browser only when the user says so."""
    dialog = _dialog(parent, "linkDialog", tr("Open this address?"))
    text = _label(dialog, address)
    text.setObjectName("linkAddress")
    text.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    text.setMaximumWidth(560)
    buttons = _buttons(dialog, tr("Open"))
    copy = QPushButton(tr("Copy"), dialog)
    copy.setObjectName("copyLink")
    copy.setAccessibleName(tr("Copy the address"))
    copy.setToolTip(tr("Copy the address"))
    copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(address))
    buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)
    buttons.accepted.connect(dialog.accept)
    note = _label(dialog, tr("The answer links to:"))
    note.setProperty("look", "muted")
    _stack(dialog, note, text, buttons)
    dialog.accepted.connect(lambda: QDesktopServices.openUrl(QUrl(address)))
    dialog.open()


def show_shortcuts(parent: QWidget, actions: Actions) -> None:
    """Show every key; the list scrolls where the screen is small."""
    dialog = _dialog(parent, "shortcutSheet", tr("Keyboard shortcuts"))
    content = QWidget(dialog)
    _fill_shortcuts(content, actions)
    area = QScrollArea(dialog)
    area.setObjectName("shortcutList")
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(content)
    content.adjustSize()
    area.setMinimumWidth(content.sizeHint().width() + area.verticalScrollBar().sizeHint().width())
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, dialog)
    buttons.rejected.connect(dialog.reject)
    buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
    _name(buttons)
    _stack(dialog, area, buttons)
    around = dialog.sizeHint().height() - area.sizeHint().height()
    room = int(parent.screen().availableGeometry().height() * MOST_OF_SCREEN)
    dialog.resize(dialog.sizeHint().width(), min(content.sizeHint().height() + around, room))
    dialog.open()


def _fill_shortcuts(content: QWidget, actions: Actions) -> None:
    grid = QGridLayout(content)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(32)
    grid.setVerticalSpacing(5)
    row = 0
    rows = [spec for spec in SPECS if spec.keys]
    for group, specs in groupby(rows, key=lambda spec: spec.group):
        head = _label(content, tr(group))
        head.setProperty("look", "head")
        head.setContentsMargins(0, 10 if row else 0, 0, 2)
        grid.addWidget(head, row, 0)
        row += 1
        for spec in specs:
            keys = actions[spec.name].shortcuts()
            grid.addWidget(_label(content, actions[spec.name].text().rstrip("…")), row, 0)
            grid.addWidget(_label(content, key_text(keys[0])), row, 1)
            row += 1
    for text, keys_text in (
        (tr("Stop the answer, from an empty composer"), "Esc"),
        (tr("Break the line"), "Shift+Enter"),
    ):
        grid.addWidget(_label(content, text), row, 0)
        grid.addWidget(_label(content, keys_text), row, 1)
        row += 1


def key_text(key: QKeySequence) -> str:
    """Return a key as the system writes it; the key that ends a line is *Enter* everywhere."""
    return key.toString(QKeySequence.SequenceFormat.NativeText).replace("Return", "Enter")


def _dialog(parent: QWidget, name: str, title: str) -> QDialog:
    dialog = QDialog(parent)
    dialog.setObjectName(name)
    dialog.setWindowTitle(title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return dialog


def _file_dialog(parent: QWidget, title: str, filters: str) -> QFileDialog:
    dialog = QFileDialog(parent, title)
    dialog.setNameFilter(filters)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    if field is not None:
        # Qt's own dialog: the list of completions, which opens some time after the typing, swallows the Enter key.
        field.setCompleter(None)  # type: ignore[arg-type]
    return dialog


def _buttons(dialog: QDialog, accept: str) -> QDialogButtonBox:
    kinds = QDialogButtonBox.StandardButton
    buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel, dialog)
    buttons.button(kinds.Ok).setText(accept)
    buttons.button(kinds.Ok).setDefault(True)
    _name(buttons)
    buttons.rejected.connect(dialog.reject)
    return buttons


def _name(buttons: QDialogButtonBox) -> None:
    """Give every button a name."""
    for button in buttons.buttons():
        text = button.text().replace("&", "")
        button.setObjectName(button.objectName() or f"dialog{text.title().replace(' ', '')}")
        button.setAccessibleName(text)
        button.setToolTip(text)


def _label(dialog: QWidget, text: str) -> QLabel:
    label = QLabel(text, dialog)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(len(text) > 60)
    return label


def _stack(dialog: QDialog, *parts: QWidget | QFormLayout | QGridLayout) -> None:
    column = QVBoxLayout(dialog)
    column.setContentsMargins(20, 18, 20, 16)
    column.setSpacing(12)
    for part in parts:
        if isinstance(part, QWidget):
            column.addWidget(part)
        else:
            column.addLayout(part)
