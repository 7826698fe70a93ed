"""The Google wire (generateContent, streamGenerateContent, Files): its rules (`check`), its answers, its errors."""

from __future__ import annotations

from collections.abc import Mapping

from support.strict.google import calls, media, parts, signatures, tools
from support.strict.google.media import KnownFile
from support.strict.rule import Found, Violation, WireRequest, as_list
from support.strict.signer import Signer, digest

__all__ = ["KnownFile", "check"]


def check(
    request: WireRequest, signer: Signer | None = None, files: Mapping[str, KnownFile] | None = None
) -> list[Violation]:
    """Return every rule that a generateContent request breaks, most basic first.

    `signer` checks the thought signatures that the server minted, `files` the uploads by name; without them only the
    request itself is read.
    """
    return list(_check(request, signer, files))


def _check(request: WireRequest, signer: Signer | None, files: Mapping[str, KnownFile] | None) -> Found:
    body = request.body
    if not isinstance(body, dict):
        yield Violation("W-G21", "", "Invalid JSON payload received. Unexpected token.")
        return
    contents = as_list(body.get("contents"))
    turns = parts.turns_of(contents)
    yield from tools.check_model(request.model)
    yield from parts.check_top(body)
    yield from parts.check_contents(contents)
    yield from parts.check_system(body.get("systemInstruction") or body.get("system_instruction"))
    yield from tools.check_tools(body, request.model)
    yield from calls.check_names(turns)
    yield from calls.check_turns(turns)
    yield from signatures.check_present(turns, request.model)
    yield from signatures.check_authentic(turns, signer)
    yield from media.check_media(request, contents, files, digest(request.key))
