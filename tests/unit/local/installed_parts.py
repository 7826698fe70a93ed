"""A small model that is installed in parts, as the packaged one is."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from doc_processing_toolkit.providers.local.weights import Package

CONTENTS = (b"first " * 300_000, b"second " * 300_000, b"third " * 10)


def install(folder: Path, contents: tuple[bytes, ...] = CONTENTS, *, tag: str) -> Package:
    """Write the parts as modules into ``folder``, which must be on ``sys.path``, and return their description."""
    parts = []
    for number, content in enumerate(contents, start=1):
        module = f"turnleaf_test_{tag}_part{number}"
        data = folder / module / "data"
        data.mkdir(parents=True)
        (folder / module / "__init__.py").write_text("raise RuntimeError('a part need not be imported')\n")
        (data / f"model.part{number}").write_bytes(content)
        parts.append((module, f"model.part{number}"))
    digest = hashlib.sha256(b"".join(contents)).hexdigest()
    return Package(name="test-model", file_name="model.gguf", sha256=digest, context_tokens=512, parts=tuple(parts))


if __name__ == "__main__":  # assembles in a process of its own: folder of the parts, tag, target folder, pause
    import threading
    import time

    from doc_processing_toolkit.core.events import Progress
    from doc_processing_toolkit.providers.local.weights import assembled_weights

    source, tag, target, pause = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])
    sys.path.insert(0, str(source))
    described = Package(
        name="test-model",
        file_name="model.gguf",
        sha256=hashlib.sha256(b"".join(CONTENTS)).hexdigest(),
        context_tokens=512,
        parts=tuple((f"turnleaf_test_{tag}_part{number}", f"model.part{number}") for number in (1, 2, 3)),
    )

    def say(progress: Progress) -> None:
        """Tell the parent how far it is, and give it time to do something about it."""
        print(progress.done, flush=True)
        time.sleep(pause)

    assembled_weights(say, threading.Event(), folders=(target,), package=described)
    print("done", flush=True)
