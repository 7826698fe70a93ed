"""One process per profile: a second start hands its files to the first and ends."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from turnleaf.services.errors import ProfileBusyError
from turnleaf.services.profile import Profile, ProfileLock

log = logging.getLogger(__name__)

LONGEST_REQUEST = 1024 * 1024
ANSWER = b"ok\n"
# A Unix socket's path has at most 107 bytes; longer profile paths get a name in the temporary folder.
LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True)
class StartRequest:
    """What a start asks for: files to open (absolute paths), a new conversation, a model's id."""

    files: tuple[str, ...] = ()
    new: bool = False
    model: str | None = None

    def encode(self) -> bytes:
        """Return the request as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @staticmethod
    def decode(line: bytes) -> StartRequest:
        """Return the request in `line`; raises `ValueError` for anything that is none."""
        data = json.loads(line)
        if not isinstance(data, dict):
            raise ValueError("a start request is a JSON object")
        files, model = data.get("files", []), data.get("model")
        if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
            raise ValueError("files is a list of paths")
        if not (model is None or isinstance(model, str)):
            raise ValueError("model is a text")
        return StartRequest(files=tuple(files), new=bool(data.get("new")), model=model)


def socket_name(state: Path) -> str:
    """Return the name of the local socket for the profile whose state folder is `state`."""
    path = str(state.resolve() / "instance.sock")
    if len(path.encode()) <= LONGEST_SOCKET_PATH and not path.startswith("\\\\") and "/" in path:
        return path
    return "turnleaf-" + hashlib.sha256(path.encode()).hexdigest()[:24]


class SingleInstance(QObject):
    """Owns the profile's lock and listens for later starts; `handed_over` brings their requests."""

    handed_over = Signal(object)
    """A later start's `StartRequest`."""

    def __init__(self, profile: Profile, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = socket_name(profile.state)
        self._lock = ProfileLock(profile)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_new_connection)
        self._received: dict[QLocalSocket, bytearray] = {}

    def become_first(self) -> bool:
        """Try to own the profile; when it worked, later starts reach this process."""
        try:
            self._lock.acquire()
        except ProfileBusyError:
            return False
        # Whoever left this socket is gone: the lock was free.
        QLocalServer.removeServer(self._name)
        if not self._server.listen(self._name):
            log.warning("later starts cannot reach this one: %s", self._server.errorString())
        return True

    def hand_over(self, request: StartRequest, timeout_s: float = 3.0) -> bool:
        """Give `request` to the first process; return whether it took it within `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            socket = QLocalSocket()
            socket.connectToServer(self._name)
            if socket.waitForConnected(max(1, int(left * 1000))):
                return _ask(socket, request, deadline)
            # The first start holds the lock a moment before it listens.
            time.sleep(min(0.05, left))
        return False

    def close(self) -> None:
        """Stop listening and give the profile up."""
        self._server.close()
        self._lock.release()

    def _on_new_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            self._received[socket] = bytearray()
            socket.readyRead.connect(lambda socket=socket: self._on_ready_read(socket))
            socket.disconnected.connect(lambda socket=socket: self._on_disconnected(socket))
            self._on_ready_read(socket)

    def _on_ready_read(self, socket: QLocalSocket) -> None:
        buffer = self._received.get(socket)
        if buffer is None:
            return
        buffer += bytes(socket.readAll().data())
        if len(buffer) > LONGEST_REQUEST:
            socket.abort()
            return
        line, newline, _ = bytes(buffer).partition(b"\n")
        if not newline:
            return
        self._received[socket] = bytearray()
        try:
            request = StartRequest.decode(line)
        except ValueError as error:
            log.warning("a start request was not understood: %s", error)
            socket.abort()
            return
        socket.write(ANSWER)
        socket.flush()
        self.handed_over.emit(request)

    def _on_disconnected(self, socket: QLocalSocket) -> None:
        self._received.pop(socket, None)
        socket.deleteLater()


def _ask(socket: QLocalSocket, request: StartRequest, deadline: float) -> bool:
    socket.write(request.encode())
    answer = b""
    while not answer.endswith(b"\n"):
        left = int((deadline - time.monotonic()) * 1000)
        if left <= 0 or not socket.waitForReadyRead(left):
            return False
        answer += bytes(socket.readAll().data())
    return answer == ANSWER
