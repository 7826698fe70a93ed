"""A document as a model reads it: its text with page marks, and an honest account of what the text leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from types import NoneType
from typing import Any

from doc_processing_toolkit.documents import sentences
from doc_processing_toolkit.documents.cutting import cut_before
from doc_processing_toolkit.documents.tokens import estimate_tokens

# A note that begins so says which part of the document the text is; a later cut replaces it.
PART_NOTE = "Only "


@dataclass(frozen=True, slots=True)
class Section:
    """A named stretch of a document's text, characters ``[start:end]``; ``label`` is e.g. ``"page 3"``."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PageNote:
    """What is to be said about some pages: ``one`` follows "Page 3", ``many`` follows "Pages 3 and 7"."""

    pages: tuple[int, ...]
    one: str
    many: str

    def sentence(self) -> str:
        """Return the note as a plain sentence."""
        return f"{sentences.page_list(self.pages)} {self.one if len(self.pages) == 1 else self.many}"

    def up_to(self, page: int) -> PageNote:
        """Return the note about the pages up to ``page`` only."""
        return replace(self, pages=tuple(number for number in self.pages if number <= page))


@dataclass(frozen=True)
class DocumentText:
    """The text of one document. ``sha256`` (hex) and ``size`` (bytes) are of the whole source, whatever was read of it.

    A PDF's text has a line ``[page 3]`` before each page and a section for it; a text has neither. ``pages`` is how
    many the source has. ``pages_without_text`` are those among the pages read that gave no text, from 1.
    ``encoding_guessed`` is false where a byte order mark or UTF-8's own structure decides. ``notes`` are plain
    sentences about what the text does not hold; those of them that are about pages are in ``page_notes`` too.
    """

    name: str
    kind: str
    mime_type: str
    sha256: str
    size: int
    text: str
    sections: tuple[Section, ...] = ()
    pages: int | None = None
    pages_without_text: tuple[int, ...] = ()
    encoding: str | None = None
    encoding_guessed: bool = False
    notes: tuple[str, ...] = ()
    page_notes: tuple[PageNote, ...] = ()

    @property
    def characters(self) -> int:
        """The length of the text in characters, page marks included."""
        return len(self.text)

    @cached_property
    def estimated_tokens(self) -> int:
        """About how many tokens the text is; see :func:`estimate_tokens`. Computed once."""
        return estimate_tokens(self.text)

    def head(self, max_characters: int) -> DocumentText:
        """Return the beginning of the document in at most ``max_characters``; itself when all of it fits.

        The cut is after the last page that fits, or, where that would give away more than half of the room, after
        the last paragraph, line, sentence or word that fits. A note says which part it is, notes about pages that
        are not in it go, and the digest and size stay those of the whole source.
        """
        if self.characters <= max_characters:
            return self
        end = self._cut(max(0, max_characters))
        sections = tuple(replace(s, end=min(s.end, end)) for s in self.sections if s.start < end)
        last = len(sections) if self.sections else self.pages or 0
        page_notes = tuple(n for n in (note.up_to(last) for note in self.page_notes) if n.pages)
        return replace(
            self,
            text=self.text[:end],
            sections=sections,
            pages_without_text=tuple(page for page in self.pages_without_text if page <= last),
            notes=(self._part_note(end), *self._general_notes(), *(note.sentence() for note in page_notes)),
            page_notes=page_notes,
        )

    def with_page_notes_told(self) -> DocumentText:
        """Return the document with its page notes as sentences after its other notes."""
        told = tuple(note.sentence() for note in self.page_notes)
        return replace(self, notes=(*(note for note in self.notes if note not in told), *told))

    def _cut(self, room: int) -> int:
        whole = max((section.end for section in self.sections if section.end <= room), default=0)
        if whole and whole * 2 >= room:
            return whole
        return cut_before(self.text, room, max(whole, room // 2))

    def _part_note(self, end: int) -> str:
        if not end:
            return f"{PART_NOTE}its name is included: none of the text fits."
        if not self.sections:
            total = f" of {self.characters:,}" if len(self._general_notes()) == len(self.notes) else ""
            return f"{PART_NOTE}the first {end:,}{total} characters are included."
        whole = sum(section.end <= end for section in self.sections)
        return sentences.part_of_pages(whole, self.pages or len(self.sections), begun=end > self._end_of(whole))

    def _end_of(self, pages: int) -> int:
        return self.sections[pages - 1].end if pages else 0

    def _general_notes(self) -> list[str]:
        about_pages = {note.sentence() for note in self.page_notes}
        return [note for note in self.notes if note not in about_pages and not note.startswith(PART_NOTE)]

    def to_dict(self) -> dict[str, Any]:
        """Return the document as JSON-clean values, for a cache."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "sections": [asdict(section) for section in self.sections],
            "pages_without_text": list(self.pages_without_text),
            "notes": list(self.notes),
            "page_notes": [{**asdict(note), "pages": list(note.pages)} for note in self.page_notes],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DocumentText:
        """Return what :meth:`to_dict` wrote; ``ValueError`` where that is damaged. Unknown keys are ignored."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        try:
            values["sections"] = tuple(Section(**section) for section in values.get("sections", ()))
            values["page_notes"] = tuple(
                PageNote(tuple(note["pages"]), note["one"], note["many"]) for note in values.get("page_notes", ())
            )
            values["pages_without_text"] = tuple(values.get("pages_without_text", ()))
            values["notes"] = tuple(values.get("notes", ()))
            document = cls(**values)
        except (TypeError, KeyError) as exc:
            raise ValueError(f"the stored document text is damaged: {exc}") from exc
        wrong = document._first_wrong_field()
        if wrong:
            raise ValueError(f"the stored document text is damaged: {wrong} is {getattr(document, wrong)!r:.80}")
        return document

    def _first_wrong_field(self) -> str:
        wrong = (name for name, kinds in _FIELD_TYPES.items() if not isinstance(getattr(self, name), kinds))
        if found := next(wrong, ""):
            return found
        spans: list[Any] = [(section.start, section.end) for section in self.sections]
        in_order = all(isinstance(a, int) and isinstance(b, int) and 0 <= a <= b <= len(self.text) for a, b in spans)
        if not in_order:
            return "sections"
        pages = [*self.pages_without_text, *(page for note in self.page_notes for page in note.pages)]
        if not all(isinstance(page, int) for page in pages):
            return "pages_without_text"
        return "" if all(isinstance(note, str) for note in self.notes) else "notes"


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "kind": (str,),
    "mime_type": (str,),
    "sha256": (str,),
    "size": (int,),
    "text": (str,),
    "pages": (int, NoneType),
    "encoding": (str, NoneType),
    "encoding_guessed": (bool,),
}
