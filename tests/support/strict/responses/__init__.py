"""The OpenAI Responses wire: its rules (`check`), its answers, its errors. Nothing of the SDK is used."""

from __future__ import annotations

from support.strict.responses import fields, media, pairing, parameters
from support.strict.responses.pairing import Stored
from support.strict.rule import Found, Violation, WireRequest, as_text
from support.strict.signer import Signer, digest

__all__ = ["Stored", "check"]


def check(request: WireRequest, signer: Signer | None = None, stored: Stored | None = None) -> list[Violation]:
    """Return every rule that a Responses request breaks, most basic first.

    `signer` checks what the server minted, `stored` is what it keeps; without them only the request itself is read.
    """
    return list(_check(request, signer, stored))


def _check(request: WireRequest, signer: Signer | None, stored: Stored | None) -> Found:
    body = request.body
    if not isinstance(body, dict):
        yield Violation("W-O17", "", "We could not parse the JSON body of your request.")
        return
    items = fields.items_of(body)
    yield from fields.check_top(body)
    if request.profile in ("openai", ""):
        yield from parameters.check_model(request.model)
        yield from parameters.check_sampling(body, request.model)
    yield from parameters.check_tools(body)
    yield from parameters.check_format(body, items)
    yield from fields.check_items(items)
    yield from pairing.check_ids(items)
    yield from _check_previous(as_text(body.get("previous_response_id")), stored)
    yield from pairing.check_references(items, stored, store=body.get("store"))
    previous = stored.responses.get(as_text(body.get("previous_response_id")), []) if stored else []
    if not (body.get("previous_response_id") or body.get("conversation")) or previous:
        yield from pairing.check_calls(items, previous)
    yield from pairing.check_followers(items)
    if signer is not None:
        yield from pairing.check_minted(items, signer, request.model)
        yield from pairing.check_encrypted(items, signer, digest(request.key))
    yield from media.check_media(items)


def _check_previous(identifier: str, stored: Stored | None) -> Found:
    if identifier and stored is not None and identifier not in stored.responses:
        text = f"Previous response with id '{identifier}' not found."
        code = "previous_response_not_found"
        yield Violation("W-O7", "previous_response_id", text, code=code, param="previous_response_id")
