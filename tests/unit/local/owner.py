"""A process that owns a local model service and ends in a chosen way: ``owner.py MODEL ENDING``.

It prints the server's process id once the server runs; ``loading`` ends while it still starts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from doc_processing_toolkit.providers.local import LocalModel, LocalModelService
from unit.local.processes import started_for
from unit.local.serving import STUB


async def run(model: Path, ending: str) -> None:
    """Start the server, say its process id, and end."""
    service = LocalModelService(STUB)
    if ending == "loading":
        asyncio.get_running_loop().create_task(service.lease(LocalModel(model)).__aenter__())
        while not started_for(model):
            await asyncio.sleep(0.01)
        print(started_for(model)[0], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    async with service.lease(LocalModel(model)) as lease:
        lease.mark_prompt_read()
        print(started_for(model)[0], flush=True)
        if ending == "fork":
            fork_and_wait()
            print("alive" if started_for(model) and os.path.exists(f"/proc/{started_for(model)[0]}") else "gone")
        elif ending == "error":
            raise ValueError("the program has a fault")
        elif ending != "return":
            os.kill(os.getpid(), getattr(signal, ending))
            await asyncio.sleep(10)


def fork_and_wait() -> None:
    """Fork a process that ends in the ordinary way, as forks of the standard library do."""
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2]))
