"""The Anthropic Messages wire: its rules (`check`), its answers, its errors. Nothing of the SDK is used."""

from __future__ import annotations

import re
from collections.abc import Collection

from support.strict.anthropic import content, fields, media, parameters, thinking, turns
from support.strict.anthropic.models import traits
from support.strict.rule import Found, Violation, WireRequest, as_list
from support.strict.signer import Signer, digest

_MODEL = re.compile(r"claude-(\d|opus|sonnet|haiku|fable|mythos|instant)")


def check(
    request: WireRequest, signer: Signer | None = None, released: Collection[str] = frozenset()
) -> list[Violation]:
    """Return every rule that a Messages request breaks, most basic first; signatures are checked against `signer`.

    `released` names the responses whose thinking the server has refused as bound elsewhere (W-A29): it told the client
    to remove those blocks, so they may be missing even in an open round.
    """
    return list(_check(request, signer, released))


def _check(request: WireRequest, signer: Signer | None, released: Collection[str]) -> Found:
    body = request.body
    if not isinstance(body, dict):
        yield Violation("W-A13", "", "Input should be a valid dictionary or object to extract fields from")
        return
    yield from _check_headers(request)
    yield from media.check_size(request)
    if not _MODEL.match(request.model):
        yield Violation("W-A45", "model", f"model: {request.model}", status=404)
    row, messages = traits(request.model), as_list(body.get("messages"))
    if len(messages) > content.MOST_MESSAGES:
        yield Violation("W-A14", "messages", f"messages: at most {content.MOST_MESSAGES} messages are allowed")
        return
    joined = turns.turns_of(messages)
    yield from fields.check_top(request)
    yield from fields.check_messages(messages)
    yield from content.check_roles(messages, joined, row)
    yield from parameters.check_parameters(body, row)
    yield from content.check_names(joined)
    yield from content.check_empty(messages, joined)
    yield from content.check_system(body.get("system"))
    yield from turns.check_pairing(joined)
    yield from thinking.check_shape(body, joined, row)
    if signer is not None:
        yield from thinking.inspect(body, joined, row, signer, digest(request.key)).violations
        yield from thinking.check_complete(body, joined, signer, released)
    yield from content.check_cache_marks(body)
    yield from content.check_container(body, joined)
    yield from media.check_media(messages, row)


def _check_headers(request: WireRequest) -> Found:
    if request.headers is not None and "anthropic-version" not in request.headers:
        yield Violation("W-A45", "headers", "anthropic-version: header is required")
