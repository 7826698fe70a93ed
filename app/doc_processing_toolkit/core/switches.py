"""Every switch that the toolkit reads from the environment, once; each is read when it applies, not at import."""

from __future__ import annotations

import os

HISTORY_MODE = "DOC_TOOLKIT_SESSION_HISTORY_MODE"
GOOGLE_RETAIN_FINAL_TURN = "DPT_GOOGLE_RETAIN_FINAL_TURN"
ANTHROPIC_RETAIN_FINAL_TURN = "DPT_ANTHROPIC_RETAIN_FINAL_TURN"
OPENAI_RETAIN_ENCRYPTED_REASONING = "DPT_OPENAI_RETAIN_ENCRYPTED_REASONING"
INTERRUPTED_TURN = "DPT_SESSION_INTERRUPTED_TURN"
CROSS_PROVIDER_CONVERSION = "DPT_SESSION_CROSS_PROVIDER_CONVERSION"


def is_off(switch: str) -> bool:
    """Whether a switch that is on by default was set to ``off``."""
    return os.environ.get(switch, "").strip().lower() == "off"


def history_mode() -> str | None:
    """Return the history mode that the environment asks for, or ``None``."""
    return os.environ.get(HISTORY_MODE, "").strip() or None
