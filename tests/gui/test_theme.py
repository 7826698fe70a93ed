"""The palettes: complete, readable, and alike in what they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from turnleaf.services.resources import resource
from turnleaf.ui.style import style_sheet
from turnleaf.ui.theme import Theme, ThemeName, colour_tokens, contrast_ratio

THEMES: tuple[ThemeName, ...] = ("light", "dark", "contrast")
TEXT_ON = [
    ("text", "page"),
    ("text", "side"),
    ("text", "raised"),
    ("text", "bubble"),
    ("text", "card"),
    ("text", "card_head"),
    ("text", "hover"),
    ("text", "pressed"),
    ("text", "selection"),
    ("text", "code_inline"),
    ("text", "danger_soft"),
    ("text", "warning_soft"),
    ("text", "accent_soft"),
    ("muted", "page"),
    ("muted", "side"),
    ("muted", "card"),
    ("muted", "card_head"),
    ("muted", "pressed"),
    ("muted", "accent_soft"),
    ("link", "page"),
    ("accent", "page"),
    ("accent", "side"),
    ("on_accent", "accent"),
    ("danger", "page"),
    ("danger", "side"),
    ("danger", "danger_soft"),
    ("warning", "card"),
    ("warning", "warning_soft"),
]


@pytest.mark.parametrize("name", THEMES)
def test_text_is_readable_on_every_ground_it_stands_on(name: ThemeName) -> None:
    """WCAG AA: 4.5 for text."""
    theme = Theme(name)
    poor = {
        (text, ground): round(contrast_ratio(theme.colour(text), theme.colour(ground)), 2)
        for text, ground in TEXT_ON
        if contrast_ratio(theme.colour(text), theme.colour(ground)) < 4.5
    }
    assert poor == {}


@pytest.mark.parametrize("name", THEMES)
def test_code_is_readable_on_its_card(name: ThemeName) -> None:
    theme = Theme(name)
    for token in ("keyword", "string", "comment", "number", "function", "type", "operator", "error"):
        assert contrast_ratio(theme.code_colour(token), theme.colour("card")) >= 4.5, token


@pytest.mark.parametrize("name", THEMES)
def test_every_palette_has_every_token(name: ThemeName) -> None:
    theme = Theme(name)
    assert all(theme.colour(token).isValid() for token in colour_tokens())


def test_style_sheet_uses_tokens_only(qapp: QApplication) -> None:
    source = resource("style.qss").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", re.sub(r"#\w+(?=[\s,:\[{>])", "", source))
    for name in THEMES:
        assert "$" not in style_sheet(Theme(name))


def test_zoom_scales_text_and_spaces_alike() -> None:
    small, large = Theme(), Theme(zoom=2.0)
    assert large.px(10) == 2 * small.px(10)
    assert large.text_font().pixelSize() == 2 * small.text_font().pixelSize()
    assert large.code_font().pixelSize() >= 2 * small.code_font().pixelSize() - 1


def test_every_icon_is_drawn_in_the_colour_of_the_text(qapp: QApplication) -> None:
    names = sorted(path.stem for path in Path(resource("icons")).glob("*.svg"))
    assert len(names) > 15
    for name in names:
        assert "currentColor" in resource(f"icons/{name}.svg").read_text()
