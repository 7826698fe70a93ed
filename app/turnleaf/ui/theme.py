"""The design's tokens: colours of the three palettes, text sizes, and the scale that zoom gives them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from PySide6.QtGui import QColor, QFont

ThemeName = Literal["light", "dark", "contrast"]

TEXT_FAMILIES = ["Inter", "Segoe UI Variable", "Segoe UI", "SF Pro Text", "Noto Sans", "Noto Sans CJK SC", "sans-serif"]
CODE_FAMILIES = ["JetBrains Mono", "Cascadia Mono", "SF Mono", "Menlo", "DejaVu Sans Mono", "monospace"]

COLUMN_PX = 720
LINE_HEIGHT = 1.55
PARAGRAPH_GAP = 0.75

_LIGHT = {
    "page": "#ffffff",
    "side": "#f7f7f4",
    "raised": "#ffffff",
    "text": "#1d1d1b",
    "muted": "#686863",
    "line": "#e4e4df",
    "line_strong": "#d0d0c9",
    "hover": "#edede8",
    "pressed": "#e8e8e3",
    "bubble": "#f1f1ed",
    "card": "#f8f8f6",
    "card_head": "#f1f1ee",
    "code_inline": "#eeeeea",
    "quote": "#d6d6cf",
    "accent": "#1c6e53",
    "accent_hover": "#175c45",
    "accent_soft": "#e3f0ea",
    "on_accent": "#ffffff",
    "link": "#175fc7",
    "selection": "#bfdcf7",
    "focus": "#2f8f6e",
    "danger": "#b3261e",
    "danger_soft": "#fcefee",
    "warning": "#8a5a00",
    "warning_soft": "#fdf4e0",
    "shadow": "#28000000",
}
_DARK = {
    "page": "#1d1d1c",
    "side": "#171716",
    "raised": "#252524",
    "text": "#ececea",
    "muted": "#a2a29c",
    "line": "#353533",
    "line_strong": "#484845",
    "hover": "#2b2b2a",
    "pressed": "#353533",
    "bubble": "#2b2b29",
    "card": "#232322",
    "card_head": "#2a2a29",
    "code_inline": "#31312f",
    "quote": "#4a4a46",
    "accent": "#6cc9a4",
    "accent_hover": "#86d8b6",
    "accent_soft": "#20352c",
    "on_accent": "#0d1f18",
    "link": "#82b6ff",
    "selection": "#33507a",
    "focus": "#6cc9a4",
    "danger": "#ff8f86",
    "danger_soft": "#2e2120",
    "warning": "#e8bd6b",
    "warning_soft": "#372d19",
    "shadow": "#80000000",
}
_CONTRAST = {
    "page": "#000000",
    "side": "#000000",
    "raised": "#000000",
    "text": "#ffffff",
    "muted": "#e6e6e6",
    "line": "#9a9a9a",
    "line_strong": "#ffffff",
    "hover": "#2f2f2f",
    "pressed": "#4a4a4a",
    "bubble": "#1c1c1c",
    "card": "#101010",
    "card_head": "#1f1f1f",
    "code_inline": "#2a2a2a",
    "quote": "#ffffff",
    "accent": "#5cf2b4",
    "accent_hover": "#a4ffdb",
    "accent_soft": "#00301f",
    "on_accent": "#000000",
    "link": "#8cc4ff",
    "selection": "#0050c8",
    "focus": "#ffe14d",
    "danger": "#ffa29b",
    "danger_soft": "#330000",
    "warning": "#ffd86b",
    "warning_soft": "#332600",
    "shadow": "#00000000",
}
_LIGHT_CODE = {
    "keyword": "#8a2aa0",
    "string": "#2b7030",
    "comment": "#6b6f76",
    "number": "#945700",
    "function": "#1f5ac4",
    "type": "#7d5b00",
    "operator": "#0b6a7d",
    "error": "#b3261e",
}
_DARK_CODE = {
    "keyword": "#d08be6",
    "string": "#9fcf84",
    "comment": "#969ba5",
    "number": "#dfa56c",
    "function": "#7dbcff",
    "type": "#e6c67f",
    "operator": "#6cc3d3",
    "error": "#ff8f86",
}

_PALETTES: Mapping[ThemeName, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "light": (_LIGHT, _LIGHT_CODE),
    "dark": (_DARK, _DARK_CODE),
    "contrast": (_CONTRAST, _DARK_CODE),
}


@dataclass(frozen=True)
class Theme:
    """One palette at one zoom. Widgets ask it for colours, pixels and fonts and know none of their own."""

    name: ThemeName = "light"
    zoom: float = 1.0
    compact: bool = False
    reduced_motion: bool = False
    _colours: dict[str, QColor] = field(default_factory=dict, compare=False, repr=False)

    def hex(self, token: str) -> str:
        """Return a colour token as the palette writes it; raises ``KeyError`` for a name that is none."""
        return _PALETTES[self.name][0][token]

    def colour(self, token: str) -> QColor:
        """Return a colour token."""
        colour = self._colours.get(token)
        if colour is None:
            colour = self._colours[token] = QColor(self.hex(token))
        return colour

    def code_colour(self, token: str) -> QColor:
        """Return the colour of a kind of code."""
        key = "code:" + token
        colour = self._colours.get(key)
        if colour is None:
            colour = self._colours[key] = QColor(_PALETTES[self.name][1][token])
        return colour

    def px(self, value: float) -> int:
        """Return `value` pixels at this zoom."""
        return round(value * self.zoom)

    @property
    def body_px(self) -> float:
        """The size of running text."""
        return (14 if self.compact else 16) * self.zoom

    def text_font(self, size: float | None = None, *, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        """Return the text face at `size` pixels before zoom; running text's size when it is left out."""
        return _font(TEXT_FAMILIES, self.body_px if size is None else size * self.zoom, weight)

    def code_font(self) -> QFont:
        """Return the code face at 13.5 pixels before zoom."""
        font = _font(CODE_FAMILIES, 13.5 * self.zoom * (14 / 16 if self.compact else 1), QFont.Weight.Normal)
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
        return font


def _font(families: list[str], pixels: float, weight: QFont.Weight) -> QFont:
    font = QFont(families)
    font.setPixelSize(max(1, round(pixels)))
    font.setWeight(weight)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return font


def colour_tokens() -> frozenset[str]:
    """Return the names of all colour tokens; every palette has exactly these."""
    return frozenset(_LIGHT)


def contrast_ratio(first: QColor, second: QColor) -> float:
    """Return the WCAG contrast ratio of two opaque colours, 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: QColor) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(value) for value in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
