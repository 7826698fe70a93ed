"""A small clone for tests of the launcher: its real modules, an empty lock, and a stand-in for `uv`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from launcher import Clone

REPOSITORY = Path(__file__).resolve().parents[2]
# Makes real environments without packages, and writes its calls to UV_CALLS; UV_PIP_SECONDS and UV_PIP_ERROR steer it.
_UV = """#!{python}
import os, subprocess, sys, time
with open(os.environ["UV_CALLS"], "a") as calls:
    calls.write(" ".join(sys.argv[1:3]) + "\\n")
if sys.argv[1] == "venv":
    sys.exit(subprocess.call([{python!r}, "-m", "venv", "--without-pip", sys.argv[-1]]))
with open(os.environ["UV_CALLS"] + ".pid", "w") as file:
    file.write(str(os.getpid()))
time.sleep(float(os.environ.get("UV_PIP_SECONDS", "0")))
error = os.environ.get("UV_PIP_ERROR")
sys.exit(error or 0)
"""
_APP = """
import sys
print("app", sys.argv[1:], sys.prefix)
"""


class SmallClone:
    """A clone in `root` whose app prints its arguments; both commands are started as a user does."""

    def __init__(self, root: Path, *, uv: bool = True) -> None:
        self.root = root
        self.places = Clone(str(root))
        for folder in ("app/turnleaf", "packaging", "tests"):
            (root / folder).mkdir(parents=True)
        for module in REPOSITORY.glob("app/*.py"):
            shutil.copy(module, root / "app")
        shutil.copy(REPOSITORY / "tests/__main__.py", root / "tests")
        (root / "app/turnleaf/__main__.py").write_text(_APP)
        (root / "packaging/requirements.lock").write_text("# no packages\n")
        self._tools = root.parent / f"{root.name}-tools"
        self._tools.mkdir()
        self.calls_file = self._tools / "calls"
        if uv:
            base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
            (self._tools / "uv").write_text(_UV.format(python=base))
            (self._tools / "uv").chmod(0o755)

    def line(self, *arguments: str, command: str = "app") -> list[str]:
        """Return the command line of a start."""
        return [sys.executable, str(self.root / command), *arguments]

    def variables(self, **more: str) -> dict[str, str]:
        """Return a clean environment for a start, with the stand-in for uv first on the path."""
        path = os.pathsep.join((str(self._tools), "/usr/bin", "/bin"))
        return {"PATH": path, "HOME": str(self._tools), "UV_CALLS": str(self.calls_file), **more}

    def start(self, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Start the app as a user does and wait for its end."""
        return subprocess.run(
            self.line(*arguments),
            cwd=cwd or self.root.parent,
            env=self.variables(**more),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def calls(self) -> list[str]:
        """Return what the stand-in for uv was called with, in order."""
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
