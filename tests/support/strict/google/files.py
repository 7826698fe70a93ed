"""The Files API: resumable upload, get, list, delete, states and expiry (W-G24)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from support.strict.google.media import KnownFile
from support.strict.rule import Json, as_object
from support.strict.signer import digest

_LIFE = timedelta(hours=48)


@dataclass
class StoredFile:
    """One upload. `polls` is how many more times `get` says PROCESSING."""

    name: str
    uri: str
    mime_type: str
    display_name: str
    owner: str
    size: int
    data: bytearray = field(default_factory=bytearray)
    polls: int = 0
    failed: bool = False
    expired: bool = False
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def state(self) -> str:
        """PROCESSING, ACTIVE or FAILED."""
        return "PROCESSING" if self.polls > 0 else "FAILED" if self.failed else "ACTIVE"

    def to_json(self) -> Json:
        """Return the file as the API shows it."""
        hashed = hashlib.sha256(self.data).hexdigest()
        return {
            "name": self.name,
            "displayName": self.display_name,
            "mimeType": self.mime_type,
            "sizeBytes": str(len(self.data)),
            "createTime": _time(self.created),
            "updateTime": _time(self.created),
            "expirationTime": _time(self.created + _LIFE),
            "sha256Hash": base64.b64encode(hashed.encode()).decode(),
            "uri": self.uri,
            "state": self.state,
            "source": "UPLOADED",
        }


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass
class FileStore:
    """Every upload of a server, by name. Set `polls` to make new files stay PROCESSING for that many `get`s."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    polls: int = 0
    fail_next: bool = False

    def start(self, headers: Mapping[str, str], body: object, base_url: str, owner: str) -> StoredFile:
        """Begin a resumable upload and return the file that it will be."""
        described = as_object(as_object(body).get("file"))
        name = f"files/{digest(f'{owner} {len(self.files)} {base_url}', length=12)}"
        mime = (
            headers.get("x-goog-upload-header-content-type") or described.get("mime_type") or described.get("mimeType")
        )
        stored = StoredFile(
            name=name,
            uri=f"{base_url}/v1beta/{name}",
            mime_type=str(mime or "application/octet-stream"),
            display_name=str(described.get("display_name") or described.get("displayName") or ""),
            owner=owner,
            size=int(headers.get("x-goog-upload-header-content-length", "0")),
            polls=self.polls,
            failed=self.fail_next,
        )
        self.fail_next = False
        self.files[name] = stored
        return stored

    def show(self, name: str, owner: str) -> Json | None:
        """Return the file for its owner; each call brings it one step nearer to ACTIVE.

        `None` = not there, expired, or uploaded with another key.
        """
        stored = self.files.get(name)
        if stored is None or stored.expired or stored.owner != owner:
            return None
        shown = stored.to_json()
        stored.polls = max(0, stored.polls - 1)
        return shown

    def expire(self, name: str | None = None) -> None:
        """Let one file, or every file, be past its 48 hours. `name` may be a URI."""
        wanted = None if name is None else "files/" + name.rsplit("files/", 1)[-1]
        for stored in self.files.values():
            if wanted in (None, stored.name):
                stored.expired = True

    def known(self) -> dict[str, KnownFile]:
        """What the rules need to know."""
        return {name: KnownFile(f.owner, f.state, f.expired) for name, f in self.files.items()}
