"""Run one strict server until standard input ends: prints its address on a line of its own."""

from __future__ import annotations

import sys

from support.strict.server import StrictServer


def main() -> None:
    """Serve until the parent closes the pipe."""
    with StrictServer() as server:
        print(server.state.base_url, flush=True)
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
