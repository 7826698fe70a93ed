"""What each Claude model takes, read from its id: sampling, thinking, prefill, and whose thinking it reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from support.strict.rule import words

_NEW = re.compile(r"claude-(?P<family>opus|sonnet|haiku|fable|mythos)-(?P<major>\d+)(?:-(?P<minor>\d{1,2})(?!\d))?")
_OLD = re.compile(r"claude-(?P<major>\d+)(?:[-.](?P<minor>\d{1,2})(?!\d))?(?:-(?P<family>opus|sonnet|haiku))?")
_PRESERVED = words(
    "claude-fable-5-1 claude-fable-5-2 claude-mythos-5-1 claude-mythos-5-2 claude-opus-5-5 claude-sonnet-5-5 "
    "claude-haiku-5-5"
)
_DATE = re.compile(r"-(\d{8}|latest)$")


@dataclass(frozen=True)
class Traits:
    """One model's rules. Sources: W-A21, W-A22, W-A28, W-A29, W-A34, W-A40 and the model pages they name."""

    model: str
    family: str
    version: tuple[int, int]

    @property
    def always_thinks(self) -> bool:
        """Thinking cannot be switched off (Fable, Mythos)."""
        return self.family in ("fable", "mythos")

    @property
    def preserved(self) -> bool:
        """Thinking is bound to the conversation before it (W-A29)."""
        return self.model in _PRESERVED

    @property
    def takes_prefill(self) -> bool:
        """The last message may be the assistant's (W-A21)."""
        return self.version < (4, 6) and not self.always_thinks

    @property
    def takes_sampling(self) -> bool:
        """`temperature`, `top_p`, `top_k`: recorded as accepted up to 4.6, refused from 4.7 on."""
        return self.version < (4, 7) and not self.always_thinks

    @property
    def thinking_types(self) -> frozenset[str]:
        """The accepted `thinking.type` values: budgets up to 4.6, adaptive from 4.6 on (W-A28)."""
        kinds = set() if self.always_thinks else {"disabled"}
        if self.version < (4, 7) and not self.always_thinks:
            kinds.add("enabled")
        if self.version >= (4, 6) or self.always_thinks:
            kinds.add("adaptive")
        if self.version >= (5, 0):
            kinds.add("between_tools")
        return frozenset(kinds)

    @property
    def efforts(self) -> frozenset[str]:
        """The accepted `output_config.effort` values, empty where the model takes none."""
        if self.version < (4, 5) or (self.version == (4, 5) and self.family != "opus"):
            return frozenset()
        levels = ["low", "medium", "high"]
        levels += ["max"] if self.version >= (4, 6) else []
        levels += ["xhigh"] if self.version >= (4, 7) or self.always_thinks else []
        return frozenset(levels)

    @property
    def takes_forced_tools(self) -> bool:
        """`tool_choice` "any" and "tool" (W-A28)."""
        return not (self.always_thinks and self.version >= (5, 1))

    @property
    def takes_system_messages(self) -> bool:
        """`role: system` inside `messages` (W-A22)."""
        return self.version >= (4, 8)

    @property
    def many_pages(self) -> bool:
        """600 images and PDF pages a request instead of 100 (W-A40, W-A41)."""
        return self.version >= (4, 6)


def traits(model: str) -> Traits:
    """Return the traits of a model id, dated or not; an id that cannot be read counts as a current model."""
    bare = _DATE.sub("", model)
    if bare == "claude-mythos-preview":
        return Traits(bare, "mythos", (4, 7))
    match = _NEW.match(bare) or _OLD.match(bare)
    if match is None:
        return Traits(bare, "", (5, 0))
    return Traits(bare, match["family"] or "", (int(match["major"]), int(match["minor"] or 0)))


def reads(served: str, minted: str) -> bool:
    """Whether the served model reads thinking that the other one minted (W-A34)."""
    reader, writer = traits(served), traits(minted)
    if reader.model == writer.model:
        return True
    if reader.model == "claude-haiku-5-5":
        return False
    return writer.model == "claude-haiku-5-5" or reader.version >= writer.version or not writer.preserved
