"""Markdown that streams gives the same items as Markdown that is read whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from turnleaf.viewmodels.markdown.incremental import IncrementalMarkdown, parse_markdown
from turnleaf.viewmodels.markdown.items import CodeBlock, Item, Paragraph, Rule, Table, item_text

SAMPLE = """# Title

A first paragraph with **bold**, *italic*, `code`, ~~gone~~ and [a link](https://example.com/a).
Second line of it.

1. one
2. two
   - nested
     - deeper

   second paragraph of two
3. three

> quoted
> > twice

```python
def f():
    return "```"
```

| A | B |
|:--|--:|
| 1 | 2 |
| 3 | 4 |

- [x] done
- [ ] open

* * *

Setext
------

See [late][1] and <b>html</b>.

    indented code

    goes on

[1]: https://example.com/late
"""


def streamed(source: str, seed: int) -> list[Item]:
    chance = random.Random(seed)
    markdown, at = IncrementalMarkdown(), 0
    while at < len(source):
        size = chance.choice([1, 1, 2, 3, 5, 8, 40])
        markdown.feed(source[at : at + size])
        before = markdown.items[: markdown.closed]
        changed = markdown.update()
        assert changed is not None
        assert markdown.items[: len(before)] == before
        at += size
    markdown.update(final=True)
    return markdown.items


@pytest.mark.parametrize("seed", range(12))
def test_streamed_text_ends_as_the_same_items_as_the_whole_text(seed: int) -> None:
    """G08."""
    assert streamed(SAMPLE, seed) == parse_markdown(SAMPLE)


def test_every_kind_of_block_is_read() -> None:
    items = parse_markdown(SAMPLE)
    kinds = {type(item) for item in items}
    assert kinds == {Paragraph, CodeBlock, Table, Rule}
    texts = [item_text(item) for item in items]
    assert "See late and <b>html</b>." in texts
    assert "☑ done" in texts
    assert "☐ open" in texts
    late = next(item for item in items if isinstance(item, Paragraph) and item.content.text.startswith("See late"))
    assert late.content.spans[0].href == "https://example.com/late"
    nested = [item for item in items if isinstance(item, Paragraph) and item.content.text == "deeper"]
    assert nested[0].indent == 3
    assert [item.quote for item in items if isinstance(item, Paragraph) and item.quote] == [1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_long_numbered_list_keeps_its_numbers_when_it_is_cut(seed: int) -> None:
    source = "".join(f"1. item number {n} with some words after it\n" for n in range(1, 200))
    for items in (parse_markdown(source), streamed(source, seed)):
        assert [item.marker for item in items if isinstance(item, Paragraph)] == [f"{n}." for n in range(1, 200)]


@pytest.mark.parametrize("seed", range(4))
def test_long_table_keeps_every_row_when_it_is_cut(seed: int) -> None:
    source = "| n | square |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(300)) + "\nafter\n"
    for items in (parse_markdown(source), streamed(source, seed)):
        tables = [item for item in items if isinstance(item, Table)]
        rows = [row for table in tables for row in table.rows]
        assert [row[1].text for row in rows] == [str(n * n) for n in range(300)]
        assert [table.continued for table in tables] == [False] + [True] * (len(tables) - 1)
        assert all(len(table.rows) <= 60 for table in tables[:-1])
        assert item_text(items[-1]) == "after"


def test_endless_paragraph_is_cut_and_keeps_every_character() -> None:
    source = "word " * 40_000
    markdown = IncrementalMarkdown()
    for at in range(0, len(source), 500):
        markdown.feed(source[at : at + 500])
        markdown.update()
    markdown.update(final=True)
    assert " ".join(item_text(item) for item in markdown.items).split() == source.split()
    assert max(len(item_text(item)) for item in markdown.items) <= 3_100


def test_text_without_any_space_is_cut_too() -> None:
    source = "x" * 50_000
    assert "".join(item_text(item) for item in parse_markdown(source)) == source


def test_open_code_grows_line_by_line_and_hides_half_a_fence() -> None:
    markdown = IncrementalMarkdown()
    markdown.feed("```python\nprint(1)\n``")
    markdown.update()
    assert markdown.items == [CodeBlock("python", "print(1)", open=True)]
    markdown.feed("`\nafter")
    markdown.update()
    assert markdown.items[0] == CodeBlock("python", "print(1)")
    assert item_text(markdown.items[1]) == "after"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("some **bo", "some bo"),
        ("see [the do", "see the do"),
        ("see [the doc](https://exa", "see the doc"),
        ("a `co", "a co"),
    ],
)
def test_half_written_markup_is_not_shown(source: str, shown: str) -> None:
    markdown = IncrementalMarkdown()
    markdown.feed(source)
    markdown.update()
    assert [item_text(item) for item in markdown.items] == [shown]


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "ftp://a/b", "//host/x"]
)
def test_only_web_and_mail_addresses_become_links(address: str) -> None:
    [item] = parse_markdown(f"[text](<{address}>)")
    assert isinstance(item, Paragraph)
    assert not any(span.href for span in item.content.spans)


def test_bare_address_becomes_a_link_without_the_full_stop() -> None:
    [item] = parse_markdown("See https://example.com/a_b_(c). Not `https://in.code`.")
    assert isinstance(item, Paragraph)
    assert [span.href for span in item.content.spans if span.href] == ["https://example.com/a_b_(c)"]


def test_image_is_only_its_description() -> None:
    [item] = parse_markdown("before ![tracker](https://evil.example/p.png) after")
    assert item_text(item) == "before [tracker] after"


def test_the_prototypes_sample_is_read_the_same_in_pieces() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    source = "```python\n" + text + "\n```\n\nafter **it**"
    assert streamed(source, 3) == parse_markdown(source)
