"""What the server does with one HTTP request: understand it, check it, answer it as scripted."""

from __future__ import annotations

import json
import time
from typing import Any

from support.strict.answers import Answer, Disconnect, Fail, Raw, Reply
from support.strict.connection import ClientLeftError, Connection, HttpRequest
from support.strict.control import PREFIX, handle
from support.strict.google.files import StoredFile
from support.strict.playing import Mint, Reel, Step, steps
from support.strict.routes import Route, route
from support.strict.rule import Json, Violation, WireRequest
from support.strict.signer import digest
from support.strict.state import Exchange, State
from support.strict.wires import WIRES, key_of, model_of

_JSON = "application/json; charset=utf-8"
Headers = tuple[tuple[str, str], ...]


class Serving:
    """Answers the requests of all connections of one server."""

    def __init__(self, state: State, opened: set[Connection]) -> None:
        self._state = state
        self._opened = opened

    async def serve(self, connection: Connection, http: HttpRequest) -> None:
        """Answer one request and record the exchange."""
        if http.target.startswith(PREFIX):
            report = handle(self._state, http.target[len(PREFIX) :], json.loads(http.body), len(self._opened))
            await _send(connection, 200, report)
            return
        found = route(http.method, http.target)
        if found is None:
            await _send(connection, 404, {"error": {"message": f"Not found: {http.method} {http.target}", "code": 404}})
            return
        exchange = Exchange(_understand(http, found), started_at=time.monotonic())
        with self._state.lock:
            if self._state.keep_bodies:
                self._state.exchanges.append(exchange)
        try:
            await self._answer(connection, http, found, exchange)
        except ClientLeftError:
            exchange.client_left_at = connection.gone_at
            raise
        except Exception as fault:
            # A fault of the emulator itself must fail the test that met it, not look like a broken connection.
            self._state.note(
                exchange, [Violation("SERVER", http.target, f"{type(fault).__name__}: {fault}", status=500)]
            )
            raise
        finally:
            exchange.finished_at = time.monotonic()

    async def _answer(self, connection: Connection, http: HttpRequest, found: Route, exchange: Exchange) -> None:
        request = exchange.request
        if found.wire == "models":
            await self._models(connection, found)
            return
        wire = WIRES[found.wire]
        mint = Mint.fresh(self._state.signer, self._state.next_seed(), request.key)
        # The address that an upload was given is its own permission: the SDK sends no key there.
        refused = None if request.key or found.upload_id else wire.no_key
        if request.key in self._state.refused_keys:
            await self._fail(connection, wire.bad_key, exchange, mint)
        elif found.operation in ("upload", "get_file", "delete_file", "list_files") and refused is None:
            await self._files(connection, http, found, exchange, mint)
        else:
            refused = self._refusal(exchange, refused)
            if refused is not None:
                await self._fail(connection, refused, exchange, mint)
            elif found.operation == "count_tokens":
                assert wire.count_tokens is not None
                await _send(connection, 200, wire.count_tokens(request), exchange=exchange)
            else:
                await self._reply(connection, self._state.next_reply(request), exchange, mint)

    def _refusal(self, exchange: Exchange, refused: Violation | None) -> Violation | None:
        if refused is not None:
            return self._state.note(exchange, [refused])
        if not self._state.checks:
            return None
        return self._state.note(exchange, WIRES[exchange.request.wire].check(exchange.request, self._state))

    async def _reply(self, connection: Connection, reply: Reply, exchange: Exchange, mint: Mint) -> None:
        await connection.sleep(reply.pace.first_s)
        if isinstance(reply, Fail):
            await self._fail(connection, reply, exchange, mint)
        elif isinstance(reply, Disconnect):
            connection.reset()
        elif isinstance(reply, Raw):
            await _send_raw(connection, reply, exchange)
        else:
            reel = WIRES[exchange.request.wire].render(reply, exchange.request, mint)
            self._store(exchange.request, reel.body)
            if exchange.request.stream:
                await _stream(connection, reply, reel, exchange)
            else:
                await _send_whole(connection, reply, reel, exchange)

    def _store(self, request: WireRequest, body: Json) -> None:
        """Keep a Responses answer under its id, unless `store` is false."""
        if request.wire == "responses" and request.body.get("store") is not False:
            with self._state.lock:
                self._state.stored.responses[body["id"]] = body["output"]

    async def _fail(self, connection: Connection, what: Fail | Violation, exchange: Exchange, mint: Mint) -> None:
        status = what.status or 400
        body, headers = WIRES[exchange.request.wire].error(what, exchange.request, mint)
        if isinstance(what, Fail) and what.retry_after is not None and exchange.request.wire != "google":
            headers = (*headers, ("retry-after", f"{what.retry_after:g}"))
        if isinstance(what, Fail) and what.plain:
            text = what.message or "upstream connect error or disconnect/reset before headers. reset reason: overflow"
            await _send(connection, status, text, headers, exchange=exchange)
        else:
            await _send(connection, status, body, headers, exchange=exchange)

    async def _models(self, connection: Connection, found: Route) -> None:
        listed = self._state.models.get(found.profile, [])
        if not found.name:
            key = "models" if found.profile == "google" else "data"
            await _send(connection, 200, {"object": "list", key: listed, "has_more": False})
            return
        match = next((row for row in listed if found.name in (row.get("id"), row.get("name"))), None)
        missing = {"error": {"message": f"model: {found.name}", "type": "not_found_error", "code": 404}}
        await _send(connection, 200 if match else 404, match or missing)

    async def _files(
        self, connection: Connection, http: HttpRequest, found: Route, exchange: Exchange, mint: Mint
    ) -> None:
        store, owner = self._state.files, digest(exchange.request.key)
        if found.operation == "upload":
            await self._upload(connection, http, found, owner, exchange)
            return
        if found.operation == "list_files":
            shown = [f.to_json() for f in store.files.values() if f.owner == owner and not f.expired]
            await _send(connection, 200, {"files": shown} if shown else {}, exchange=exchange)
            return
        file = store.show(f"files/{found.name}", owner)
        if file is None:
            text = f"You do not have permission to access the File {found.name} or it may not exist."
            await self._fail(connection, Fail(403, text), exchange, mint)
        elif found.operation == "delete_file":
            del store.files[f"files/{found.name}"]
            await _send(connection, 200, {}, exchange=exchange)
        else:
            await _send(connection, 200, file, exchange=exchange)

    async def _upload(
        self, connection: Connection, http: HttpRequest, found: Route, owner: str, exchange: Exchange
    ) -> None:
        base = f"{self._state.base_url}/google"
        command = http.headers.get("x-goog-upload-command", "")
        if not found.upload_id:
            stored = self._state.files.start(http.headers, exchange.request.body, base, owner)
            url = f"{base}/upload/v1beta/files?upload_id={stored.name.split('/')[1]}&upload_protocol=resumable"
            headers: Headers = (("x-goog-upload-status", "active"), ("x-goog-upload-url", url))
            await _send(connection, 200, "", headers, exchange=exchange)
            return
        file: StoredFile | None = self._state.files.files.get(f"files/{found.upload_id}")
        if file is None:
            await _send(connection, 404, {"error": {"code": 404, "message": "No such upload.", "status": "NOT_FOUND"}})
            return
        file.data += http.body
        done = "finalize" in command
        headers = (("x-goog-upload-status", "final" if done else "active"),)
        await _send(connection, 200, {"file": file.to_json()} if done else "", headers, exchange=exchange)


