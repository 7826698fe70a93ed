"""Guards the pair of PySide6 and Python: 6.12 on Python 3.11 drops references to None until the process aborts."""

import subprocess
import sys

# In a process of its own, since a broken pair takes references that the tests need.
_COUNT = """
import sys
CALLS = 40
from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal

class Sender(QObject):
    sent = Signal()

application = QCoreApplication([])
timer, sender = QTimer(), Sender()
sender.sent.connect(lambda: None)
before = sys.getrefcount(None), sys.getrefcount(True)
for _ in range(CALLS):
    timer.setInterval(5)
    sender.sent.emit()
after = sys.getrefcount(None), sys.getrefcount(True)
print(after[0] - before[0], after[1] - before[1])
"""


def test_pyside_drops_no_reference_on_this_python() -> None:
    """A broken pair loses one reference a call, or aborts; from Python 3.12 on None and True cannot be lost."""
    done = subprocess.run([sys.executable, "-P", "-c", _COUNT], capture_output=True, text=True, check=False)
    told = "PySide6 drops references on this Python; keep its pin below 6.12 there"
    assert done.returncode == 0, f"{told}: {done.stderr[-400:]}"
    none, true = map(int, done.stdout.split())
    assert none > -20, f"{told}: {none} of None"
    assert true > -20, f"{told}: {true} of True"
