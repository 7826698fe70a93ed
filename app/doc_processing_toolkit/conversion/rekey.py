"""New ids and names for tool calls: deterministic, and never the same for two calls of a history (K04)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

from doc_processing_toolkit.conversion.neutral import Call, Notes
from doc_processing_toolkit.conversion.rules import TargetRules

# 24 characters in base 32.
_BYTES = 15
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 64


def rekey(calls: Iterable[Call], rules: TargetRules, notes: Notes) -> None:
    """Give every call its id at the target, and note each that changes.

    An id that has the target's form already is kept, but for one that an earlier call has.
    """
    calls = list(calls)
    used: set[str] = set()
    for call in calls:
        if call.old_id is not None and rules.id_form.match(call.old_id) and call.old_id not in used:
            call.new_id = call.old_id
            used.add(call.old_id)
    for call in calls:
        if call.new_id:
            continue
        attempt = 0
        while (made := _made(call, rules.id_prefix, attempt)) in used:
            attempt += 1
        call.new_id = made
        used.add(made)
        notes.report.append(
            {"kind": "rekeyed", "index": call.index, "name": call.name, "from_id": call.old_id, "to_id": made}
        )


def _made(call: Call, prefix: str, attempt: int) -> str:
    """Return an id from where the call stands and its old id; ``attempt`` tells equal ones of a message apart."""
    old = "-" if call.old_id is None else "=" + call.old_id
    digest = hashlib.sha256(f"{call.index}:{attempt}:{old}".encode("utf-8", "surrogatepass")).digest()
    return prefix + base64.b32encode(digest[:_BYTES]).decode("ascii").lower()


def legal_name(name: str, rules: TargetRules) -> str:
    """Return a tool's name as the target takes it; two names never become one."""
    if rules.name_form.match(name):
        return name
    mark = "_" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    plain = _FOREIGN.sub("_", name)
    return ("t_" if not plain[:1].isalpha() else "") + plain[: _NAME_LENGTH - len(mark) - 2] + mark
