"""The code blocks of a document of plain text: found by what compiles, and run with top-level ``await``."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STARTS = re.compile(
    r"(from|import|async|await|class|def|with|for|if|except)\b|try:|else:"
    r"|[a-z_]\w*(, [a-z_]\w*)* = |[a-z_]\w*\.[\w.]+(\(|\s*#|$)|print\(|# "
)


@dataclass(frozen=True)
class Example:
    """A code block: its document's name, its number there from 1, and its text."""

    document: str
    number: int
    text: str

    @property
    def name(self) -> str:
        """The document's number and the block's, such as ``001-3``."""
        return f"{self.document[:3]}-{self.number}"

    async def run(self, names: dict[str, Any]) -> dict[str, Any]:
        """Run the block over these names, and return them.

        A list that is only an ellipsis becomes
        ``names["items"]``.
        """
        tree = _Filled().visit(ast.parse(self.text))
        code = compile(ast.fix_missing_locations(tree), self.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, names)
        if inspect.isawaitable(running):
            await running
        return names


class _Filled(ast.NodeTransformer):
    def visit_List(self, node: ast.List) -> ast.AST:
        is_open = len(node.elts) == 1 and isinstance(node.elts[0], ast.Constant) and node.elts[0].value is ...
        return ast.Name("items", ast.Load()) if is_open else node


def examples_of(path: Path) -> list[Example]:
    """Return the code blocks of a document, in order. Blocks end where prose begins."""
    blocks: list[str] = []
    is_open = False
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", path.read_text("utf-8")):
        lines = paragraph.split("\n")
        goes_on = is_open and (_STARTS.match(lines[0]) or lines[0].startswith("    "))
        found = _with(blocks[-1] + "\n\n", lines) if goes_on else None
        if found is not None:
            blocks[-1], rest = found
        else:
            start = next((at for at, line in enumerate(lines) if _STARTS.match(line) and _with("", lines[at:])), None)
            if start is None:
                is_open = False
                continue
            found = _with("", lines[start:])
            assert found is not None
            blocks.append(found[0])
            rest = found[1]
        is_open = not rest
    return [Example(path.name, number, text) for number, text in enumerate(blocks, start=1) if _does_something(text)]


def _with(before: str, lines: list[str]) -> tuple[str, int] | None:
    """Return what compiles of the lines, behind what came before, and how many lines are left over."""
    for count in range(len(lines), 0, -1):
        text = before + "\n".join(lines[:count])
        try:
            compile(text, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError:
            continue
        return text, len(lines) - count
    return None


def _does_something(text: str) -> bool:
    return bool(ast.parse(text).body)


def all_examples(folder: Path) -> Mapping[str, Example]:
    """Return the examples of every document in a folder, by name."""
    return {example.name: example for path in sorted(folder.glob("*.txt")) for example in examples_of(path)}
