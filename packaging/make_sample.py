"""Makes the sample document that comes with the app: ``python packaging/make_sample.py`` (needs reportlab).

The same bytes come out every time, so that a change of the file is a change of this text.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_LEFT
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

TARGET = Path(__file__).resolve().parents[1] / "resources" / "samples" / "lighthouse.pdf"
TITLE = "The Lighthouse at Skerry Point"
INK, SEA, SAND = HexColor("#1f2a37"), HexColor("#2f6f8f"), HexColor("#e9e2d0")

_BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10.5, leading=14.5, textColor=INK, spaceAfter=7)
_TITLE = ParagraphStyle("title", fontName="Times-Bold", fontSize=20, leading=24, textColor=INK, alignment=TA_LEFT)
_SUBTITLE = ParagraphStyle("subtitle", parent=_BODY, fontName="Times-Italic", textColor=SEA, spaceAfter=10)
_HEADING = ParagraphStyle("heading", fontName="Times-Bold", fontSize=12.5, leading=16, textColor=SEA, spaceBefore=4)

_FIRST_PAGE = (
    (_TITLE, TITLE),
    (_SUBTITLE, "A short guide for visitors"),
    (
        _BODY,
        "The lighthouse at Skerry Point was built in 1874 by the engineer Maria Lindqvist. It took her and forty "
        "workers three summers, because in winter the waves reached the door. The tower is 38 metres tall and made of "
        "grey granite that came by boat from the quarry at Holm.",
    ),
    (
        _BODY,
        "A stair of 196 steps leads to the lamp room. On a clear night the light can be seen from 21 nautical miles "
        "away. It flashes twice every ten seconds, and sailors call it the Winking Widow.",
    ),
    (_HEADING, "The keepers"),
    (
        _BODY,
        "Eleven keepers lived in the tower, one after the other. The first was Jonas Berg, who kept bees on the roof "
        "of the boathouse. The last was Maria Okoye. She wrote down the weather every evening for 27 years, and her "
        "notebooks are still used by scientists today.",
    ),
)
_SECOND_PAGE = (
    (
        _BODY,
        "Maria Okoye lived here with a ginger cat named Biscuit. When the light became automatic in 1983, she moved "
        "to the village, but Biscuit walked back to the tower every morning until the fishermen built him a small "
        "wooden house beside the door. The house can still be seen.",
    ),
    (_HEADING, "The great storm"),
    (
        _BODY,
        "In November 1921 a storm broke all the windows of the lamp room. For two nights the keeper, Elias Moen, "
        "turned the lens by hand so that the light would not stop. Nineteen ships passed the point safely. The "
        "village gave him a silver watch, which lies in the museum.",
    ),
    (_HEADING, "Your visit"),
    (
        _BODY,
        "The museum in the keeper’s house is open from Tuesday to Sunday, from 10 in the morning until 5 in the "
        "afternoon. It is closed in January. The café serves seed cake after the recipe of Jonas Berg. To reach the "
        "tower, take bus 14 from the harbour and walk the last 800 metres along the cliff path.",
    ),
    (_HEADING, "Tickets"),
)
_PRICES = (("Adults", "6 euros"), ("Children under 12", "free"), ("Climb to the lamp room", "2 euros more"))


class _Tower(Flowable):
    """A small drawing of the tower above the sea."""

    def __init__(self) -> None:
        super().__init__()
        self.width, self.height = 100 * mm, 40 * mm

    def draw(self) -> None:
        canvas = self.canv
        canvas.setFillColor(SAND)
        canvas.circle(70 * mm, 26 * mm, 9 * mm, stroke=0, fill=1)
        canvas.setFillColor(SEA)
        canvas.rect(0, 0, self.width, 6 * mm, stroke=0, fill=1)
        canvas.setFillColor(INK)
        tower = canvas.beginPath()
        for step, (x, y) in enumerate(((26, 6), (40, 6), (36, 30), (30, 30))):
            (tower.lineTo if step else tower.moveTo)(x * mm, y * mm)
        tower.close()
        canvas.drawPath(tower, stroke=0, fill=1)
        canvas.rect(29 * mm, 31 * mm, 8 * mm, 5 * mm, stroke=0, fill=1)


def make_sample(target: Path) -> None:
    """Write the sample document to ``target``."""
    document = SimpleDocTemplate(
        str(target),
        pagesize=A5,
        leftMargin=18 * mm,
        rightMargin=18 * mm,
        topMargin=16 * mm,
        bottomMargin=16 * mm,
        title=TITLE,
        author="Turnleaf",
        invariant=1,
    )
    prices = Table(
        _PRICES,
        colWidths=(60 * mm, 40 * mm),
        hAlign="LEFT",
        style=[("FONT", (0, 0), (-1, -1), "Times-Roman", 10.5), ("TEXTCOLOR", (0, 0), (-1, -1), INK)],
    )
    first = [Paragraph(text, style) for style, text in _FIRST_PAGE]
    second = [Paragraph(text, style) for style, text in _SECOND_PAGE]
    story = [_Tower(), Spacer(1, 4 * mm), *first, PageBreak(), *second, prices]
    document.build(story)


if __name__ == "__main__":
    make_sample(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
