"""What a strict server knows and remembers: the script, the exchanges, what it minted and stored."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.strict.answers import Fail, Reply
from support.strict.google.files import FileStore
from support.strict.responses import Stored
from support.strict.rule import Json, Violation, WireRequest
from support.strict.signer import Signer

Responder = Callable[[WireRequest], Reply | None]
EXHAUSTED = "SCRIPT"


@dataclass
class Exchange:
    """One request and what came of it. Times are `time.monotonic()`, comparable across processes of one machine."""

    request: WireRequest
    violations: list[Violation] = field(default_factory=list)
    status: int | None = None
    started_at: float = 0.0
    answered_at: float | None = None
    finished_at: float | None = None
    client_left_at: float | None = None
    """When the client closed the connection although the answer was not over."""
    events_sent: int = 0
    complete: bool = False
    """The whole scripted answer was sent."""

    @property
    def body(self) -> Any:
        """The parsed body of the request."""
        return self.request.body


@dataclass
class Script:
    """The replies still to give: in order, for one wire or any, then what `respond` and `always` say."""

    queues: dict[str, deque[Reply]] = field(default_factory=dict)
    responders: dict[str, Responder] = field(default_factory=dict)
    standing: dict[str, Reply] = field(default_factory=dict)

    def next(self, request: WireRequest) -> Reply | None:
        """Take the next reply for a request; `None` = nothing is scripted."""
        for key in (request.profile, request.wire, ""):
            if self.queues.get(key):
                return self.queues[key].popleft()
        for key in (request.profile, request.wire, ""):
            reply = self.responders[key](request) if key in self.responders else None
            if reply is not None:
                return reply
        return next((self.standing[k] for k in (request.profile, request.wire, "") if k in self.standing), None)

    @property
    def left(self) -> int:
        """How many queued replies were not asked for."""
        return sum(len(queue) for queue in self.queues.values())


@dataclass
class State:
    """Everything behind the address of one server. `lock` guards what tests read from another thread."""

    signer: Signer = field(default_factory=Signer)
    checks: bool = True
    keep_bodies: bool = True
    """Remember the requests; a long benchmark switches this off."""
    refused_keys: set[str] = field(default_factory=lambda: {"invalid"})
    script: Script = field(default_factory=Script)
    exchanges: list[Exchange] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    warnings: list[Violation] = field(default_factory=list)
    stored: Stored = field(default_factory=Stored)
    files: FileStore = field(default_factory=FileStore)
    models: dict[str, list[Json]] = field(default_factory=dict)
    base_url: str = ""
    released: set[str] = field(default_factory=set)
    """Responses whose thinking was refused as bound to another conversation."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    answers: int = 0
    seed: str = field(default_factory=lambda: os.urandom(8).hex())

    def next_seed(self) -> str:
        """Return a name for the next answer, unlike that of any other answer of any server."""
        with self.lock:
            self.answers += 1
            return f"{self.seed} {self.answers}"

    def next_reply(self, request: WireRequest) -> Reply:
        """Return the scripted reply; none left is itself something a test must hear of."""
        with self.lock:
            reply = self.script.next(request)
            if reply is not None:
                return reply
            text = f"no reply is scripted for this {request.profile} request (model {request.model!r})"
            self.violations.append(Violation(EXHAUSTED, request.path, text))
        return Fail(500, message=text)

    def note(self, exchange: Exchange, found: list[Violation]) -> Violation | None:
        """Record what a request breaks and return the violation that refuses it, if one does."""
        with self.lock:
            exchange.violations = found
            self.released |= {str(v.details[0]["response"]) for v in found if v.rule == "W-A29"}
            self.violations += [violation for violation in found if violation.status is not None]
            self.warnings += [violation for violation in found if violation.status is None]
        return next((violation for violation in found if violation.status is not None), None)
