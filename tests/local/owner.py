"""A process that owns the real local model and ends in a chosen way: ``owner.py ENDING``; prints the server's id."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import psutil

from doc_processing_toolkit.providers.local import LocalModelService
from local.raw_chat import chunks, document


async def run(ending: str) -> None:
    """Start the server, say its process id, and end."""
    service = LocalModelService()
    if ending == "SIGKILL while loading":
        asyncio.get_running_loop().create_task(service.lease().__aenter__())
        while not (server := maybe_server()):
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.3)  # in the middle of the load, which holds the server's interpreter
        end(server, "SIGKILL")
    async with service.lease() as lease:
        server = maybe_server()
        if ending == "SIGKILL while reading":
            async for chunk in chunks(lease, [document("word and another " * 1500, "What is it about?")]):
                if chunk.get("prompt_progress", {}).get("processed", 0) > 100:
                    end(server, "SIGKILL")
        lease.mark_prompt_read()
        if ending == "return":
            print(server, flush=True)
        else:
            end(server, ending)


def maybe_server() -> int:
    """Return the process id of the server, 0 when there is none."""
    return next((child.pid for child in psutil.Process().children()), 0)


def end(server: int, name: str) -> None:
    """Say which server there is, and end by a signal."""
    print(server, flush=True)
    os.kill(os.getpid(), getattr(signal, name))
    signal.pause()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
