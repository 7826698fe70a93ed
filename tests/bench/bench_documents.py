"""Times the extraction of documents beside what it cannot be faster than: ``python tests/bench/bench_documents.py``.

Prints medians in milliseconds: a 100-page PDF beside PDFium alone in this process, a long text beside decoding it,
a cancellation, and how late a 5 ms ticker of the event loop was meanwhile beside the idle loop's own lateness.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "app"), str(TESTS)]

import pypdfium2  # noqa: E402

from doc_processing_toolkit.documents import DocumentText, ExtractionLimits, extract  # noqa: E402
from unit.documents.pdf_making import endless_pdf, long_pdf, pdf_of  # noqa: E402

ROUNDS = 9
TICK_S = 0.005


def median_ms(run: Callable[[], object]) -> float:
    """Return the median time of ``run`` in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


async def lateness_ms(work: Callable[[], Awaitable[object]]) -> float:
    """Return by how many milliseconds a tick of the loop was late at most while ``work`` ran."""
    worst = 0.0
    done = False

    async def tick() -> None:
        nonlocal worst
        while not done:
            due = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            worst = max(worst, time.perf_counter() - due)

    ticker = asyncio.create_task(tick())
    await work()
    done = True
    await ticker
    return worst * 1000


def read_in_process(data: bytes) -> int:
    """Return the characters of a PDF by PDFium alone: the floor."""
    characters = 0
    with pypdfium2.PdfDocument(data) as document:
        for page in document:
            text_page = page.get_textpage()
            characters += len(text_page.get_text_range())
            text_page.close()
            page.close()
    return characters


async def cancel_once() -> float:
    """Return how long a cancellation takes in milliseconds, until the process is gone."""
    limits = ExtractionLimits(pages=1_000_000, characters=10**9)
    started = asyncio.Event()
    task = asyncio.create_task(extract(endless_pdf(), limits=limits, on_progress=lambda progress: started.set()))
    await started.wait()
    start = time.perf_counter()
    task.cancel()
    await asyncio.wait({task})
    return (time.perf_counter() - start) * 1000


def report(label: str, value: float, floor: str = "", floor_value: float = 0.0) -> None:
    """Print one line."""
    print(f"{label:<44}{value:8.1f} ms" + (f"   floor: {floor} {floor_value:.1f} ms" if floor else ""))


def main() -> None:
    """Run all benchmarks."""
    hundred, two = long_pdf(100), pdf_of("one", "two")
    text = ("The quick brown fox jumps over the lazy dog. 東京 Größe\n" * 90_000).encode()

    def run(source: bytes) -> DocumentText:
        return asyncio.run(extract(source))

    interpreter = median_ms(lambda: subprocess.run((sys.executable, "-c", "import pypdfium2"), check=True))
    report("interpreter start and import of pypdfium2", interpreter)
    floor = median_ms(lambda: read_in_process(hundred))
    report("100-page PDF", median_ms(lambda: run(hundred)), "PDFium in this process", floor)
    report("2-page PDF", median_ms(lambda: run(two)), "PDFium in this process", median_ms(lambda: read_in_process(two)))
    report("short text", median_ms(lambda: run(b"hello")))
    decoding = median_ms(lambda: text.decode())
    report(f"text of {len(text) >> 20} MiB", median_ms(lambda: run(text)), "decoding it", decoding)
    report("cancel", statistics.median(asyncio.run(cancel_once()) for _ in range(ROUNDS)))

    def late(work: Callable[[], Awaitable[object]]) -> float:
        return statistics.median(asyncio.run(lateness_ms(work)) for _ in range(ROUNDS))

    idle = late(lambda: asyncio.sleep(0.5))
    report("ticker late at most, 100-page PDF", late(lambda: extract(hundred)), "idle loop", idle)
    report(f"ticker late at most, text of {len(text) >> 20} MiB", late(lambda: extract(text)), "idle loop", idle)


if __name__ == "__main__":
    main()
