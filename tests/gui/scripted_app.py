"""A process of its own: the whole app with a model that counts slowly. ``python -m gui.scripted_app ARGS``."""

from __future__ import annotations

import sys

from doc_processing_toolkit import DirectoryMediaStore
from doc_processing_toolkit.testing import Pause
from gui.harness import ScriptedCatalogue
from turnleaf.main import main
from turnleaf.services.attachments import AttachmentIntake
from turnleaf.services.library import Library
from turnleaf.services.profile import Profile
from turnleaf.services.settings import Settings
from turnleaf.ui import desktop
from turnleaf.viewmodels.backend import Backend
from turnleaf.viewmodels.chat_work import open_chat

COUNTING = [piece for n in range(2000) for piece in (f"{n} ", Pause(0.01))]


def backend(profile: Profile, settings: Settings) -> Backend:
    """Return the real services with a scripted model in the place of every model."""
    media = DirectoryMediaStore(profile.media)
    catalogue = ScriptedCatalogue(settings, media, [COUNTING])
    return Backend(Library(profile), catalogue, AttachmentIntake(media, profile.cache), settings, open_chat)


def ask(run: desktop.Desktop) -> None:
    """Ask the question at once, as a user would with the first key press."""
    page = run.window.page
    assert page is not None
    page.card.edit.insert_text("Count, please.")
    page.send()
    page.chat.rows_changed.connect(lambda _changes: print("rows", flush=True))


desktop._backend_of = backend
if "--ask" in sys.argv:
    sys.argv.remove("--ask")
    original = desktop.Desktop.show

    def show(run: desktop.Desktop) -> None:
        run.ready.connect(lambda: ask(run))
        original(run)

    desktop.Desktop.show = show  # type: ignore[method-assign]

raise SystemExit(main(sys.argv[1:]))
