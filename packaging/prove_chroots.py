"""Proves `python3 app --smoke` and `python3 tests` on bare Debian 12 and 13, where nothing but Python is installed.

Usage (as root, with debootstrap): python3 packaging/prove_chroots.py [--suite bookworm] [--keep] [--folder DIR]

Each system is a fresh debootstrap with `python3` and `ca-certificates` and nothing else. Passed in are this machine's
extra CA certificates, its resolv.conf, /proc and /dev. Needs about 1.5 GB and two minutes besides the tests themselves.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
SUITES = ("bookworm", "trixie")
CERTIFICATES = Path("usr/local/share/ca-certificates")
INSIDE = "srv/turn leaf"  # a space, since people have them
# The mounts live in a namespace of their own and go with it, however this ends: nothing can be deleted through them.
ENTER = """
mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" || exit 125
root=$1; shift
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
"""
COMMANDS = (("app --smoke", "/", ("app", "--smoke")), ("tests", f"/{INSIDE}", ("tests",)))


def main() -> int:
    """Run the proof for every suite asked for; return 0 when every command ended with 0."""
    options = parse_arguments()
    # Ended from outside it clears away too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for tool in ("debootstrap", "unshare", "chroot"):
        if not shutil.which(tool):
            print(f"{tool} is missing; apt-get install debootstrap util-linux coreutils", file=sys.stderr)
            return 1
    if os.geteuid() != 0:
        print("chroots can only be made by root", file=sys.stderr)
        return 1
    folder = Path(options.folder or tempfile.mkdtemp(prefix="turnleaf-chroots-", dir="/var/tmp"))
    try:
        codes = [prove(suite, folder / suite, options) for suite in options.suite or SUITES]
    finally:
        if not options.keep:
            remove(folder)
    return 1 if any(codes) else 0


def parse_arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description="Prove both commands in bare Debian systems.")
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this Debian (may be repeated)")
    parser.add_argument("--clone", type=Path, default=CLONE, help="the clone to prove (default: this one)")
    parser.add_argument("--folder", help="where the systems are made (default: a temporary folder)")
    parser.add_argument("--keep", action="store_true", help="leave the systems there, and use them again")
    parser.add_argument("--mirror", help="where Debian is fetched from (default: debootstrap's own)")
    return parser.parse_args()


def prove(suite: str, root: Path, options: argparse.Namespace) -> int:
    """Make one system, run both commands in it and print their times; return the first exit code that is not 0."""
    if not (root / "usr/bin/python3").exists():
        began = time.monotonic()
        bootstrap(suite, root, options.mirror)
        print(f"{suite}: made in {time.monotonic() - began:.0f} s", flush=True)
    copy_clone(options.clone, root / INSIDE)
    first_failure = 0
    for name, folder, arguments in COMMANDS:
        began = time.monotonic()
        code = run_inside(root, folder, "python3", f"/{INSIDE}/{arguments[0]}", *arguments[1:])
        print(f"{suite}: python3 {name}: exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
        first_failure = first_failure or code
    print(f"{suite}: the clone with its environment takes {size_of(root / INSIDE)} MB", flush=True)
    return first_failure


def bootstrap(suite: str, root: Path, mirror: str | None) -> None:
    """Make a bare system that holds Python and certificates, this machine's own ones included."""
    root.mkdir(parents=True, exist_ok=True)
    line = ["debootstrap", "--variant=minbase", "--include=python3,ca-certificates", suite, str(root)]
    line += [mirror] if mirror else []
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
    extra = Path("/") / CERTIFICATES
    if extra.is_dir():
        shutil.copytree(extra, root / CERTIFICATES, dirs_exist_ok=True)
    subprocess.run(["chroot", str(root), "update-ca-certificates"], check=True, stdout=subprocess.DEVNULL)


def copy_clone(clone: Path, target: Path) -> None:
    """Copy what git knows or would add, so that neither an environment nor a cache comes along."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=clone,
        check=True,
        stdout=subprocess.PIPE,
    )
    shutil.rmtree(target, ignore_errors=True)
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        source = clone / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def run_inside(root: Path, folder: str, *line: str) -> int:
    """Run a command in the system, in `folder`, with a clean environment; return its exit code."""
    command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
    inside = ["/usr/bin/env", "-C", folder, *line]
    return subprocess.run(
        [*command, "sh", "-c", ENTER, "sh", str(root), *inside], stdin=subprocess.DEVNULL, check=False
    ).returncode


def size_of(folder: Path) -> int:
    """Return the size of a folder in MB (1e6 bytes)."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) // 1_000_000


def remove(folder: Path) -> None:
    """Remove the systems, unless something is still mounted in them."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    inside = [place for place in mounted if place.startswith(f"{folder}/")]
    if inside:
        print(f"left as it is, since {inside[0]} is mounted: {folder}", file=sys.stderr)
        return
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
