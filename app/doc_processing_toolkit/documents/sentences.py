"""The words in which the package speaks of pages, sizes and times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_RANGES = 8


def page_list(pages: Iterable[int]) -> str:
    """Return ``"Page 3"``, ``"Pages 3 and 7"`` or ``"Pages 1–4, 9 and 12"`` for page numbers in ascending order."""
    numbers = list(pages)
    ranges = _ranges(numbers)
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in ranges[:_MOST_RANGES]]
    if len(ranges) > _MOST_RANGES:
        rest = sum(last - first + 1 for first, last in ranges[_MOST_RANGES:])
        shown.append(f"{rest} more")
    return f"Page{'s' if len(numbers) > 1 else ''} {_join(shown)}"


def part_of_pages(whole: int, total: int, *, begun: bool) -> str:
    """Return the note that only ``whole`` of ``total`` pages, and with ``begun`` some of the next, are included."""
    if not whole:
        return f"Only part of page 1 of {total:,} is included."
    read = "page 1" if whole == 1 else f"pages 1–{whole:,}"
    if begun:
        return f"Only {read} and part of page {whole + 1:,} of {total:,} are included."
    return f"Only {read} of {total:,} {'is' if whole == 1 else 'are'} included."


def count(number: int, noun: str) -> str:
    """Return ``"1 page"`` or ``"1,200 pages"``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(octets: int) -> str:
    """Return a number of bytes as people say it: ``"512 MiB"``, ``"1.5 GiB"``, ``"12 bytes"``."""
    amount = float(octets)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}" if unit != "bytes" else count(octets, "byte")
        amount /= 1024
    return f"{amount:.3g} GiB"


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return [part for first, last in ranges for part in _apart(first, last)]


def _apart(first: int, last: int) -> tuple[tuple[int, int], ...]:
    # Two neighbours read better as two numbers.
    return ((first, first), (last, last)) if last == first + 1 else ((first, last),)


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
