"""Runs the property tests and the session's state machine for long: `python tests/soak [examples of each]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
_FILES = ("test_history_properties.py", "test_state_machine.py")
_DEFAULT = 500


def main(arguments: list[str]) -> int:
    """Run them with so many examples each, and return pytest's exit code."""
    import pytest

    if len(arguments) > 1 or not all(argument.isdigit() and int(argument) for argument in arguments):
        print("usage: python tests/soak [how many examples of each property]", file=sys.stderr)
        return 2
    os.environ["TURNLEAF_SOAK"] = arguments[0] if arguments else str(_DEFAULT)
    files = [str(_TESTS / "unit" / "toolkit" / name) for name in _FILES]
    return int(pytest.main([*files, "-q", "-o", "timeout=0", "--rootdir", str(_TESTS.parent)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
