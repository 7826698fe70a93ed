"""Why a local model did not start, as a sentence for the user: what, which, what next."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from doc_processing_toolkit.core.errors import ProviderError

_SIGKILL = getattr(signal, "SIGKILL", 9)
_DETAIL_CHARACTERS = 300
_NO_MEMORY = ("bad_alloc", "failed to allocate", "cannot allocate memory", "out of memory", "unable to allocate")


@dataclass(frozen=True, slots=True)
class StartFailure:
    """How a start ended: the reason the process gave (or ``died``, ``timeout``, ``spawn``), and what it left behind."""

    reason: str
    detail: str = ""
    log: str = ""
    returncode: int | None = None
    timeout_s: float = 0.0


def failed_start(failure: StartFailure, model_path: str) -> ProviderError:
    """Return the error for a start that failed."""
    code, text = _sentence(failure, model_path)
    return ProviderError(text, provider="local", code=code)


def service_closed() -> ProviderError:
    """Return the error for a request to a service that has been closed."""
    return ProviderError(
        "The local model was shut down, because the program that runs it is ending.", provider="local", code="closed"
    )


def _sentence(failure: StartFailure, model_path: str) -> tuple[str, str]:
    match failure.reason:
        case "engine_missing":
            return failure.reason, (
                "The engine for local models, the Python package 'xllamacpp', is not installed for this Python. "
                "Install it, or use a model on a server."
            )
        case "library_missing":
            return failure.reason, _missing_library(failure.detail)
        case "spawn":
            return failure.reason, f"The process for the local model could not be started: {failure.detail}. Try again."
        case "timeout":
            return failure.reason, (
                f"The local model {model_path!r} was not ready after {failure.timeout_s:.0f} seconds and was stopped. "
                "Try again, or use a smaller model."
            )
    if _is_out_of_memory(failure):
        return "memory", (
            f"There is not enough memory for the local model {model_path!r}. "
            "Close other programs, or use a smaller model or a smaller context."
        )
    return "start_failed", (
        f"The local model {model_path!r} could not be started: {_cause(failure)}. "
        "Try again; if it stays so, the file does not fit this engine: use another."
    )


def _missing_library(detail: str) -> str:
    library = detail.partition(":")[0].strip() or "a system library"
    remedy = f"Install the system package that holds {library}"
    if "libgomp" in library:
        remedy += " (on Debian and Ubuntu: apt install libgomp1)"
    return f"The engine for local models cannot be loaded: {detail}. {remedy}, then try again."


def _is_out_of_memory(failure: StartFailure) -> bool:
    if failure.reason == "memory" or (failure.returncode == -_SIGKILL and failure.reason == "died"):
        return True
    said = f"{failure.detail}\n{failure.log}".lower()
    return any(sign in said for sign in _NO_MEMORY)


def _cause(failure: StartFailure) -> str:
    """Return the engine's own most telling words, short: its last line that speaks of an error."""
    lines = [line.strip() for line in failure.log.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "failed" in line.lower()]
    words = _without_prefix(telling[0]) if telling else failure.detail
    if not words and failure.returncode is not None:
        words = f"its process ended with {_ending(failure.returncode)}"
    return words[:_DETAIL_CHARACTERS] or "no reason was given"


def _without_prefix(line: str) -> str:
    """Return a log line without the engine's time and level (``0.00.456.043 E load: ...``)."""
    fields = line.split(" ", 2)
    return fields[2] if len(fields) == 3 and fields[1] in ("E", "W") else line


def _ending(returncode: int) -> str:
    if returncode < 0:
        try:
            return f"signal {signal.Signals(-returncode).name}"
        except ValueError:
            return f"signal {-returncode}"
    return f"exit code {returncode}"
