"""The file ``<id>.meta.json``: a sidecar to bytes in pieces, and back with everything that can still be read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from turnleaf.services.codec import CodecError, from_plain, to_plain
from turnleaf.services.sidecar import LedgerTurn, Sidecar

VERSION = 1
_OTHERS = tuple(field.name for field in dataclasses.fields(Sidecar) if field.name != "ledger")


class SidecarEncoder:
    """Turns a sidecar into bytes. A ledger line is encoded once, however often the sidecar is written."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[LedgerTurn, bytes]] = {}

    def capture(self, sidecar: Sidecar) -> Callable[[], Iterator[bytes]]:
        """Take the sidecar as it stands, cheaply; what is returned encodes it, in another thread if need be."""
        head = {"version": VERSION, **{name: to_plain(getattr(sidecar, name)) for name in _OTHERS}}
        ledger = tuple(sidecar.ledger)
        return lambda: self._pieces(head, ledger)

    def _pieces(self, head: dict[str, Any], ledger: tuple[LedgerTurn, ...]) -> Iterator[bytes]:
        # Small calls to json: one big one would hold the interpreter, and with it the window.
        yield b"{"
        for name, value in head.items():
            yield _encode(name) + b": " + _encode(value) + b",\n"
        yield b'"ledger": ['
        known = self._lines
        self._lines = {}
        for index, turn in enumerate(ledger):
            # The line itself is kept beside its bytes, so that its id cannot be another's.
            self._lines[id(turn)] = known.get(id(turn)) or (turn, _encode(to_plain(turn)))
            yield (b",\n" if index else b"\n") + self._lines[id(turn)][1]
        yield b"\n]}\n"


@dataclass(frozen=True, slots=True)
class ReadSidecar:
    """What a sidecar's bytes held, and what of it could not be read (empty when all is well)."""

    sidecar: Sidecar
    problems: tuple[str, ...] = ()


def read_sidecar(content: bytes) -> ReadSidecar:
    """Return the sidecar in `content`, every part that can be read, the rest at its default. Never raises."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as exc:
        return ReadSidecar(Sidecar(), (f"not JSON ({exc})",))
    if not isinstance(data, dict):
        return ReadSidecar(Sidecar(), ("not a JSON object",))
    problems: list[str] = []
    values: dict[str, Any] = {}
    for name in _OTHERS:
        if name in data:
            try:
                values[name] = getattr(from_plain(Sidecar, {name: data[name]}), name)
            except CodecError as exc:
                problems.append(str(exc))
    values["ledger"] = _read_ledger(data.get("ledger", []), problems)
    return ReadSidecar(Sidecar(**values), tuple(problems))


def _read_ledger(lines: Any, problems: list[str]) -> list[LedgerTurn]:
    if not isinstance(lines, list):
        problems.append("ledger: not a list")
        return []
    ledger = []
    for index, line in enumerate(lines):
        try:
            ledger.append(from_plain(LedgerTurn, line, place=f"ledger[{index}]"))
        except CodecError as exc:
            problems.append(str(exc))
    return ledger


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")
