"""Which settings each request of a turn carries: a forced tool call is asked for once, or no turn would end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Values of tool_choice that leave the choice to the model. Any other, "required" or a tool's name, forces a call.
FREE_CHOICES = (None, "auto", "none")


def settings_for(sent: Mapping[str, Any], iteration: int) -> Mapping[str, Any]:
    """Return the settings of a turn's request number ``iteration``, from 1."""
    if iteration == 1 or sent.get("tool_choice") in FREE_CHOICES:
        return sent
    return {**sent, "tool_choice": "auto"}
