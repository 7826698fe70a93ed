"""What it costs to take a long history to another provider: ``python tests/bench/bench_conversion.py``.

CPU time of this thread, the best and the median of nine, for 5,000 messages of four a turn (question, call, result,
answer), over every ordered pair of dialects.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests")]

from doc_processing_toolkit import registry  # noqa: E402
from doc_processing_toolkit.conversion.crossing import Origin, cross  # noqa: E402
from unit.conversion.spoken import DIALECTS, PROVIDERS, ROWS, Asked, Outcome, Round, Turn, written  # noqa: E402

TURNS = 1_250
BUDGET_MS = 60.0
WORDS = "word " * 60


def conversation() -> tuple[Turn, ...]:
    """Return a conversation of one tool call a turn, without reasoning."""
    calls = (Asked(f"functions.f:{n}", "find", {"n": n}, Outcome(WORDS)) for n in range(TURNS))
    return tuple(Turn(WORDS, False, (Round("", (call,), ""),), WORDS, False) for call in calls)


def measured(source: str, target: str, turns: tuple[Turn, ...]) -> list[float]:
    """Return the CPU milliseconds of nine conversions."""
    messages, row, taken = written(turns, source), registry.find(ROWS[target]), []
    for _ in range(9):
        started = time.thread_time()
        cross(messages, Origin(PROVIDERS[source]), row, policy="placeholder")
        taken.append((time.thread_time() - started) * 1000)
    return taken


def main() -> int:
    """Print the table; return 1 when a pair is over the budget."""
    turns, is_over = conversation(), False
    for source, target in itertools.permutations(DIALECTS, 2):
        taken = measured(source, target, turns)
        is_over |= min(taken) > BUDGET_MS
        print(f"{source:>9} -> {target:<9} best {min(taken):5.1f} ms  median {statistics.median(taken):5.1f} ms")
    print(f"budget {BUDGET_MS:.0f} ms for {TURNS * 4:,} messages: {'over' if is_over else 'kept'}")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
