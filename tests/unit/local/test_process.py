"""A server process is told its settings in private, and what goes wrong with it is said in words."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.providers.local.process import SERVER_COMMAND, ServerProcess, ServerSettings
from unit.local import stub_server
from unit.local.processes import ends_within, runs

STUB = (sys.executable, stub_server.__file__)
READY = 'import sys; print(\'{"ready": "http://127.0.0.1:9"}\', flush=True); sys.stdin.read()'


def settings(path: Path | str) -> ServerSettings:
    """Return settings for a model file."""
    return ServerSettings(str(path), template="", context_tokens=512, threads=1, api_key="s3cret-key")


def script(code: str) -> tuple[str, ...]:
    """Return the command line of a server that is a few lines of Python."""
    return (sys.executable, "-c", code)


def failure(command: tuple[str, ...], path: Path | str = "/models/mine.gguf", timeout_s: float = 20) -> ProviderError:
    """Return the error of a start that fails; its process must be gone by then."""
    process = ServerProcess(settings(path), command=command)
    with pytest.raises(ProviderError) as caught:
        process.wait_ready(timeout_s)
    assert not runs(process.pid)
    assert caught.value.provider == "local"
    return caught.value


def test_a_server_that_is_ready_has_an_address_on_loopback(tmp_path: Path) -> None:
    process = ServerProcess(settings(tmp_path / "model.gguf"), command=STUB)
    process.wait_ready(20)
    assert process.base_url.startswith("http://127.0.0.1:")
    assert process.base_url.endswith("/v1")
    assert process.is_alive
    process.kill()
    process.wait()
    assert not process.is_alive


def test_the_key_is_neither_on_the_command_line_nor_in_the_environment_nor_in_the_repr(tmp_path: Path) -> None:
    process = ServerProcess(settings(tmp_path / "model.gguf"), command=STUB)
    process.wait_ready(20)
    outside = psutil.Process(process.pid)
    seen = f"{outside.cmdline()} {outside.environ()} {process.settings!r}"
    process.kill()
    process.wait()
    assert "s3cret-key" not in seen


def test_the_process_inherits_no_descriptor_but_its_three_pipes(tmp_path: Path) -> None:
    with open(tmp_path / "open.txt", "w") as inheritable:
        os.set_inheritable(inheritable.fileno(), True)
        process = ServerProcess(settings("/m.gguf"), command=script(READY))
        process.wait_ready(20)
        descriptors = [os.readlink(each) for each in Path(f"/proc/{process.pid}/fd").iterdir()]
        process.kill()
        process.wait()
    assert [name for name in descriptors if not name.startswith("pipe:")] == []


def test_it_ends_when_its_owner_lets_go_of_it(tmp_path: Path) -> None:
    process = ServerProcess(settings(tmp_path / "model.gguf"), command=STUB)
    process.wait_ready(20)
    process._close_pipes()
    assert ends_within(process.pid, 2)
    process.wait()


def test_the_engines_own_words_reach_the_user(tmp_path: Path) -> None:
    error = failure(STUB, tmp_path / "broken.gguf")
    assert "broken.gguf' could not be started: llama_model_load: error loading model: unknown" in str(error)
    assert error.code == "start_failed"


def test_a_process_that_dies_without_a_word_is_reported_with_its_ending(tmp_path: Path) -> None:
    assert "exit code 3" in str(failure(STUB, tmp_path / "dead.gguf"))
    assert "SIGABRT" in str(failure(script("import os; os.abort()")))


def test_a_process_that_the_system_killed_points_to_memory(tmp_path: Path) -> None:
    error = failure(STUB, tmp_path / "killed.gguf")
    assert "not enough memory" in str(error)
    assert error.code == "memory"


def test_an_allocation_that_failed_points_to_memory() -> None:
    code = "import sys; sys.stderr.write('E ggml_aligned_malloc: insufficient memory\\nstd::bad_alloc\\n'); sys.exit(1)"
    assert failure(script(code)).code == "memory"


def test_a_process_that_never_answers_is_ended_and_the_time_is_named(tmp_path: Path) -> None:
    started = time.monotonic()
    error = failure(STUB, tmp_path / "silent.gguf", timeout_s=0.5)
    assert "not ready after" in str(error)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "answer",
    [
        "''",
        "'\\n'",
        "'no json\\n'",
        "'[1]\\n'",
        "'null\\n'",
        "'[' * 60_000 + '\\n'",
        "'x' * 300_000",
        "'{\"ready\": 5}\\n'",
        '\'{"ready": "http://10.0.0.1:80"}\\n\'',
    ],
)
def test_an_answer_that_is_none_is_a_failure_and_not_a_hang(answer: str) -> None:
    code = f"import sys; sys.stdin.readline(); sys.stdout.write({answer}); sys.stdout.flush()"
    assert "could not be started" in str(failure(script(code)))


def test_a_flood_of_log_lines_neither_blocks_the_start_nor_fills_memory(tmp_path: Path) -> None:
    code = (
        "import sys, json\n"
        "sys.stdin.readline()\n"
        "for _ in range(200_000): sys.stderr.write('a log line of some length, as they are\\n')\n"
        "print(json.dumps({'ready': 'http://127.0.0.1:9'}), flush=True)\n"
        "sys.stdin.read()"
    )
    process = ServerProcess(settings(tmp_path / "model.gguf"), command=script(code))
    process.wait_ready(30)
    assert len(process._tail) <= 16 * 1024
    process.kill()
    process.wait()


def test_a_program_that_cannot_be_started_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(ProviderError, match="could not be started: Resource temporarily unavailable"):
        ServerProcess(settings("/m.gguf"))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that puts a module ``xllamacpp`` of a few lines in front of the installed one."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def install(code: str) -> None:
        (tmp_path / "xllamacpp.py").write_text(code)

    return install


def test_a_missing_engine_is_named(engine: Callable[[str], None]) -> None:
    engine("raise ModuleNotFoundError(\"No module named 'xllamacpp'\")")
    error = failure(SERVER_COMMAND)
    assert error.code == "engine_missing"
    assert "'xllamacpp', is not installed" in str(error)


def test_a_missing_system_library_is_named_with_its_package(engine: Callable[[str], None]) -> None:
    engine("raise ImportError('libgomp.so.1: cannot open shared object file: No such file or directory')")
    error = failure(SERVER_COMMAND)
    assert error.code == "library_missing"
    assert "libgomp.so.1" in str(error)
    assert "apt install libgomp1" in str(error)


def test_a_real_server_ends_at_once_while_a_load_holds_the_interpreter(
    engine: Callable[[str], None], tmp_path: Path
) -> None:
    loading = tmp_path / "loading"
    engine(
        "import pathlib\n"
        "class _Any:\n"
        "    def __getattr__(self, name): return _Any()\n"
        "    def __setattr__(self, name, value): pass\n"
        "CommonParams = _Any\n"
        "def Server(params):\n"
        f"    pathlib.Path({str(loading)!r}).touch()\n"
        "    pow(3, 30_000_000)  # seconds in one call that never lets go of the interpreter\n"
    )
    process = ServerProcess(settings("/m.gguf"))
    stdin = process._process.stdin
    assert stdin is not None
    stdin.write(json.dumps(asdict(process.settings)).encode() + b"\n")
    deadline = time.monotonic() + 20
    while not loading.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert runs(process.pid)
    stdin.close()
    assert ends_within(process.pid, 1)
    process.wait()


def test_the_server_loads_nothing_of_the_toolkit_no_qt_no_sdk_and_no_network_client() -> None:
    code = (
        f"import sys, runpy; runpy.run_path({SERVER_COMMAND[-1]!r}, run_name='server')\n"
        "heavy = {'PySide6', 'openai', 'anthropic', 'google', 'httpx2', 'asyncio', 'doc_processing_toolkit'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
