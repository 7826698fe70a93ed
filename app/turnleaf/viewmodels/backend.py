"""The services behind the window, made off the GUI thread once the window is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from doc_processing_toolkit import DirectoryMediaStore
from turnleaf.services.attachments import AttachmentIntake
from turnleaf.services.library import Library
from turnleaf.services.models import ModelCatalogue
from turnleaf.services.profile import Profile
from turnleaf.services.settings import Settings

if TYPE_CHECKING:
    from doc_processing_toolkit import Agent
    from turnleaf.services.conversation import Conversation
    from turnleaf.viewmodels.chat import ChatViewModel, ModelChoice

    OpenChat = Callable[[ChatViewModel, "Backend", Conversation, Agent, ModelChoice], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Backend:
    """What conversations need: where they are kept, who answers, how files are taken in, and how a tab is filled."""

    library: Library
    catalogue: ModelCatalogue
    intake: AttachmentIntake
    settings: Settings
    open_chat: OpenChat


def make_backend(profile: Profile, settings: Settings) -> Backend:
    """Return the services of `profile`. Blocking: importing this module is what takes time at a start."""
    from turnleaf.viewmodels.chat_work import open_chat

    media = DirectoryMediaStore(profile.media)
    return Backend(
        library=Library(profile),
        catalogue=ModelCatalogue(settings, media),
        intake=AttachmentIntake(media, profile.cache),
        settings=settings,
        open_chat=open_chat,
    )
