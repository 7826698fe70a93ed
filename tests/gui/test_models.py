"""The model menu: what it shows, and adding one's own."""

from __future__ import annotations

import socket
from pathlib import Path

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit

from gui.harness import Gui
from turnleaf.services.models import ModelEntry
from turnleaf.ui.model_menu import ModelMenu


def test_menu_shows_each_model_with_its_window_and_why_one_cannot_be_used(gui: Gui) -> None:
    """G03, G09."""

    async def scenario(gui: Gui) -> None:
        menu = gui.desktop.window.findChild(ModelMenu, "modelMenu")
        entries = [
            ModelEntry("local/a", "A & B", "local", None, True, group="Here", context_window=16_384),
            ModelEntry("", "silent", "openai-compatible", "http://x", False, "no server answers.", "http://x"),
        ]
        menu.show_entries(entries, None)
        texts = [(action.text(), action.isEnabled()) for action in menu.actions() if not action.isSeparator()]
        assert texts == [
            ("Here", False),
            ("A && B   16k", True),
            ("http://x", False),
            ("silent — no server answers.", False),
            ("Add model file…", True),
            ("Add server…", True),
        ]
        chosen: list[ModelEntry] = []
        menu.chosen.connect(chosen.append)
        menu.actions()[1].trigger()
        assert chosen == [entries[0]]
        await gui.until(lambda: gui.chat.model.label == "A & B")

    gui.run(scenario)


def test_server_that_does_not_answer_is_refused_with_its_address(gui: Gui) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def scenario(gui: Gui) -> None:
        menu = gui.desktop.window.findChild(ModelMenu, "modelMenu")
        menu.add_server_requested.emit()
        dialog = gui.desktop.window.findChild(QDialog, "serverDialog")
        dialog.findChild(QLineEdit, "serverAddress").setText(f"http://127.0.0.1:{port}/v1")
        dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Ok).click()
        await gui.until(lambda: gui.page.notices.notice is not None)
        assert str(port) in gui.page.notices.notice.text
        assert gui.desktop._settings.values.servers == ()

    gui.run(scenario)


def test_what_is_no_address_and_what_is_no_model_file_is_refused(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        models = gui.desktop.models
        models.add_server("not an address")
        await gui.until(lambda: gui.page.notices.notice is not None)
        assert "not an address" in gui.page.notices.notice.text
        gui.page.notices.clear()
        other = Path(gui.folder / "poem.gguf")
        other.write_text("roses")
        models.add_file(other)
        await gui.until(lambda: gui.page.notices.notice is not None)
        assert "poem" in gui.page.notices.notice.text
        assert gui.desktop._settings.values.gguf_files == ()

    gui.run(scenario)


def test_notices_that_come_together_are_read_one_after_the_other(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        for name in ("one.json", "two.json"):
            (gui.folder / name).write_text("{")
        gui.desktop.workspace.open_files([gui.folder / "one.json", gui.folder / "two.json"])
        await gui.until(lambda: gui.page.notices._earlier)
        first = gui.page.notices.notice.text
        gui.page.notices._on_close()
        second = gui.page.notices.notice.text
        assert {first[:3], second[:3]} == {"one", "two"}
        gui.page.notices._on_close()
        assert gui.page.notices.notice is None

    gui.run(scenario)
