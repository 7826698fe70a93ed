"""The chat-completions wire (OpenAI, Fireworks, compatible servers): its rules (`check`), its answers, its errors."""

from __future__ import annotations

from support.strict.chat import messages, pairing, parameters
from support.strict.chat.profiles import PROFILES, Profile
from support.strict.rule import Found, Violation, WireRequest, as_list, as_object
from support.strict.signer import Signer

__all__ = ["PROFILES", "Profile", "check"]


def check(request: WireRequest, signer: Signer | None = None) -> list[Violation]:
    """Return every rule that a request breaks at the server that `request.profile` names, most basic first."""
    return list(_check(request, PROFILES[request.profile], signer))


def _check(request: WireRequest, profile: Profile, signer: Signer | None) -> Found:
    body = request.body
    if not isinstance(body, dict):
        yield Violation("W-F2", "", "We could not parse the JSON body of your request.")
        return
    listed = as_list(body.get("messages"))
    yield from messages.check_top(body, profile)
    yield from parameters.check_model(request.model, profile)
    yield from parameters.check_parameters(body, request.model, profile)
    yield from messages.check_messages(listed, profile)
    yield from pairing.check_pairing(listed)
    thinks = as_object(body.get("thinking")).get("type") != "disabled" and "v4" in request.model
    yield from pairing.check_reasoning(listed, profile, signer, thinks=thinks)
    yield from parameters.check_tools(body, profile)
    yield from parameters.check_audio(listed, request.model, profile)
    yield from parameters.check_images(listed, profile)
