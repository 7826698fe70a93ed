"""The control addresses of a server in another process: script it, read its records (`/strict/…`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from support.strict.answers import from_json
from support.strict.rule import Json, Violation, WireRequest, as_object
from support.strict.state import Exchange, State

PREFIX = "/strict/"
_TIMES = ("status", "started_at", "answered_at", "finished_at", "client_left_at", "events_sent", "complete")
_REQUEST = ("wire", "model", "operation", "stream", "size", "key", "path", "profile")


def handle(state: State, action: str, body: Any, open_connections: int) -> Json:
    """Do one control action and return its answer. Raises `KeyError` for an unknown one."""
    given = as_object(body)
    with state.lock:
        if action == "script":
            queue = state.script.queues.setdefault(str(given.get("wire", "")), deque())
            queue.extend(from_json(reply) for reply in given["replies"])
        elif action == "always":
            state.script.standing[str(given.get("wire", ""))] = from_json(given["reply"])
        elif action == "models":
            state.models[given["name"]] = given["rows"]
        elif action == "settings":
            state.checks = given.get("checks", state.checks)
            state.keep_bodies = given.get("keep_bodies", state.keep_bodies)
        elif action == "expire":
            state.files.expire(given.get("name"))
        elif action == "reset":
            state.violations, state.warnings, state.exchanges = [], [], []
            state.script.queues.clear()
            state.script.standing.clear()
        elif action != "report":
            raise KeyError(action)
        return _report(state, open_connections, bodies=given.get("bodies", True))


def _report(state: State, open_connections: int, *, bodies: bool) -> Json:
    return {
        "violations": [asdict(violation) for violation in state.violations],
        "warnings": [asdict(violation) for violation in state.warnings],
        "exchanges": [_exchange(exchange, bodies=bodies) for exchange in state.exchanges],
        "left": state.script.left,
        "open_connections": open_connections,
    }


def _exchange(exchange: Exchange, *, bodies: bool) -> Json:
    request = {name: getattr(exchange.request, name) for name in _REQUEST}
    request["headers"] = dict(exchange.request.headers or {})
    request["body"] = exchange.request.body if bodies else None
    times = {name: getattr(exchange, name) for name in _TIMES}
    return {"request": request, "violations": [asdict(v) for v in exchange.violations], **times}


def read_exchange(data: Mapping[str, Any]) -> Exchange:
    """Return the exchange that a report describes."""
    exchange = Exchange(WireRequest(**data["request"]), [read_violation(v) for v in data["violations"]])
    return replace(exchange, **{name: data[name] for name in _TIMES})


def read_violation(data: Mapping[str, Any]) -> Violation:
    """Return the violation that a report describes."""
    return Violation(**{**data, "details": tuple(data["details"])})
