"""Media on its way to Gemini: inline while it is small, by the Files API above that and for audio and video."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from doc_processing_toolkit.core.result import MediaUpload
from doc_processing_toolkit.dialects.google import GoogleLens
from doc_processing_toolkit.dialects.view import MediaPart, TextPart
from doc_processing_toolkit.providers.base import Access, FileHolder, RequestFailedError, make_adapter
from doc_processing_toolkit.providers.google import files
from doc_processing_toolkit.registry import find
from doc_processing_toolkit.testing import PIXEL
from support.adapter_calls import adapter_of, ask, ask_all, ask_once, call_of
from support.strict import Fail, Raw, StrictServer, answer, checked_server

NEW = "gemini-3.5-flash-lite"
ROW = find(NEW)
LENS = GoogleLens()
WAVE = b"RIFF....WAVEfmt some sound"


def media(data: bytes, mime_type: str, name: str = "") -> MediaPart:
    return MediaPart(base64.b64encode(data).decode(), mime_type, name)


def question(*parts: Any) -> dict[str, Any]:
    return LENS.user_message([TextPart(part) if isinstance(part, str) else part for part in parts])


def holder_at(server: StrictServer, key: str = "k") -> Any:
    adapter = make_adapter(ROW, Access(server.url("google"), key))
    assert isinstance(adapter, FileHolder)
    return adapter


def uploads_of(server: StrictServer) -> list[Any]:
    return [exchange for exchange in server.exchanges if exchange.request.operation == "upload"]


def test_j10_small_pictures_and_documents_go_inline() -> None:
    asked = question("look", media(PIXEL, "image/png"), media(b"a,b", "text/csv"))
    with checked_server() as server:
        server.script(answer("ok"))
        outcome = ask_once(call_of(NEW, asked), server.url("google"))
    assert server.requests[0]["contents"] == [asked]
    assert outcome.answered.media_uploads == ()


@pytest.mark.parametrize(("data", "mime_type"), [(WAVE, "audio/wav"), (b"\0\0\0 ftypisom", "video/mp4")])
def test_j10_audio_and_video_are_uploaded_whatever_their_size(data: bytes, mime_type: str) -> None:
    asked = question("listen", media(data, mime_type, "sound.wav"))
    with checked_server() as server:
        server.files.polls = 2
        server.script(answer("ok"))
        started = datetime.now(UTC)
        outcome = ask_once(call_of(NEW, asked), server.url("google"))
        (stored,) = server.files.files.values()
    assert bytes(stored.data) == data
    (upload,) = outcome.answered.media_uploads
    assert server.requests[0]["contents"][0]["parts"] == [
        {"text": "listen"},
        {"file_data": {"file_uri": upload.uri, "mime_type": mime_type}},
    ]
    assert (upload.name, upload.mime_type, upload.size) == (stored.name, mime_type, len(data))
    assert upload.uri == stored.uri
    assert upload.sha256 == hashlib.sha256(data).hexdigest()
    assert started <= upload.uploaded_at <= datetime.now(UTC)
    assert upload.expiration_time is not None
    assert timedelta(hours=47) < upload.expiration_time - started < timedelta(hours=49)


def test_j10_what_exceeds_the_inline_limit_is_uploaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_INLINE_BYTES", len(PIXEL) + 1)
    asked = question(media(PIXEL, "image/png"), media(PIXEL + b"....", "image/png"))
    with checked_server() as server:
        server.script(answer("ok"))
        ask_once(call_of(NEW, asked), server.url("google"))
    kinds = [next(iter(part)) for part in server.requests[0]["contents"][0]["parts"]]
    assert kinds == ["inline_data", "file_data"]


def test_the_largest_parts_of_a_request_that_is_too_much_altogether_are_uploaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "MOST_INLINE_CHARACTERS", 250)
    small, large = question(media(PIXEL, "image/png")), question(media(PIXEL + b"." * 90, "image/png"))
    with checked_server() as server:
        server.script(answer("ok"))
        history = [small, {"role": "model", "parts": [{"text": "a"}]}, large]
        ask_once(call_of(NEW, *history), server.url("google"))
    assert server.requests[0]["contents"][0] == small
    assert "file_data" in server.requests[0]["contents"][2]["parts"][0]


def test_media_in_a_tool_result_is_uploaded_where_it_stands() -> None:
    blob = {"inline_data": {"mime_type": "audio/wav", "data": base64.b64encode(WAVE).decode()}}
    call = {
        "functionCall": {"name": "sing", "args": {}},
        "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    }
    response = {"function_response": {"name": "sing", "response": {"output": "la"}, "parts": [blob]}}
    history = [question("sing"), {"role": "model", "parts": [call]}, {"role": "user", "parts": [response]}]
    with checked_server() as server:
        server.script(answer("ok"))
        outcome = ask_once(call_of(NEW, *history), server.url("google"))
    (upload,) = outcome.answered.media_uploads
    sent = server.requests[0]["contents"][2]["parts"][0]["function_response"]
    assert sent["parts"] == [{"file_data": {"file_uri": upload.uri, "mime_type": "audio/wav"}}]
    assert response["function_response"]["parts"] == [blob]


def test_the_same_bytes_are_uploaded_once_and_by_each_key_for_itself() -> None:
    call = call_of(NEW, question("listen", media(WAVE, "audio/wav")))
    with checked_server() as server:
        server.always(answer("ok"))
        adapter = adapter_of(call, server.url("google"))
        first, second = ask_all(adapter, [call, call])
        assert len(server.files.files) == 1
        ask_once(call, server.url("google"), key="another")
        assert len(server.files.files) == 2
    assert (len(first.answered.media_uploads), len(second.answered.media_uploads)) == (1, 0)


def test_a_file_that_has_gone_early_is_uploaded_anew_when_the_request_is_repeated() -> None:
    call = call_of(NEW, question("listen", media(WAVE, "audio/wav")))
    with StrictServer() as server:
        server.script(answer("one"), answer("two"))
        adapter = adapter_of(call, server.url("google"))

        async def main() -> list[Any]:
            first = await ask(adapter, call)
            server.files.expire()
            return [first, await ask(adapter, call), await ask(adapter, call)]

        first, refused, again = asyncio.run(main())
        assert [violation.rule for violation in server.violations] == ["W-G24"]
    assert isinstance(refused.error, RequestFailedError)
    assert (refused.error.code, refused.error.is_retryable) == ("file_unavailable", True)
    assert (first.text, again.text) == ("one", "two")


def test_a_reference_of_the_history_that_is_gone_is_named_and_not_retried() -> None:
    part = {"file_data": {"file_uri": "https://x/v1beta/files/gone", "mime_type": "audio/wav"}}
    with StrictServer() as server:
        outcome = ask_once(call_of(NEW, {"role": "user", "parts": [part]}), server.url("google"))
        assert [violation.rule for violation in server.violations] == ["W-G24"]
    assert isinstance(outcome.error, RequestFailedError)
    assert (outcome.error.code, outcome.error.is_retryable) == ("file_unavailable", False)


def test_the_reply_gives_the_messages_as_they_are_to_be_stored() -> None:
    plain, sound = question("hi"), question("listen", media(WAVE, "audio/wav"))
    history = [{"role": "system", "content": "s"}, plain, {"role": "model", "parts": []}, sound]
    with checked_server() as server:
        server.script(answer("ok"), answer("again"))
        call = call_of(NEW, *history)
        adapter = adapter_of(call, server.url("google"))
        (first,) = ask_all(adapter, [call])
        (stored,) = first.answered.placed.values()
        assert list(first.answered.placed) == [3]
        (second,) = ask_all(adapter, [call_of(NEW, *history[:3], stored)])
    (upload,) = first.answered.media_uploads
    assert stored["parts"][1] == {"file_data": {"file_uri": upload.uri, "mime_type": "audio/wav"}}
    assert "inline_data" in sound["parts"][1]
    assert (second.answered.placed, second.answered.media_uploads) == ({}, ())
    assert server.requests[0]["contents"] == server.requests[1]["contents"] == [plain, stored]


def test_j12_an_upload_is_told_with_the_answer_though_the_first_request_failed() -> None:
    call = call_of(NEW, question("listen", media(WAVE, "audio/wav")))
    with checked_server() as server:
        server.script(Fail(503), answer("ok"), answer("ok"))
        adapter = adapter_of(call, server.url("google"))
        failed, answered, again = ask_all(adapter, [call, call, call])
        assert len(server.files.files) == 1
    assert failed.error is not None
    assert len(answered.answered.media_uploads) == 1
    assert again.answered.media_uploads == ()
    assert again.answered.placed == answered.answered.placed


def test_a_bad_key_is_no_file_that_is_gone() -> None:
    with checked_server() as server, pytest.raises(RequestFailedError, match="API key not valid"):
        asyncio.run(holder_at(server, "invalid").check_file(ROW, "files/a", timeout_s=5.0))


def test_a_file_is_asked_for_by_its_uri() -> None:
    with checked_server() as server:

        async def main() -> list[Any]:
            holder = holder_at(server)
            upload: MediaUpload = await holder.upload(ROW, WAVE, "audio/wav", "sound ü.wav", timeout_s=5.0)
            states = [await holder.check_file(ROW, uri, timeout_s=5.0) for uri in (upload.uri, upload.name)]
            states.append(await holder_at(server, "another").check_file(ROW, upload.uri, timeout_s=5.0))
            server.files.expire()
            states.append(await holder.check_file(ROW, upload.uri, timeout_s=5.0))
            return states

        states = asyncio.run(main())
        assert [file.display_name for file in server.files.files.values()] == ["sound ü.wav"]
    assert [state.is_usable for state in states] == [True, True, False, False]
    assert states[0].expiration_time is not None


def test_a_file_that_google_cannot_read_is_an_error_of_its_own() -> None:
    call = call_of(NEW, question(media(WAVE, "audio/wav")))
    with checked_server() as server:
        server.files.fail_next = True
        outcome = ask_once(call, server.url("google"))
    assert isinstance(outcome.error, RequestFailedError)
    assert (outcome.error.code, outcome.error.is_retryable) == ("file_unusable", False)


def test_a_file_that_stays_in_process_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LONGEST_WAIT_S", 0.2)
    with checked_server() as server:
        server.files.polls = 10_000
        outcome = ask_once(call_of(NEW, question(media(WAVE, "audio/wav"))), server.url("google"))
    assert isinstance(outcome.error, RequestFailedError)
    assert "still being processed" in str(outcome.error)


def upload_fails(server: StrictServer, fault: Callable[[Any], Any]) -> RequestFailedError:
    """Upload while the sending of the bytes goes wrong, and return what that comes to."""
    from doc_processing_toolkit.providers.google import transport

    rebuilt = transport._rebuilt

    async def broken(request: Any) -> Any:
        made = await rebuilt(request)
        return fault(made) if "x-goog-upload-offset" in request.headers else made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "_rebuilt", broken)
        with pytest.raises(RequestFailedError) as caught:
            asyncio.run(holder_at(server).upload(ROW, WAVE, "audio/wav", timeout_s=5.0))
    return caught.value


def test_an_upload_that_fails_is_not_repeated_by_the_sdk() -> None:
    import httpx2

    def elsewhere(request: httpx2.Request) -> httpx2.Request:
        return httpx2.Request("GET", request.url.copy_with(path="/google/v1beta/files/none", query=None))

    with StrictServer() as server:
        started = time.monotonic()
        error = upload_fails(server, elsewhere)
        assert time.monotonic() - started < 2.0
    assert error.status in (401, 403)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"", b"odd"])
def test_an_upload_that_is_answered_with_something_else_is_a_typed_error(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with checked_server() as server:
        call = call_of(NEW, question(media(WAVE, "audio/wav")))
        monkeypatch.setattr("support.strict.serving.Serving._upload", _answering(body))
        outcome = ask_once(call, server.url("google"))
    assert isinstance(outcome.error, RequestFailedError), outcome
    assert outcome.error.code == "unreadable_answer"


def _answering(body: bytes) -> Any:
    from support.strict.serving import _send_raw

    async def upload(self: Any, connection: Any, http: Any, found: Any, owner: str, exchange: Any) -> None:
        await _send_raw(connection, Raw(body, content_type="application/json"), exchange)

    return upload


def test_a_key_that_is_refused_at_the_upload_is_named() -> None:
    with checked_server() as server:
        outcome = ask_once(call_of(NEW, question(media(WAVE, "audio/wav"))), server.url("google"), key="invalid")
    assert isinstance(outcome.error, RequestFailedError)
    assert outcome.error.code == "API_KEY_INVALID"


def test_an_upload_that_is_cancelled_leaves_no_connection() -> None:
    with checked_server() as server:
        server.files.polls = 10_000

        async def main() -> None:
            task = asyncio.ensure_future(holder_at(server).upload(ROW, WAVE, "audio/wav", timeout_s=5.0))
            while not uploads_of(server):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        server.wait_for(lambda: server.open_connections == 0)


def test_a_marker_of_the_media_store_is_left_alone() -> None:
    part = {"inline_data": {"mime_type": "audio/wav", "data": "$media:x.wav"}}
    with StrictServer(checks=False) as server:
        server.script(answer("ok"))
        ask_once(call_of(NEW, {"role": "user", "parts": [part]}), server.url("google"))
        assert server.requests[0]["contents"][0]["parts"] == [part]


def test_media_that_is_no_base64_is_a_typed_error() -> None:
    part = {"inline_data": {"mime_type": "audio/wav", "data": "%%%"}}
    with checked_server() as server:
        outcome = ask_once(call_of(NEW, {"role": "user", "parts": [part]}), server.url("google"))
    assert isinstance(outcome.error, RequestFailedError)
    assert not outcome.error.is_retryable


def test_an_upload_larger_than_a_piece_arrives_whole() -> None:
    data = bytes(range(256)) * 40_000
    with checked_server() as server:
        upload = asyncio.run(holder_at(server).upload(ROW, data, "video/mp4", timeout_s=20.0))
        (stored,) = server.files.files.values()
        assert bytes(stored.data) == data
        assert upload.size == len(data)