def _understand(http: HttpRequest, found: Route) -> WireRequest:
    body: Any = None
    if found.operation != "upload" or not found.upload_id:
        try:
            body = json.loads(http.body) if http.body else None
        except ValueError:
            body = None
    stream = found.stream or (isinstance(body, dict) and body.get("stream") is True)
    return WireRequest(
        wire=found.wire,
        body=body,
        model=found.model or model_of(body),
        operation=found.operation,
        stream=stream,
        size=len(http.body),
        headers=http.headers,
        key=key_of(http.headers),
        path=http.target,
        profile=found.profile,
    )


async def _send(
    connection: Connection, status: int, body: Json | str, headers: Headers = (), *, exchange: Exchange | None = None
) -> None:
    """Send a whole answer: an object as JSON, a string as plain text."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "text/plain; charset=utf-8" if isinstance(body, str) else _JSON
    await _head(connection, status, kind, headers, exchange, length=len(data))
    await connection.send(data)
    if exchange is not None:
        exchange.complete = True


async def _head(
    connection: Connection, status: int, kind: str, headers: Headers, exchange: Exchange | None, *, length: int | None
) -> None:
    if exchange is not None:
        exchange.status, exchange.answered_at = status, time.monotonic()
    size = ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
    await connection.send_head(status, [("content-type", kind), size, *headers])


async def _send_raw(connection: Connection, reply: Raw, exchange: Exchange) -> None:
    await _head(connection, reply.status, reply.content_type, reply.headers, exchange, length=None)
    lines = reply.body.splitlines(keepends=True) if reply.pace.gap_s else [reply.body]
    for line in lines:
        await connection.send_chunk(line)
        await connection.sleep(reply.pace.gap_s)
    await connection.end_chunks()
    exchange.complete = True


async def _send_whole(connection: Connection, reply: Answer, reel: Reel, exchange: Exchange) -> None:
    """Send an answer that was not asked for as a stream; its ending may cut or damage it."""
    kind, data = reply.ending.kind, json.dumps(reel.body).encode()
    if kind == "garbage":
        data = data[: len(data) // 2]
    if kind == "huge_line":
        data = b" " * reply.ending.size + data
    length = len(data) + 1 if kind in ("drop", "stall") else len(data)
    await _head(connection, 200, _JSON, reel.headers, exchange, length=length)
    await connection.send(data[: len(data) // 2] if kind in ("drop", "stall") else data)
    if kind == "stall":
        await connection.sleep(3600)
    if kind in ("drop", "truncate"):
        connection.reset()
    else:
        exchange.complete = True


async def _stream(connection: Connection, reply: Answer, reel: Reel, exchange: Exchange) -> None:
    await _head(connection, 200, reel.content_type, reel.headers, exchange, length=None)
    for step in steps(reel, reply.ending):
        await _do(connection, step, reply, exchange)
        if step.act == "drop":
            return
    await connection.end_chunks()
    exchange.complete = True


async def _do(connection: Connection, step: Step, reply: Answer, exchange: Exchange) -> None:
    if step.act == "drop":
        # What was written before reaches the client, then the connection breaks in mid-chunk.
        await connection.sleep(0.02)
        connection.reset()
    elif step.act == "stall":
        await connection.sleep(3600)
    elif step.act == "repeat":
        while True:
            await connection.send_chunk(step.data)
            exchange.events_sent += 1
            await connection.sleep(reply.pace.gap_s)
    else:
        await connection.send_chunk(step.data)
        exchange.events_sent += 1
        await connection.sleep(reply.pace.gap_s)
