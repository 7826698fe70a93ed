"""A small window with a composer, a transcript and a drop target, with which the driver itself is tested."""

from __future__ import annotations

import subprocess
import sys

from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QListWidget,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)


class TinyWindow(QMainWindow):
    """What is sent or dropped appears in the transcript; closing it prints a line."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setWindowTitle("Tiny window")
        self.setAcceptDrops(True)
        page = QWidget(self)
        page.setObjectName("page")
        layout = QVBoxLayout(page)
        self.transcript = QListWidget(page)
        self.composer = QPlainTextEdit(page)
        self.send_button = QPushButton("Send", page)
        self.status = QLabel("idle", page)
        for name, widget in (
            ("transcript", self.transcript),
            ("composer", self.composer),
            ("sendButton", self.send_button),
            ("statusSaved", self.status),
        ):
            widget.setObjectName(name)
            widget.setAcceptDrops(False)
            layout.addWidget(widget)
        self.composer.setAccessibleName("Message")
        self.send_button.clicked.connect(self.send)
        self.setCentralWidget(page)
        self.composer.setFocus()

    def send(self) -> None:
        self.transcript.addItem(self.composer.toPlainText())
        self.composer.clear()
        self.status.setText("sent")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            self.transcript.addItem(url.toLocalFile() or url.toString())
        event.acceptProposedAction()

    def closeEvent(self, event: QCloseEvent) -> None:
        print("closed", flush=True)
        super().closeEvent(event)


def main() -> int:
    app = QApplication(sys.argv)
    if "--with-child" in sys.argv:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    window = TinyWindow()
    window.resize(600, 500)
    window.show()
    return app.exec()


if __name__ == "__main__":
    sys.exit(main())
