"""Inline Markdown (emphasis, code, links) as one text with spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from turnleaf.viewmodels.markdown.items import LINE_BREAK, THIN_SPACE, Span, Style, Text
from turnleaf.viewmodels.markdown.links import bare_addresses, safe_address

if TYPE_CHECKING:
    from markdown_it.token import Token

_OPENERS = {"strong_open": Style.BOLD, "em_open": Style.ITALIC, "s_open": Style.STRIKE}
_CLOSERS = {"strong_close": Style.BOLD, "em_close": Style.ITALIC, "s_close": Style.STRIKE}


def inline_text(tokens: Sequence[Token] | None) -> Text:
    """Return the text of `tokens`. Nothing is loaded: an image stands as its description."""
    writer = _Writer()
    for token in tokens or ():
        writer.add(token)
    return writer.finish()


class _Writer:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self._depth: dict[Style, int] = {}
        self._links: list[str] = []

    def add(self, token: Token) -> None:
        kind = token.type
        if kind == "text":
            self._put(token.content)
        elif kind in ("softbreak", "hardbreak"):
            # Models end a line where they mean one; CommonMark leaves what a soft break looks like to the renderer.
            self._put(LINE_BREAK)
        elif kind == "code_inline":
            self._put(THIN_SPACE + token.content + THIN_SPACE, Style.CODE)
        elif kind in _OPENERS:
            self._depth[_OPENERS[kind]] = self._depth.get(_OPENERS[kind], 0) + 1
        elif kind in _CLOSERS:
            self._depth[_CLOSERS[kind]] -= 1
        elif kind == "link_open":
            self._links.append(safe_address(str(token.attrGet("href") or "")))
        elif kind == "link_close":
            self._links.pop()
        elif kind == "image":
            self._put(f"[{token.content or token.attrGet('src')}]", Style.MUTED)
        elif not is_checkbox(token):
            self._put(token.content)

    def finish(self) -> Text:
        text = "".join(self._pieces)
        spans = [*self._spans, *self._bare_links(text)]
        return Text(text, tuple(sorted(spans, key=lambda span: (span.start, span.end))))

    def _put(self, text: str, extra: Style = Style.PLAIN) -> None:
        if not text:
            return
        style = extra
        for flag, depth in self._depth.items():
            if depth > 0:
                style |= flag
        href = self._links[-1] if self._links else ""
        start, end = self._length, self._length + len(text)
        if style or href:
            last = self._spans[-1] if self._spans else None
            if last and last.end == start and last.style == style and last.href == href and not style & Style.CODE:
                self._spans[-1] = Span(last.start, end, style, href)
            else:
                self._spans.append(Span(start, end, style, href))
        self._pieces.append(text)
        self._length = end

    def _bare_links(self, text: str) -> list[Span]:
        taken = [span for span in self._spans if span.href or span.style & Style.CODE]
        return [
            Span(start, end, Style.PLAIN, text[start:end])
            for start, end in bare_addresses(text)
            if not any(span.start < end and start < span.end for span in taken)
        ]


def is_checkbox(token: Token) -> bool:
    """Return whether `token` is the box that the task-list plugin puts before an item's text."""
    return token.type == "html_inline" and "task-list-item-checkbox" in token.content
