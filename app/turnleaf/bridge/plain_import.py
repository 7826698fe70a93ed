"""Takes PySide's hook out of ``import``."""

from __future__ import annotations

import builtins


def restore_plain_import() -> None:
    """Put back the ``__import__`` that PySide's feature hook stands before; without the hook this changes nothing.

    PySide replaces it for ``from __feature__ import …``, which nothing here uses. After each import its hook asks
    ``inspect`` for the importing module's source, and that makes an import in another thread fail now and then on a
    module with a ``__getattr__`` of its own that is only half there (pydantic's). Seen with PySide6 6.11.3; it can go
    when PySide stops replacing ``__import__``.
    """
    plain = getattr(builtins, "__orig_import__", None)
    if plain is not None:
        builtins.__import__ = plain
