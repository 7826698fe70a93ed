"""A process that dies: lives through a conversation and kills itself at one of its calls to the disk.

``python crash_worker.py ROOT SCENARIO [BASE | --unharmed]`` runs the scenario once for each call that it makes to the
disk, under ``ROOT/0``, ``ROOT/1`` …, each time in a fresh process that ends with SIGKILL just before that call. What
was promised (the steps whose await had returned) is in ``promised`` beside the profile. The last run is killed by
nobody. With BASE each run starts from a copy of that folder. With ``--unharmed`` it runs once and somebody else may
kill it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[3] / "app"), str(Path(__file__).parents[2])]

from doc_processing_toolkit.testing import Pause
from turnleaf.services import conversation as conversation_module
from turnleaf.services.library import Library
from turnleaf.services.profile import open_profile
from unit.services.checkpointing import agent, ask, begin, interrupt, stored_file, stream

CALLS = ("fsync", "replace", "link", "unlink", "open", "mkdir")


class Killer:
    """Ends this process with SIGKILL just before its call number ``at`` to the disk."""

    def __init__(self, at: int, root: Path) -> None:
        self._at = at
        self._root = root
        self.count = 0
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            path = arguments[0]
            ours = not isinstance(path, str | bytes | os.PathLike) or str(self._root) in os.fsdecode(path)
            if ours:
                if self.count == self._at:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.count += 1
            return call(*arguments, **options)

        return counted


class Promises:
    """Notes what has been promised, past the calls that are counted."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, step: str) -> None:
        os.write(self._file, f"{step}\n".encode())


async def whole_life(library: Library, promises: Promises) -> None:
    """Two answered turns, one of them with a file, a failed one, drafts; every await that returns is a promise."""
    conversation = library.create()
    promises.note(f"id {conversation.session_id}")
    session = await conversation.restore(
        agent("Hello Alice.", ["Some ", "text, ", Pause(0.03), "it says."], ["Half an ", Pause(0.03), OSError("gone")])
    )
    file = stored_file(library)
    promises.note("file")
    conversation.set_draft("My name is Alice", [])
    await conversation.flush()
    promises.note("draft 1")
    await begin(conversation, session, "My name is Alice")
    promises.note("begun 1")
    await _finish(conversation, session, "My name is Alice", 1)
    promises.note("answered 1")
    conversation.set_draft("What does it say?", [file])
    await conversation.flush()
    promises.note("draft 2")
    await begin(conversation, session, "What does it say?", [file])
    promises.note("begun 2")
    await _finish(conversation, session, "What does it say?", 2, file)
    promises.note("answered 2")
    await interrupt(conversation, session, "And then?")
    promises.note("failed 3")
    conversation.set_draft("unsent")
    await conversation.flush()
    promises.note("draft 3")
    await library.close()


async def second_life(library: Library, promises: Promises) -> None:
    """A conversation that is opened again: rewound with its state kept, then gone on with."""
    (summary,) = library.summaries()
    conversation = await library.open(summary.session_id)
    promises.note(f"id {summary.session_id}")
    session = await conversation.restore(agent("Blue.", "Again."))
    await conversation.keep_generation("rewind")
    promises.note("kept")
    session.truncate_to_turn(1)
    await conversation.save_history(session)
    promises.note("rewound")
    await ask(conversation, session, "What colour?")
    promises.note("answered")
    await library.close()


async def _finish(conversation: Any, session: Any, question: str, run: int, *files: Any) -> None:
    from turnleaf.services.reducer import Transcript
    from turnleaf.services.sidecar import Completed
    from unit.services.checkpointing import ledger_line

    result = await stream(conversation, session, question)
    line = ledger_line(run, run, question, files, result, Transcript())
    await conversation.checkpoint(session, ended=Completed(line))


SCENARIOS = {"whole_life": whole_life, "second_life": second_life}


def live(root: Path, scenario: str, die_at: int) -> int:
    """Run a scenario in a child that dies at a call; return its exit status as ``os.waitpid`` gives it."""
    child = os.fork()
    if child == 0:
        conversation_module.PARTIAL_DELAY_S = 0.01
        conversation_module.DRAFT_DELAY_S = 0.01
        profile = open_profile(root / "profile")
        promises = Promises(root / "promised")
        killer = Killer(die_at, root)
        asyncio.run(SCENARIOS[scenario](Library(profile), promises))
        promises.note(f"calls {killer.count}")
        os._exit(0)
    return os.waitpid(child, 0)[1]


def main() -> None:
    root, scenario = Path(sys.argv[1]), sys.argv[2]
    if sys.argv[3:] == ["--unharmed"]:
        asyncio.run(SCENARIOS[scenario](Library(open_profile(root / "profile")), Promises(root / "promised")))
        return
    for die_at in range(10_000):
        own = root / str(die_at)
        if len(sys.argv) > 3:
            shutil.copytree(sys.argv[3], own)
        else:
            own.mkdir()
        if live(own, scenario, die_at) == 0:
            print(die_at)
            return
    raise AssertionError("the scenario never ends")


if __name__ == "__main__":
    main()
