"""Starts Turnleaf: `python3 app [arguments]`, from any folder; parses on every Python, so that an old one is told."""

import os
import sys


def _start():  # type: () -> int
    if sys.version_info < (3, 8):
        sys.exit("turnleaf: Python 3.11 or newer is needed; this is Python {}.{}.".format(*sys.version_info[:2]))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from launcher import main

    return main("app", sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_start())
