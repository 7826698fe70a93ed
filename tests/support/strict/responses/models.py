"""What the OpenAI models take, read from their ids."""

from __future__ import annotations

import re

# The ids of the published models (openai 3.57.0 `chat_model.py`, `responses_model.py`): a base and known suffixes.
_SUFFIX = (
    r"mini|nano|pro|turbo|preview|search|audio|realtime|transcribe|tts|codex|chat|latest|max|instruct|"
    r"astra|sol|terra|luna|cyber|law|deep|research|\d{4}-\d{2}-\d{2}|\d{4}|16k|vision|image"
)
_KNOWN = re.compile(rf"(gpt-\d+(\.\d+)?o?|chatgpt-4o|o\d|gpt-audio|gpt-daybreak|computer-use|codex)(-({_SUFFIX}))*\Z")
_REASONING = re.compile(r"(o\d|gpt-([5-9]|\d\d)(?![-.\d]*-?chat))")
_PHASES = re.compile(r"gpt-(5\.[3-9]|[6-9])")
_FAMILY = re.compile(r"(gpt-\d+|o\d)")


def is_known(model: str) -> bool:
    """Whether OpenAI serves a model of this name, as far as its shape tells. Snapshots of gpt-3.5 are gone."""
    return bool(_KNOWN.match(model)) and not model.startswith("gpt-3.5-turbo-0")


def reasons(model: str) -> bool:
    """Whether the model reasons, and so refuses sampling parameters (W-O26)."""
    return bool(_REASONING.match(model)) and "-chat" not in model


def has_phases(model: str) -> bool:
    """Whether the model's messages carry a `phase` (recorded on gpt-5.4)."""
    return bool(_PHASES.match(model))


def family(model: str) -> str:
    """The family within which encrypted reasoning can be read (W-O3)."""
    match = _FAMILY.match(model)
    return match[0] if match else model
