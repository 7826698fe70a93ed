"""Colours of code, as spans of named tokens per line; Pygments is imported when the first code block is shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

CodeToken = Literal["keyword", "string", "comment", "number", "function", "type", "operator", "error"]

LONGEST_CODE = 200_000
"""Characters beyond which code stays uncoloured."""


class CodeSpan(NamedTuple):
    """Characters ``start`` to ``start + length`` of a line."""

    start: int
    length: int
    token: CodeToken


Lines = list[tuple[CodeSpan, ...]]


def highlight(language: str, text: str) -> Iterator[Lines]:
    """Yield the spans of the lines read since the last time, some lines at once, so that the work can be sliced.

    An unknown language yields nothing.
    """
    lexer = _lexer(language) if language and len(text) <= LONGEST_CODE else None
    if lexer is None:
        return
    finished: Lines = []
    line: list[CodeSpan] = []
    column = 0
    for kind, value in _tokens(lexer, text):
        token = _token_of(kind)
        for index, piece in enumerate(value.split("\n")):
            if index:
                finished.append(tuple(line))
                line, column = [], 0
            if token and piece.strip():
                line.append(CodeSpan(column, len(piece), token))
            column += len(piece)
        if len(finished) >= 8:
            yield finished
            finished = []
    yield [*finished, tuple(line)]


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[_TokenType, str]]:
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        yield kind, value


@cache
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _table() -> list[tuple[_TokenType, CodeToken]]:
    from pygments import token as t

    return [
        (t.Comment, "comment"),
        (t.String, "string"),
        (t.Number, "number"),
        (t.Operator.Word, "keyword"),
        (t.Keyword.Type, "type"),
        (t.Keyword, "keyword"),
        (t.Name.Function, "function"),
        (t.Name.Decorator, "function"),
        (t.Name.Class, "type"),
        (t.Name.Builtin, "type"),
        (t.Name.Exception, "type"),
        (t.Name.Namespace, "type"),
        (t.Name.Tag, "keyword"),
        (t.Name.Attribute, "number"),
        (t.Operator, "operator"),
        (t.Generic.Deleted, "error"),
        (t.Generic.Inserted, "string"),
        (t.Generic.Heading, "function"),
    ]


@cache
def _token_of(kind: _TokenType) -> CodeToken | None:
    for parent, name in _table():
        # A token type is a tuple of names; the kinds below it begin with the same ones.
        if tuple(kind[: len(parent)]) == tuple(parent):
            return name
    return None
