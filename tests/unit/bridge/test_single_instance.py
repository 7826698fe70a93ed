"""One process per profile."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalServer
from PySide6.QtWidgets import QApplication

from turnleaf.bridge.loop import Loop
from turnleaf.bridge.run_marker import RunMarker
from turnleaf.bridge.single_instance import SingleInstance, StartRequest, socket_name
from turnleaf.services.profile import open_profile


def test_request_survives_the_wire_and_anything_else_is_refused() -> None:
    request = StartRequest(("/tmp/ä b.json",), True, "local/x")
    assert StartRequest.decode(request.encode()) == request
    for line in (b"[]", b"{", b'{"files": "x"}', b'{"files": [1]}', b'{"model": 3}'):
        with pytest.raises(ValueError):
            StartRequest.decode(line)


def test_later_start_reaches_the_first(qapp: QApplication, tmp_path: Path) -> None:
    profile = open_profile(tmp_path)
    first, second = SingleInstance(profile), SingleInstance(profile)
    assert first.become_first()
    assert not second.become_first()
    received: list[StartRequest] = []
    first.handed_over.connect(received.append)
    answers: list[bytes] = []

    def ask() -> None:
        # The later start is another process, which waits; a thread with a plain socket stands in for it.
        with socket.socket(socket.AF_UNIX) as later:
            later.connect(socket_name(profile.state))
            later.sendall(StartRequest(("/a.json",)).encode())
            answers.append(later.recv(16))

    thread = threading.Thread(target=ask)

    async def scenario() -> None:
        thread.start()
        while not answers:
            await asyncio.sleep(0.01)

    loop = Loop(qapp)
    asyncio.set_event_loop(loop)
    loop.run_until_complete(scenario())
    loop.close()
    asyncio.set_event_loop(None)
    thread.join()
    assert answers == [b"ok\n"]
    assert received == [StartRequest(("/a.json",))]
    first.close()
    assert second.become_first()
    second.close()


def test_first_that_never_answers_is_given_up(qapp: QApplication, tmp_path: Path) -> None:
    profile = open_profile(tmp_path)
    name = socket_name(profile.state)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(name)
        deaf.listen()
        started = time.monotonic()
        assert not SingleInstance(profile).hand_over(StartRequest(), timeout_s=0.4)
        assert time.monotonic() - started < 2


def test_socket_that_a_killed_process_left_is_taken_over(qapp: QApplication, tmp_path: Path) -> None:
    profile = open_profile(tmp_path)
    left = Path(socket_name(profile.state))
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(left))
    assert left.exists()
    instance = SingleInstance(profile)
    assert instance.become_first()
    probe = QLocalServer()
    assert not probe.listen(str(left))
    instance.close()


def test_long_profile_path_gets_a_short_socket_name(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60) / ("y" * 60)
    assert len(socket_name(deep)) < 60
    assert socket_name(deep) != socket_name(tmp_path)


def test_marker_tells_a_run_that_was_cut_off(tmp_path: Path) -> None:
    assert not RunMarker(tmp_path).started()
    assert RunMarker(tmp_path).started()
    marker = RunMarker(tmp_path)
    marker.ended()
    assert not RunMarker(tmp_path).started()
