"""Code is coloured line by line."""

from __future__ import annotations

from turnleaf.viewmodels.markdown.highlight import CodeSpan, Lines, highlight


def lines_of(language: str, text: str) -> Lines:
    return [line for lines in highlight(language, text) for line in lines]


def test_every_line_has_its_spans() -> None:
    lines = lines_of("python", 'def f():\n    """two\n    lines"""\n    return 1  # why')
    assert len(lines) == 4
    assert CodeSpan(0, 3, "keyword") in lines[0]
    assert lines[1][0].token == lines[2][0].token == "string"
    assert [span.token for span in lines[3]][-1] == "comment"


def test_long_code_comes_in_pieces() -> None:
    pieces = list(highlight("python", "x = 1\n" * 500))
    assert len(pieces) > 20
    assert sum(map(len, pieces)) == 501


def test_unknown_language_yields_nothing() -> None:
    assert lines_of("klingon", "x") == []
    assert lines_of("", "x") == []
