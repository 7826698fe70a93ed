"""What the four wires ask of a converted history, as data (wire rules of the vendors, "W-…")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_WEB_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class TargetRules:
    """One dialect's rules for what a converter writes.

    How results are grouped, and that Gemini's are objects, is the lens's knowledge (``result_messages``). ``id_form``
    and ``name_form`` match whole ids and names; ``image_types`` is ``None`` where no type is known to be refused;
    ``document_types`` are beginnings of media types; ``longest_image`` counts base64 characters; ``url_kinds`` are the
    kinds of media that may stand as a web address; ``source_name`` is what a history is from where no provider is told.
    """

    id_prefix: str
    id_form: re.Pattern[str]
    name_form: re.Pattern[str]
    image_types: frozenset[str] | None
    document_types: tuple[str, ...]
    url_kinds: frozenset[str]
    source_name: str
    longest_image: int | None = None
    takes_blank_text: bool = True
    takes_system: bool = True
    takes_media_in_answers: bool = False
    takes_youtube: bool = False
    begins_with_user: bool = False

    def takes_type(self, kind: str, mime_type: str, length: int) -> bool:
        """Whether the dialect has a place for media of this kind and type, ``length`` characters of base64 long."""
        if kind == "image":
            is_known = self.image_types is None or mime_type in self.image_types
            return is_known and (self.longest_image is None or length <= self.longest_image)
        return kind != "document" or mime_type.startswith(self.document_types)


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")

RULES: Mapping[str, TargetRules] = {
    "anthropic": TargetRules(
        id_prefix="toolu_",
        id_form=re.compile(r"toolu_[a-zA-Z0-9_-]{1,58}\Z"),  # W-A11
        name_form=_NAME,  # W-A12; 64 is safe everywhere (W-C3)
        image_types=_WEB_IMAGES,  # W-A38
        document_types=("application/pdf", "text/"),  # W-A42
        url_kinds=frozenset({"image", "document"}),
        source_name="anthropic",
        longest_image=10 * 1024 * 1024,  # W-A38
        takes_blank_text=False,  # W-A17, W-C5
        takes_system=False,  # W-A22
    ),
    "openai": TargetRules(
        id_prefix="call_",
        id_form=re.compile(r"call_[a-zA-Z0-9_-]{1,59}\Z"),  # W-O14
        name_form=_NAME,  # W-O25
        image_types=_WEB_IMAGES,  # W-O21
        document_types=("application/", "text/"),  # W-O19
        url_kinds=frozenset({"image", "document"}),
        source_name="openai",
    ),
    "google": TargetRules(
        id_prefix="call_",
        id_form=re.compile(r"call_[a-zA-Z0-9_-]{1,59}\Z"),
        name_form=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z"),  # W-G12
        image_types=None,
        document_types=("application/pdf", "application/json", "application/rtf", "text/"),  # W-G26
        url_kinds=frozenset({"image", "document", "audio", "video"}),
        source_name="google",
        takes_media_in_answers=True,
        takes_youtube=True,
        begins_with_user=True,  # W-G1
    ),
    "chat": TargetRules(
        id_prefix="call_",
        id_form=re.compile(r"call_[a-zA-Z0-9_-]{1,35}\Z"),  # W-O15
        name_form=_NAME,
        image_types=None,
        document_types=("application/pdf",),
        url_kinds=frozenset({"image", "video"}),
        source_name="fireworks",
    ),
}
