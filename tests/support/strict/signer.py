"""Tokens that the strict servers mint and can check again: signatures, encrypted reasoning, ids.

A token is its claims and an HMAC over them, so any server with the same secret can check it: a session that is
saved, restored in another process and sent to another server is still checked. Nobody else can make one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from support.strict.payloads import decode_base64

Claims = dict[str, Any]
_MAC_BYTES = 16
_ID_MAC = 12


def digest(value: object, *, length: int = 16) -> str:
    """Return a short hexadecimal digest of any JSON value, independent of the order of its keys."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


@dataclass(frozen=True)
class Signer:
    """Mints and opens tokens under one secret. Two servers with different secrets do not accept each other's."""

    secret: bytes = b"turnleaf strict servers"

    def seal(self, claims: Claims) -> str:
        """Return a standard base64 token that carries `claims` and is bound to every one of them."""
        body = json.dumps(claims, sort_keys=True, separators=(",", ":")).encode()
        return base64.b64encode(body + self._mac(body, _MAC_BYTES)).decode("ascii")

    def open(self, token: str) -> Claims | None:
        """Return the claims of a token of this signer, in either base64 alphabet; `None` where it is not one."""
        raw = decode_base64(token)
        if raw is None or len(raw) <= _MAC_BYTES:
            return None
        body, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(body, _MAC_BYTES)):
            return None
        claims: Claims = json.loads(body)
        return claims

    def mark(self, prefix: str, response: str, number: int, note: str = "00") -> str:
        """Return an id that tells which response minted it, as its which item, and a two-character note.

        The id is `prefix` and 28 characters of `[0-9a-f]`, so it fits every provider's pattern and length.
        """
        core = f"{response[:12]}{number:02x}{note[:2]:0>2}"
        return f"{prefix}{core}{self._mac((prefix + core).encode(), 6).hex()}"

    def read_mark(self, prefix: str, identifier: str) -> tuple[str, int, str] | None:
        """Return `(response, number, note)` of an id that `mark` made with this prefix, else `None`."""
        core, mac = identifier[len(prefix) : -_ID_MAC], identifier[-_ID_MAC:]
        if not identifier.startswith(prefix) or len(core) != 16:
            return None
        if not hmac.compare_digest(mac, self._mac((prefix + core).encode(), 6).hex()):
            return None
        return core[:12], int(core[12:14], 16), core[14:16]

    def _mac(self, body: bytes, length: int) -> bytes:
        return hmac.new(self.secret, body, hashlib.sha256).digest()[:length]
