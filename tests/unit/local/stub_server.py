"""A server process in miniature: it speaks the real one's protocol with its owner, listens, and serves nothing.

What it does is chosen by the model's file name: ``slow`` answers after 0.5 s, ``crash`` dies after it was ready,
``broken`` fails to load, ``dead`` ends without a word, ``silent`` never answers, ``killed`` as by the memory killer.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path


def main() -> None:
    """Answer as the name of the model says, and end when standard input closes."""
    settings = json.loads(sys.stdin.buffer.readline())
    name = Path(settings["model_path"]).stem
    with open(Path(settings["model_path"]).with_suffix(".pids"), "a") as log:
        log.write(f"{os.getpid()}\n")
    if name == "slow":
        time.sleep(0.5)
    elif name == "broken":
        print("0.00.456.043 E llama_model_load: error loading model: unknown model architecture: 'x'", file=sys.stderr)
        answer({"failed": "load", "detail": "Failed to init server"})
        sys.exit(1)
    elif name == "dead":
        sys.exit(3)
    elif name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if name != "silent":
        listening = socket.create_server(("127.0.0.1", 0), backlog=50)
        answer({"ready": f"http://127.0.0.1:{listening.getsockname()[1]}"})
    if name == "crash":
        time.sleep(0.1)
        os.abort()
    while os.read(0, 1):
        pass


def answer(message: dict[str, str]) -> None:
    """Write one line to the owner."""
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
