"""What the tests of the service share: models by name, and who was started for them."""

from __future__ import annotations

import sys
from pathlib import Path

from doc_processing_toolkit.providers.local import LocalModel, LocalModelService
from doc_processing_toolkit.providers.local.startup import Launch
from unit.local import stub_server
from unit.local.gguf_files import model_file
from unit.local.processes import started_for

STUB = Launch(command=(sys.executable, stub_server.__file__))


def named(tmp_path: Path, name: str) -> LocalModel:
    """Return a model whose name tells the miniature server what to do."""
    return LocalModel(model_file(tmp_path, f"{name}.gguf"))


def pids(model: LocalModel) -> list[int]:
    """Return the servers that were started for a model, in order."""
    assert model.path is not None
    return started_for(model.path)


async def use(service: LocalModelService, model: LocalModel, *, read: bool = True) -> str:
    """Take a lease and give it back; ``read`` says whether the prompt was read."""
    async with service.lease(model) as lease:
        if read:
            lease.mark_prompt_read()
        return lease.base_url
