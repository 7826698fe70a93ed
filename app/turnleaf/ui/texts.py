"""The words of the app that depend on numbers or on what happened; all of them translatable."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLocale

from turnleaf.services.rows import AttachmentInfo, DividerRow, InterruptedRow, MetaRow, StatusRow


def tr(text: str) -> str:
    """Return `text` in the user's language."""
    return QCoreApplication.translate("turnleaf", text)


def printable(text: str) -> str:
    """Return `text` with a mark in the place of each character that cannot be seen or turns the others around."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def number_text(value: int) -> str:
    """Return a count with its thousands apart: ``4,000``."""
    return f"{value:,}"


def short_count(value: int) -> str:
    """Return a count in at most four characters: ``640``, ``2.1k``, ``41k``, ``1.2M``."""
    if value < 1000:
        return str(value)
    for limit, unit, letter in ((999_500, 1000, "k"), (999_500_000, 1_000_000, "M")):
        if value < limit:
            scaled = value / unit
            return f"{scaled:.1f}{letter}".replace(".0", "") if scaled < 9.95 else f"{scaled:.0f}{letter}"
    return f"{value / 1_000_000_000:.1f}G"


def money_text(dollars: float) -> str:
    """Return an amount of US dollars with the digits that matter: ``$0.004``, ``$0.31``, ``$12.00``."""
    if dollars == 0:
        return "$0"
    if dollars < 0.0005:
        return "<$0.001"
    return f"${dollars:.3f}" if dollars < 0.1 else f"${dollars:.2f}"


def size_text(size: int) -> str:
    """Return a size in bytes for people."""
    return QLocale().formattedDataSize(size, 1, QLocale.DataSizeFormat.DataSizeTraditionalFormat)


def duration_text(seconds: float) -> str:
    """Return a length of time: ``0.8 s``, ``6 s``, ``2 min 5 s``."""
    if seconds < 0.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def divider_text(row: DividerRow) -> str:
    """Return what a screen reader says of a divider."""
    text = tr("Turn {number}").format(number=row.turn)
    return f"{text}, {tr('now answered by')} {row.model_change}" if row.model_change else text


def meta_text(row: MetaRow) -> str:
    """Return the quiet line under an answer: ``Local demo model · 2.1k → 640 · 6 s``."""
    parts = [row.model] if row.model else []
    if row.input_tokens or row.output_tokens:
        parts.append(f"{short_count(row.input_tokens)} → {short_count(row.output_tokens)}")
    if row.cost_known and row.cost > 0:
        parts.append(money_text(row.cost))
    if row.seconds is not None:
        parts.append(duration_text(row.seconds))
    return " · ".join(parts)


def status_text(row: StatusRow, seconds: float | None, *, with_files: bool = False) -> str:
    """Return the one line that says what is going on.

    `seconds` is how long that has been so, if it should be said; `with_files` that the question came with files.
    """
    total = row.total
    match row.phase:
        case "waiting" if row.done > 0 or total > 0:
            ahead = number_text(row.done or total)
            return tr("Waiting for the model ({count} ahead)…").format(count=ahead)
        case "waiting":
            return _lasting(tr("Waiting for the model"), seconds)
        case "assembling_weights":
            return _share(tr("Preparing the local model for the first time…"), row)
        case "starting_model" if row.total > 0:
            return _share(tr("Starting the local model…"), row)
        case "starting_model":
            return _lasting(tr("Starting the local model"), seconds)
        case "reading_prompt" | "reading_document":
            return _counted(tr("Reading the document…") if with_files else tr("Reading…"), row)
        case "thinking":
            return _lasting(tr("Thinking"), seconds)
        case "retrying" | "retry":
            return tr("Trying again…") + (f" {row.detail}" if row.detail else "")
        case "tool":
            return tr("Using {tool}…").format(tool=row.detail)
        case _:
            return _lasting(tr("Waiting for the answer"), seconds)


def _lasting(words: str, seconds: float | None) -> str:
    return f"{words}… {duration_text(int(seconds))}" if seconds is not None and seconds >= 2 else f"{words}…"


def _share(words: str, row: StatusRow) -> str:
    return f"{words} {min(100, 100 * row.done // row.total)} %" if row.total > 0 else words


def _counted(words: str, row: StatusRow) -> str:
    if row.total <= 0:
        return words
    unit = {"tokens": tr("tokens"), "pages": tr("pages"), "bytes": tr("bytes")}.get(row.unit, row.unit)
    return f"{words} {number_text(row.done)} / {number_text(row.total)} {unit}".rstrip()


def attachment_summary(info: AttachmentInfo) -> str:
    """Return one line on how a file reaches a text model: ``12 pages · 8,412 characters · ≈ 2.1k tokens · as text``."""
    parts = []
    if info.pages is not None:
        parts.append(tr("1 page") if info.pages == 1 else tr("{n} pages").format(n=number_text(info.pages)))
    if info.characters is not None:
        parts.append(tr("{n} characters").format(n=number_text(info.characters)))
        if info.estimated_tokens is not None:
            parts.append(tr("≈ {n} tokens").format(n=short_count(info.estimated_tokens)))
        parts.append(tr("as text"))
    else:
        parts.append(size_text(info.size))
        parts.append(tr("cannot be sent to this model"))
    return " · ".join(parts)


def attachment_details(info: AttachmentInfo) -> str:
    """Return everything that is known of a file, a line each: what will not be seen comes last."""
    lines = [info.name, f"{size_text(info.size)} · {info.mime_type}", attachment_summary(info)]
    if info.pages_without_text:
        lines.append(pages_without_text(info.pages_without_text))
    return "\n".join([*lines, *info.notes])


def pages_without_text(pages: tuple[int, ...]) -> str:
    """Return which pages the model will not see."""
    if len(pages) == 1:
        return tr("page {n} has no text").format(n=pages[0])
    named = ", ".join(str(page) for page in pages[:8]) + ("…" if len(pages) > 8 else "")
    return tr("{n} pages have no text: {pages}").format(n=len(pages), pages=named)


def interrupted_title(row: InterruptedRow) -> str:
    """Return the heading of an interrupted turn's card."""
    match row.cause:
        case "stopped":
            return tr("Stopped")
        case "failed":
            return tr("No answer")
        case "closed":
            return tr("Interrupted when Turnleaf was closed")
        case "killed":
            return tr("Interrupted when Turnleaf ended without warning")


def one_line(text: str) -> str:
    """Return `text` on one line, with a mark where it holds a character that cannot be seen."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def not_part_text(row: InterruptedRow) -> str:
    """Return what an interrupted turn is to the conversation: nothing yet."""
    if row.attachments:
        return tr("The question and its files are not part of the conversation until they are sent again.")
    return tr("The question is not part of the conversation until it is sent again.")


def plain_tool_tip(text: str) -> str:
    """Return a tool tip that Qt will not take for rich text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "<p style='white-space:pre-wrap'>" + escaped.replace("\n", "<br>") + "</p>"
