"""The composition root: the command line to a profile, and the profile to the running app."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from turnleaf import __version__
from turnleaf.bridge.early_termination import EarlyTermination

USAGE_EXIT = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Start Turnleaf; return 0 when it is done, 1 when it or its smoke test failed, 2 without a display."""
    options = _parser().parse_args(argv)
    if options.version:
        print(f"Turnleaf {__version__}")  # noqa: T201 - the answer of a command
        return 0
    if not _has_display():
        if not options.smoke:
            _say("there is no display to open a window on; set DISPLAY or WAYLAND_DISPLAY")
            return USAGE_EXIT
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    early = EarlyTermination()
    early.install()
    try:
        return _run(options, early)
    finally:
        early.uninstall()


def _run(options: argparse.Namespace, early: EarlyTermination) -> int:
    from turnleaf.services.errors import ProfileError
    from turnleaf.services.profile import open_profile

    try:
        profile = open_profile(options.profile)
    except ProfileError as error:
        _say(str(error))
        return 1
    from turnleaf.bridge.single_instance import StartRequest
    from turnleaf.ui.desktop import Options, run

    # Absolute, because another process may open them; not resolved, because the name is the user's.
    files = tuple(os.path.abspath(name) for name in options.files)
    return run(profile, Options(StartRequest(files, options.new, options.model), smoke=options.smoke, early=early))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="turnleaf", description="Long conversations with documents.")
    parser.add_argument("files", nargs="*", metavar="FILE.json", help="saved conversations to open")
    parser.add_argument("--new", action="store_true", help="begin with a new conversation")
    parser.add_argument("--model", metavar="ID", help="the model that new conversations use")
    parser.add_argument("--profile", metavar="DIR", type=Path, help="keep everything under this folder")
    parser.add_argument("--smoke", action="store_true", help="run one turn on the local model and end")
    parser.add_argument("--version", action="store_true", help="show the version and end")
    return parser


def _has_display() -> bool:
    if not sys.platform.startswith(("linux", "freebsd", "openbsd", "netbsd")):
        return True
    return any(os.environ.get(name) for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"))


def _say(text: str) -> None:
    print(f"turnleaf: {text}", file=sys.stderr)  # noqa: T201 - there is no window to say it in


if __name__ == "__main__":
    raise SystemExit(main())
