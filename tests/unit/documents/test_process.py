"""The worker process: gone when cancelled, gone with its parent, and never in the way of the event loop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import doc_processing_toolkit
from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import ExtractionLimits, extract, process
from doc_processing_toolkit.documents.confine import peak_memory, watch_memory
from doc_processing_toolkit.documents.process import WorkerProcess
from doc_processing_toolkit.documents.protocol import Request, encode_message
from unit.documents.pdf_making import endless_pdf, long_pdf, pdf_of
from unit.documents.reading import read, refused

PATIENT = ExtractionLimits(seconds=60, pages=1_000_000, characters=10**9)
APP = str(Path(doc_processing_toolkit.__file__).parents[1])


def request_named(name: str) -> Request:
    return Request(name, name, None, 0, 30, 1 << 30, 1 << 28, 100, 10_000)


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "worker_main.py" in " ".join(child.cmdline())]


async def until(claim: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


def is_gone(pid: int) -> bool:
    # A zombie still counts as there: it was not reaped.
    return not psutil.pid_exists(pid)


def test_cancelling_kills_and_reaps_the_process(tmp_path: Path) -> None:
    path = tmp_path / "endless.pdf"
    path.write_bytes(endless_pdf())
    seen: list[object] = []
    complaints: list[object] = []

    async def scenario() -> int:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        task = asyncio.create_task(extract(path, limits=PATIENT, on_progress=seen.append))
        await until(lambda: bool(seen))
        (worker,) = workers()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_gone(worker.pid)
        seen.clear()
        await asyncio.sleep(0.1)
        return worker.pid

    assert is_gone(asyncio.run(scenario()))
    gc.collect()
    assert (seen, complaints) == ([], [])


def test_cancelling_before_the_process_has_started_leaves_none() -> None:
    async def scenario() -> None:
        for delay in (0, 0.001, 0.005, 0.02):
            task = asyncio.create_task(extract(endless_pdf(), limits=PATIENT))
            await asyncio.sleep(delay)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await until(lambda: not workers())

    asyncio.run(scenario())


def test_process_stopped_before_it_runs_is_never_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_spawn", lambda: pytest.fail("it was started"))
    worker = WorkerProcess(request_named("a.txt"), b"text", lambda progress: None)
    worker.stop()
    with pytest.raises(DocumentError):
        worker.run()


def test_timeout_of_the_caller_stops_the_process() -> None:
    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await extract(endless_pdf(), limits=PATIENT)
        assert workers() == []

    asyncio.run(scenario())


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX")
@pytest.mark.parametrize("given", ["path", "bytes"])
def test_process_ends_with_a_parent_that_is_killed(tmp_path: Path, given: str) -> None:
    path = tmp_path / "endless.pdf"
    path.write_bytes(endless_pdf())
    script = f"""
import asyncio, sys
sys.path.insert(0, {APP!r})
from pathlib import Path
from doc_processing_toolkit.documents import ExtractionLimits, extract
path = Path({str(path)!r})
source = path if {given!r} == "path" else path.read_bytes()
limits = ExtractionLimits(seconds=60, pages=1_000_000, characters=10**9)
asyncio.run(extract(source, limits=limits, on_progress=lambda progress: print("reading", flush=True)))
"""
    with subprocess.Popen((sys.executable, "-c", script), stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline().strip() == b"reading"
            (worker,) = psutil.Process(parent.pid).children()
        finally:
            parent.send_signal(signal.SIGKILL)
    # Whoever inherits it may be slow to reap it: a zombie has ended.
    asyncio.run(until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, 10))


def test_event_loop_keeps_turning_while_a_long_pdf_is_read() -> None:
    async def scenario() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticker = asyncio.create_task(tick())
        document = await extract(long_pdf(100), name="long.pdf")
        ticker.cancel()
        assert document.pages == 100
        return ticks

    assert asyncio.run(scenario()) > 5


def test_extraction_works_and_is_cancelled_on_the_loop_of_qt(tmp_path: Path) -> None:
    pytest.importorskip("qasync")
    path = tmp_path / "endless.pdf"
    path.write_bytes(endless_pdf())
    script = f"""
import asyncio, sys
sys.path.insert(0, {APP!r})
from pathlib import Path
import qasync
from PySide6.QtCore import QCoreApplication
from doc_processing_toolkit.documents import ExtractionLimits, extract

async def scenario():
    seen = []
    document = await extract(b"some text", name="a.txt", on_progress=seen.append)
    started = asyncio.Event()
    limits = ExtractionLimits(seconds=60, pages=1_000_000, characters=10**9)
    task = asyncio.create_task(extract(Path({str(path)!r}), limits=limits, on_progress=lambda p: started.set()))
    await started.wait()
    task.cancel()
    await asyncio.wait([task])
    print(document.text, seen[-1].done, task.cancelled())

application = QCoreApplication([])
with qasync.QEventLoop(application) as loop:
    loop.run_until_complete(scenario())
