"""Media: the directory store, the policies of a save, what a restore puts back, and parts a row does not take."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession, DirectoryMediaStore, DocumentError, UnsupportedPartError
from doc_processing_toolkit.agent import media_policy
from doc_processing_toolkit.media.sniff import human_size, sniff
from doc_processing_toolkit.testing import PIXEL, answer, image_part, question, scripted_agent, tool_round

DIGEST = hashlib.sha256(PIXEL).hexdigest()


def session_with_images(**settings: Any) -> AgentSession:
    session = scripted_agent([], **settings).session()
    session.messages.extend(
        [
            question("look", images=[PIXEL]),
            answer("a dot"),
            question("shot"),
            *tool_round({"c": ("shoot", {}, [{"type": "text", "text": "here"}, image_part()])}),
            answer("same dot"),
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.invalid/x.png"}}]},
            answer("a link"),
        ]
    )
    return session


def test_j04_a_blob_is_kept_once_under_its_digest(tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path / "media")
    ref = store.put(DIGEST, "image/png", PIXEL)
    assert ref == f"{DIGEST}.png"
    assert store.put(DIGEST, "image/png", PIXEL) == ref
    assert store.put(DIGEST, None, PIXEL) == ref
    assert [file.name for file in (tmp_path / "media").iterdir()] == [ref]
    assert (tmp_path / "media" / ref).stat().st_mode & 0o777 == 0o600
    assert store.get(ref) == PIXEL
    other = store.put(hashlib.sha256(b"x").hexdigest(), None, b"x")
    assert other.endswith(".bin")


def test_j04_a_digest_that_is_not_that_of_the_bytes_is_refused(tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path)
    for digest in (DIGEST, "short", "../" + "a" * 61, DIGEST.upper()):
        with pytest.raises(ValueError, match="SHA-256"):
            store.put(digest, "image/png", b"other bytes")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "ref",
    [
        "../secret.txt",
        "/etc/passwd",
        f"../{DIGEST}.png",
        f"sub/{DIGEST}.png",
        f"{DIGEST}",
        f"{DIGEST}.png/..",
        f"{DIGEST}.png\n",
        f"{DIGEST.upper()}.png",
        "",
        ".",
        f"{DIGEST}.p\x00g",
        None,
        7,
    ],
)
def test_j04_only_names_of_its_own_are_references(ref: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    store = DirectoryMediaStore(tmp_path / "media")
    with pytest.raises(ValueError, match="is not a reference"):
        store.get(ref)


def test_j04_a_blob_that_was_changed_or_linked_is_not_handed_out_and_is_mended(tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path / "media")
    ref = store.put(DIGEST, "image/png", PIXEL)
    blob = tmp_path / "media" / ref
    blob.write_bytes(b"y" * len(PIXEL))
    with pytest.raises(ValueError, match="does not hold"):
        store.get(ref)
    assert store.put(DIGEST, "image/png", PIXEL) == ref
    assert store.get(ref) == PIXEL
    secret = tmp_path / "secret.txt"
    secret.write_bytes(PIXEL)
    blob.unlink()
    blob.symlink_to(secret)
    with pytest.raises(OSError):
        store.get(ref)
    store.put(DIGEST, "image/png", PIXEL)
    assert not blob.is_symlink()
    assert secret.read_bytes() == PIXEL
    blob.unlink()
    os.mkfifo(blob)
    with pytest.raises(OSError):
        store.get(ref)


def test_a_failed_put_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        DirectoryMediaStore(tmp_path).put(DIGEST, "image/png", PIXEL)
    assert list(tmp_path.iterdir()) == []


def test_j01_auto_is_inline_without_a_store_and_externalize_with_one(tmp_path: Path) -> None:
    assert session_with_images().to_dict()["media_policy"] == "inline"
    assert session_with_images(media_store=str(tmp_path)).to_dict()["media_policy"] == "externalize"
    assert session_with_images().to_dict()["messages"] == session_with_images().messages
    with pytest.raises(ValueError, match="media_store"):
        session_with_images().to_dict(media="externalize")
    with pytest.raises(ValueError, match="must be one of"):
        session_with_images().to_json(media="somewhere")


def test_j02_j03_externalize_leaves_markers_a_table_and_the_live_messages_alone(tmp_path: Path) -> None:
    session = session_with_images(media_store=tmp_path / "media")
    before = [dict(message) for message in session.messages]
    saved = session.to_dict()
    marker = f"$media:{DIGEST}.png"
    assert saved["messages"][0]["content"][0]["image_url"]["url"] == f"data:image/png;base64,{marker}"
    assert saved["messages"][3 + 1]["content"][1]["image_url"]["url"].endswith(marker)
    assert saved["messages"][6] == session.messages[6]
    assert saved["media"] == {
        f"{DIGEST}.png": {"ref": f"{DIGEST}.png", "sha256": DIGEST, "mime_type": "image/png", "size": len(PIXEL)}
    }
    assert saved["media_report"] == []
    assert session.messages == before
    assert len(list((tmp_path / "media").iterdir())) == 1


def test_j05_a_restore_puts_the_bytes_back_from_either_store(tmp_path: Path) -> None:
    session = session_with_images(media_store=tmp_path / "media")
    path = tmp_path / "session.json"
    session.to_json(path)
    shutil.move(tmp_path / "media", tmp_path / "moved")
    for agent, store in (
        (scripted_agent([], media_store=tmp_path / "moved"), None),
        (scripted_agent([]), tmp_path / "moved"),
        (scripted_agent([]), DirectoryMediaStore(tmp_path / "moved")),
    ):
        restored = AgentSession.from_json(path, agent=agent, media_store=store)
        assert restored.messages == session.messages
        assert restored.media_report == []


def test_j03_a_missing_blob_is_a_placeholder_and_a_report_never_a_failed_restore(tmp_path: Path) -> None:
    class Raises:
        def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
            return sha256

        def get(self, ref: str) -> bytes:
            raise KeyError(ref)

    class Lies(Raises):
        def get(self, ref: str) -> bytes:
            return b"something else"

    saved = session_with_images(media_store=tmp_path).to_dict()
    shutil.rmtree(tmp_path)
    for store in (None, tmp_path, Raises(), Lies()):
        restored = AgentSession.from_dict(saved, agent=scripted_agent([]), media_store=store)
        text = f"[image/png, {len(PIXEL)} B, not available on restore]"
        assert restored.messages[0]["content"][0] == {"type": "text", "text": text}
        assert [entry["reason"] for entry in restored.media_report] == ["missing_blob"] * 2
        assert restored.media_report[0]["size"] == len(PIXEL)
        assert restored.media_report[0]["message_index"] == 0


def test_j03_j07_strip_writes_placeholders_and_the_report_grows_once(tmp_path: Path) -> None:
    session = session_with_images(media_policy="strip")
    saved = session.to_dict()
    text = f"[image/png, {len(PIXEL)} B, removed on save]"
    assert saved["messages"][0]["content"][0] == {"type": "text", "text": text}
    assert [entry["reason"] for entry in saved["media_report"]] == ["stripped", "stripped"]
    assert session.media_report == saved["media_report"]
    assert session.to_dict()["media_report"] == saved["media_report"]
    assert session.to_dict(media="inline")["messages"] == session.messages
    restored = AgentSession.from_dict(saved, agent=scripted_agent([]))
    assert restored.media_report == saved["media_report"]


def test_j04_a_save_recomputes_the_digest_and_a_hostile_reference_stays_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    saved = session_with_images(media_store=tmp_path / "media").to_dict()
    url = "data:image/png;base64,$media:../secret.txt"
    saved["messages"][0]["content"][0]["image_url"]["url"] = url
    saved["media"]["../secret.txt"] = {"ref": "../secret.txt", "sha256": None, "size": 6}
    restored = AgentSession.from_dict(saved, agent=scripted_agent([]), media_store=tmp_path / "media")
    assert restored.media_report[0]["reason"] == "missing_blob"
    assert "secret" not in restored.to_json().replace("secret.txt", "")


def test_h08_the_report_measures_what_a_save_would_write_and_writes_nothing(tmp_path: Path) -> None:
    inline = session_with_images()
    report = inline.persistence_report
    assert report["size_bytes"] == len(inline.to_json().encode())
    assert report["message_count"] == len(inline.messages)
    assert [(entry["kind"], entry["size_bytes"], entry["message_index"]) for entry in report["media"]] == [
        ("base64", len(PIXEL), 0),
        ("base64", len(PIXEL), 4),
        ("url", None, 6),
    ]
    external = session_with_images(media_store=tmp_path / "media")
    assert abs(external.persistence_report["size_bytes"] - len(external.snapshot().to_json().encode())) < 200
    shutil.rmtree(tmp_path / "media")
    assert external.persistence_report["message_count"] == 8
    assert not (tmp_path / "media").exists()


def test_j08_media_is_not_kept_when_the_session_does_not_preserve_it() -> None:
    agent = scripted_agent(["seen"], session_history_config={"preserve_media": False})
    session = agent.session()
    asyncio.run(session.run("look", files=[("dot.png", PIXEL)]))
    text = f"[image/png, {len(PIXEL)} B, not kept]"
    assert session.messages[0]["content"][0] == {"type": "text", "text": text}
    [entry] = session.media_report
    assert (entry["reason"], entry["source"], entry["message_index"]) == ("stripped", "preserve_media", 0)
    assert agent.requests[0].messages[0]["content"][0]["type"] == "image_url"


def test_b10_j10_an_image_is_sent_and_stored_as_a_data_url_before_the_question(tmp_path: Path) -> None:
    path = tmp_path / "named.txt"
    path.write_bytes(PIXEL)
    agent = scripted_agent(["seen", "still"])
    session = agent.session()
    asyncio.run(session.run("look", files=[path, ("b.bin", PIXEL, "image/jpeg")]))
    image = image_part()
    expected = {"role": "user", "content": [image, image, {"type": "text", "text": "look"}]}
    assert agent.requests[0].messages == [expected]
    assert session.messages[0] == expected
    asyncio.run(session.run("again"))
    assert agent.requests[1].messages[0] == expected


def test_j11_what_the_row_does_not_take_becomes_text_or_is_refused() -> None:
    text_only = {"row": {"input_types": ("text",)}}
    agent = scripted_agent(["ok"], **text_only)
    asyncio.run(agent.run("look", files=[("dot.png", PIXEL)]))
    parts = agent.requests[0].messages[0]["content"]
    assert parts[0]["text"] == f"[image/png, {len(PIXEL)} B, not accepted by Scripted demo]"
    strict = scripted_agent(["ok"], on_unsupported_part="raise", **text_only)
    with pytest.raises(UnsupportedPartError, match=r"dot\.png"):
        asyncio.run(strict.run("look", files=[("dot.png", PIXEL)]))
    assert strict.requests == []


def test_j09_a_restore_replaces_what_the_row_does_not_take_and_says_so() -> None:
    saved = session_with_images().to_dict()
    row = {"input_types": ("text",)}
    restored = AgentSession.from_dict(saved, agent=scripted_agent([], row=row))
    assert restored.messages[0]["content"][0]["text"] == f"[image/png, {len(PIXEL)} B, not accepted by Scripted demo]"
    [first, second, link] = restored.dropped_parts
    assert first == {
        "kind": "image",
        "index": 0,
        "reason": "input_type",
        "provider": "scripted",
        "model": "scripted/demo",
    }
    assert (second["index"], link["index"]) == (4, 6)
    with pytest.raises(UnsupportedPartError):
        AgentSession.from_dict(saved, agent=scripted_agent([], row=row, on_unsupported_part="raise"))


@pytest.mark.parametrize("kind", ["folder", "missing", "empty", "socket", "name"])
def test_files_that_cannot_be_asked_about_raise_before_any_request(kind: str, tmp_path: Path) -> None:
    agent = scripted_agent(["never"])
    path = tmp_path / "thing"
    code = {"folder": "not_a_file", "missing": "not_found", "empty": "empty", "socket": "not_a_file"}.get(kind)
    if kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "socket":
        os.mkfifo(path)
    elif kind == "name":
        path, code = tmp_path / "a\x00b", "unreadable"
    with pytest.raises(DocumentError) as caught:
        asyncio.run(agent.run("q", files=[path]))
    assert caught.value.code == code
    assert agent.requests == []


@pytest.mark.parametrize("files", ["one.pdf", b"bytes", [5], [("name",)], [("name", "text")], [(b"n", b"d")], [None]])
def test_files_of_the_wrong_kind_are_type_errors(files: Any) -> None:
    agent = scripted_agent(["never"])
    with pytest.raises(TypeError, match="files takes"):
        asyncio.run(agent.run("q", files=files))
    with pytest.raises(TypeError, match="files takes"):
        asyncio.run(agent.session().run("q", files=files))


def test_stores_of_the_wrong_kind_are_type_errors() -> None:
    with pytest.raises(TypeError, match="media_store"):
        scripted_agent([], media_store=5)
    assert media_policy.DirectoryMediaStore is DirectoryMediaStore


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (136, "136 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (10**13, "10000.0 GB")],
)
def test_sizes_are_written_for_people(size: int, text: str) -> None:
    assert human_size(size) == text


def test_sniffing_goes_by_the_bytes() -> None:
    assert sniff(PIXEL) == "image/png"
    assert sniff(b"BMI is a text") is None
    assert sniff(b"RIFF\x00\x00\x00\x00WEBP") == "image/webp"
    assert sniff(b"\x00\x00\x00\x18ftypmp42") == "video/mp4"
    assert sniff(b"%PDF-1.7") == "application/pdf"
    assert sniff(b"") is None
