"""Runs the tests: `python3 tests [pytest's arguments]`, from any folder; parses on every Python, as `app` does."""

import os
import sys


def _start():  # type: () -> int
    if sys.version_info < (3, 8):
        sys.exit("turnleaf: Python 3.11 or newer is needed; this is Python {}.{}.".format(*sys.version_info[:2]))
    clone = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.join(clone, "app"))
    from launcher import main

    return main("tests", sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_start())