"""
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split("\n")[0] == "some text 9 True", done.stderr


def test_many_documents_at_once_do_not_get_mixed_up() -> None:
    async def scenario() -> list[str]:
        documents = await asyncio.gather(*(extract(f"text {n}".encode(), name=f"{n}.txt") for n in range(6)))
        return [document.text for document in documents]

    assert asyncio.run(scenario()) == [f"text {n}" for n in range(6)]


def test_loop_that_is_not_of_the_main_thread_can_extract() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(read(b"from a thread", "a.txt").text))
    thread.start()
    thread.join()
    assert found == ["from a thread"]


def test_module_in_the_current_folder_is_not_lent_to_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "hashlib", "pypdfium2", "threading"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('lent')")
    monkeypatch.chdir(tmp_path)
    assert "Hello" in read(pdf_of("Hello"), "a.pdf").text


def test_relative_path_is_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "note.txt").write_text("here")
    monkeypatch.chdir(tmp_path)
    assert read(Path("note.txt")).text == "here"


def test_worker_imports_neither_the_engine_nor_qt_nor_a_provider_sdk() -> None:
    script = f"""
import runpy, sys
runpy.run_path({process._SCRIPT!r})["enter_package"]()
from doc_processing_toolkit.documents import pdf, text, worker
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run((sys.executable, "-P", "-c", script), capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    unwanted = {"asyncio", "pydantic", "openai", "anthropic", "google", "httpx2", "PySide6", "dataclasses", "qasync"}
    assert loaded & unwanted == set()
    assert "pypdfium2" in loaded


@pytest.mark.parametrize(
    ("data", "is_needed"),
    [
        (b"plain", False),
        ("Grüße, 東京".encode(), False),
        ("Grüße".encode("utf-16"), False),
        ("Grüße".encode("utf-16-le"), False),
        ("Grüße ".encode() * 20 + b"\xff", False),
        ("Grüße".encode("cp1252"), True),
    ],
)
def test_detector_of_encodings_is_loaded_only_for_a_text_that_needs_it(data: bytes, is_needed: bool) -> None:
    script = f"""
import sys
sys.path.insert(0, {APP!r})
from doc_processing_toolkit.documents import identify
from doc_processing_toolkit.documents.encoding import detect_encoding
assert identify({data!r}, "a.txt").name == "text"
assert "chardet" not in sys.modules
detect_encoding({data!r})
print("chardet" in sys.modules)
"""
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(is_needed)


def test_worker_that_cannot_start_is_said_to_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert refused(b"text", "a.txt").code == "worker_died"


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ("import os, sys; sys.stdin.buffer.read(1); os.kill(os.getpid(), 9)", "worker_died"),
        ("import sys; sys.exit(3)", "worker_died"),
        ("print('hello')", "worker_died"),
        ("print('[1, 2]')", "worker_died"),
        ('print(\'{"type": "surprise"}\')', "worker_died"),
        ('print(\'{"type": "text", "text": "\' + \'x\' * 20_000 + \'"}\')', "worker_died"),
        ('print(\'{"type": "done", "kind": 7}\')', "worker_died"),
        ("import sys; sys.stdin.buffer.read(100_000); print('x' * 3_000_000)", "worker_died"),
        ("print('x' * 3_000_000)", "timeout"),  # it waits for a reader, the reader for its input to be taken
        ("import sys; sys.exit(79)", "memory"),
        ("import time; time.sleep(60)", "timeout"),
        ('import time\nwhile True: print(\'{"type": "progress", "done": 1, "total": 2, "unit": "pages"}\')', "timeout"),
    ],
)
def test_worker_that_misbehaves_becomes_an_error_and_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, code: str
) -> None:
    script = tmp_path / "worker_main.py"
    script.write_text(behaviour)
    monkeypatch.setattr(process, "_SCRIPT", str(script))
    assert refused(b"x" * 100_000, "a.txt", seconds=1.5, characters=10_000).code == code
    assert workers() == []


def test_fault_of_the_reader_names_its_place_and_quotes_nothing_of_the_document() -> None:
    from doc_processing_toolkit.documents import worker

    messages: list[dict[str, object]] = []

    class Ended(BaseException):
        pass

    def end(code: int) -> None:
        raise Ended

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker.os, "_exit", end)
        try:
            int("a secret sentence")
        except ValueError as exc:
            with pytest.raises(Ended):
                worker._end_on_fault(type(exc), exc.__traceback__, messages.append)
    assert messages[0]["type"] == "fault"
    assert "ValueError at test_process.py:" in str(messages[0]["detail"])
    assert b"secret" not in encode_message(messages[0])


def test_memory_that_is_only_watched_is_noticed_too() -> None:
    used = iter((10, 50, 101))
    noticed = threading.Event()
    watch_memory(100, noticed.set, lambda: next(used)).join(10)
    assert noticed.is_set()


def test_peak_memory_is_measured_in_bytes() -> None:
    assert 5 << 20 < peak_memory() < 64 << 30


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_worker_limits_itself_before_it_reads_anything(tmp_path: Path) -> None:
    script = f"""
import sys
sys.path.insert(0, {APP!r})
import resource
from doc_processing_toolkit.documents.confine import confine
confine(7, 300 << 20, sys.exit)
print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0],
      resource.getrlimit(resource.RLIMIT_CORE)[0])
"""
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(300 << 20), "12", "0"]


def test_nothing_of_the_process_is_left_open() -> None:
    read(b"warm up", "a.txt")
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    threads = threading.active_count()
    for _ in range(3):
        read(b"text", "a.txt")
        refused(b"", "a.txt")
    after = os.listdir("/proc/self/fd") if before else []
    assert len(after) <= len(before)
    asyncio.run(until(lambda: threading.active_count() <= threads))
