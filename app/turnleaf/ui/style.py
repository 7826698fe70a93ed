"""The style sheet (``resources/style.qss``) and the palette: every stock widget in the theme's colours."""

from __future__ import annotations

from string import Template

from PySide6.QtGui import QPalette

from turnleaf.services.resources import resource
from turnleaf.ui.theme import TEXT_FAMILIES, Theme, colour_tokens

_SIZES = (12, 13, 14, 16, 18, 26, 35, 90, 220)


def style_sheet(theme: Theme) -> str:
    """Return the style sheet of the whole app in `theme`."""
    values = {token: theme.hex(token) for token in colour_tokens()}
    values |= {f"px{size}": str(theme.px(size)) for size in _SIZES}
    family = ", ".join(f'"{name}"' for name in TEXT_FAMILIES[:-1]) + ", sans-serif"
    sheet = Template(resource("style.qss").read_text(encoding="utf-8"))
    return sheet.substitute(values, body=str(round(theme.body_px)), family=family)


def palette(theme: Theme) -> QPalette:
    """Return the palette for what a style sheet does not reach: selections, placeholders, dialogs of the system."""
    made = QPalette()
    roles = QPalette.ColorRole
    for role, token in (
        (roles.Window, "page"),
        (roles.WindowText, "text"),
        (roles.Base, "page"),
        (roles.AlternateBase, "card"),
        (roles.Text, "text"),
        (roles.PlaceholderText, "muted"),
        (roles.Button, "raised"),
        (roles.ButtonText, "text"),
        (roles.BrightText, "danger"),
        (roles.Highlight, "selection"),
        (roles.HighlightedText, "text"),
        (roles.ToolTipBase, "raised"),
        (roles.ToolTipText, "text"),
        (roles.Link, "link"),
        (roles.Light, "hover"),
        (roles.Midlight, "line"),
        (roles.Mid, "line"),
        (roles.Dark, "line_strong"),
        (roles.Shadow, "line_strong"),
    ):
        made.setColor(role, theme.colour(token))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, theme.colour("muted"))
    return made
