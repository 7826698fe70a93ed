"""What stands in the composer: the text, the files with their state, and whether it can be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal

from doc_processing_toolkit.documents import display_name
from turnleaf.bridge.tasks import TaskOwner
from turnleaf.services.attachment import Attachment, is_attached
from turnleaf.services.notices import Notice, notice_of
from turnleaf.services.rows import AttachmentInfo

if TYPE_CHECKING:
    from doc_processing_toolkit.documents import ExtractionProgress
    from turnleaf.services.attachments import AttachmentIntake

BIG_PASTE = 20_000
"""Characters beyond which pasted text becomes a file."""

ChipState = Literal["reading", "ready", "refused"]
Source = Path | tuple[str, bytes] | AttachmentInfo


@dataclass(frozen=True, slots=True)
class Chip:
    """One file of the composer. ``notice`` says why it was refused; ``done`` of ``total`` is how far reading is."""

    number: int
    name: str
    state: ChipState
    attachment: Attachment | None = None
    notice: Notice | None = None
    done: int = 0
    total: int = 0
    unit: str = ""
    info: AttachmentInfo | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A question with its files, ready to be sent."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class ComposerViewModel(QObject):
    """The composer of one tab."""

    chips_changed = Signal(object)
    """All chips, in order (a tuple of ``Chip``)."""
    text_replaced = Signal(str)
    """The text is another one, not by typing."""
    content_changed = Signal()
    """Text or files have changed."""
    reading_finished = Signal()
    """No file is being read any more."""

    def __init__(self, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._text = ""
        self._chips: list[Chip] = []
        self._readers: dict[int, asyncio.Task[None]] = {}
        self._next_number = 1
        self._intake: AttachmentIntake | None = None
        self._waiting: list[tuple[int, Source]] = []
        self._paths: dict[int, Path] = {}
        self._takes_text_only = True
        self.on_change: Callable[[], None] | None = None

    @property
    def text(self) -> str:
        """The text as it stands."""
        return self._text

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The files as they stand."""
        return tuple(self._chips)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The files that are ready to be sent."""
        return tuple(chip.attachment for chip in self._chips if chip.state == "ready" and chip.attachment is not None)

    @property
    def is_reading(self) -> bool:
        """Whether a file is still being read."""
        return any(chip.state == "reading" for chip in self._chips)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not self._text.strip() and not self.attachments

    def attach_intake(self, intake: AttachmentIntake) -> None:
        """Begin to read the files that were given before the services were there."""
        self._intake = intake
        waiting, self._waiting = self._waiting, []
        for number, source in waiting:
            self._start_reading(number, source)

    def set_text(self, text: str) -> None:
        """Take what was typed."""
        if text != self._text:
            self._text = text
            self._changed()

    def replace_text(self, text: str) -> None:
        """Put another text into the composer."""
        self._text = text
        self.text_replaced.emit(text)
        self._changed()

    def add_files(self, paths: Sequence[Path]) -> None:
        """Attach files; each is checked and read, and refused with a reason when it cannot be used."""
        for path in paths:
            self._add(path.name or str(path), path)

    def add_bytes(self, name: str, data: bytes) -> None:
        """Attach pasted bytes under a name."""
        self._add(name, (name, data))

    def add_pasted_text(self, text: str) -> bool:
        """Attach a big pasted text as a file; return whether it was big."""
        if len(text) <= BIG_PASTE:
            return False
        taken = {chip.name for chip in self._chips}
        name = next(
            n for n in (f"Pasted text{'' if i == 1 else f' {i}'}.txt" for i in range(1, 1000)) if n not in taken
        )
        self.add_bytes(name, text.encode("utf-8", "surrogatepass"))
        return True

    def restore(self, text: str, infos: Sequence[AttachmentInfo]) -> None:
        """Put a stored draft or question back; its files are read again from the media store."""
        self.replace_text(text)
        for info in infos:
            self._add(info.name, info, info)

    def remove(self, number: int) -> None:
        """Take a file out; its reading ends at once."""
        reader = self._readers.pop(number, None)
        if reader is not None:
            reader.cancel()
        self._paths.pop(number, None)
        self._waiting = [entry for entry in self._waiting if entry[0] != number]
        self._chips = [chip for chip in self._chips if chip.number != number]
        self._chips_changed()

    def replace_attachments(self, attachments: Sequence[Attachment]) -> None:
        """Use these files instead of the ready ones (the parts that fit)."""
        kept = [chip for chip in self._chips if chip.state != "ready"]
        self._chips = [*(self._ready_chip(self._take_number(), attachment) for attachment in attachments), *kept]
        self._chips_changed()

    def message(self) -> Message | None:
        """Return what can be sent; ``None`` when there is nothing, or files are being read."""
        if self.is_reading or self.is_empty:
            return None
        return Message(self._text.strip("\n"), self.attachments)

    def clear(self) -> None:
        """Empty the composer."""
        for number in [chip.number for chip in self._chips]:
            self.remove(number)
        self.replace_text("")

    def put_back(self, message: Message) -> None:
        """Put a message that was not sent back in front of what stands there now."""
        joined = message.text if not self._text.strip() else f"{message.text}\n\n{self._text}"
        self._chips = [*(self._ready_chip(self._take_number(), each) for each in message.attachments), *self._chips]
        self.replace_text(joined)
        self._chips_changed()

    def _add(self, name: str, source: Source, info: AttachmentInfo | None = None) -> None:
        number = self._take_number()
        if isinstance(source, Path):
            self._paths[number] = source
        self._chips.append(Chip(number, display_name(name), "reading", info=info))
        self._chips_changed()
        if self._intake is None:
            self._waiting.append((number, source))
        else:
            self._start_reading(number, source)

    def _take_number(self) -> int:
        number = self._next_number
        self._next_number += 1
        return number

    def _start_reading(self, number: int, source: Source) -> None:
        self._readers[number] = self._tasks.start(self._read(number, source), f"read file {number}")

    async def _read(self, number: int, source: Source) -> None:
        assert self._intake is not None
        intake = self._intake

        def progress(report: ExtractionProgress) -> None:
            self._update(number, done=report.done, total=report.total, unit=report.unit)

        try:
            if isinstance(source, AttachmentInfo):
                attachment = await intake.reopen(source, on_progress=progress)
            else:
                attachment = await intake.take(source, on_progress=progress)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - every refusal of a file is said on its chip
            self._refuse(number, notice_of(error))
        else:
            self._finish(number, attachment)
        finally:
            self._readers.pop(number, None)
            if not self.is_reading:
                self.reading_finished.emit()

    def _finish(self, number: int, attachment: Attachment) -> None:
        if is_attached(attachment.info, self.attachments):
            self.remove(number)
            return
        self._chips = [self._ready_chip(number, attachment) if chip.number == number else chip for chip in self._chips]
        self._chips_changed()

    def _ready_chip(self, number: int, attachment: Attachment) -> Chip:
        if attachment.document is None and self._takes_text_only:
            notice = Notice(
                id="file_not_taken",
                text=f"{attachment.info.name} has no text, and this model takes text only.",
                arguments={"name": attachment.info.name},
                severity="warning",
            )
            return Chip(number, attachment.info.name, "refused", notice=notice, info=attachment.info)
        return Chip(number, attachment.info.name, "ready", attachment, info=attachment.info)

    def _refuse(self, number: int, notice: Notice) -> None:
        self._update(number, state="refused", notice=notice)

    def _update(self, number: int, **values: object) -> None:
        self._chips = [
            replace(chip, **values) if chip.number == number else chip  # type: ignore[arg-type]
            for chip in self._chips
        ]
        self._chips_changed()

    def _chips_changed(self) -> None:
        self.chips_changed.emit(self.chips)
        self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()
        self.content_changed.emit()

    def unread_files(self) -> tuple[Path, ...]:
        """Return the files of the disk that are still being read, which a draft keeps by their paths."""
        reading = {chip.number for chip in self._chips if chip.state == "reading"}
        return tuple(path.absolute() for number, path in self._paths.items() if number in reading)

    def kept_attachments(self) -> tuple[Attachment, ...]:
        """Return the files that a draft keeps: also those which are only being read again."""
        kept = []
        for chip in self._chips:
            if chip.attachment is not None and chip.state == "ready":
                kept.append(chip.attachment)
            elif chip.info is not None and chip.state == "reading":
                kept.append(Attachment(chip.info, None))
        return tuple(kept)
