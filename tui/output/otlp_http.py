"""One request of OTLP over HTTP, and what its answer means; the standard library's client, one connection kept open.

Source: "OTLP/HTTP Response" of the specification: 429, 502, 503 and 504 may be tried again, after `Retry-After` where
that is said; no other answer may, and what is refused in part must not be sent again.
"""

from __future__ import annotations

import contextlib
import email.utils
import gzip
import http.client
import socket
import ssl
import time
from typing import Any, NamedTuple

from foreign.document import read_object
from foreign.refusal import InputRefusal
from tui.output.otlp_settings import BadSetting, Settings

_AGAIN = (429, 502, 503, 504)
_MOST_ANSWER = 64 << 10
"""Bytes of an answer that are read."""
_MOST_WAIT = 3600.0


class OtlpAnswer(NamedTuple):
    """What came of a request."""

    taken: bool
    again: bool = False
    """It may be taken later."""
    why: str = ""
    """Of what was not taken, wholly or in part. Foreign text."""
    wait: float | None = None
    """Seconds to wait, where the server said it."""
    rejected: int = 0
    """Log records that were not taken, of a request that was."""


class OtlpHttp:
    """A connection to one collector; `post` for one thread, `abort` for any."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings; nothing is sent. Raises BadSetting where the certificates can't be read."""
        self._settings = settings
        self._context: ssl.SSLContext | None = None
        self._line: http.client.HTTPConnection | None = None
        self._aborted = False
        if settings.url.scheme == "https":
            try:
                self._context = ssl.create_default_context(cafile=settings.certificate or None)
            except (OSError, ssl.SSLError) as error:
                raise BadSetting(f"{settings.certificate}: {error}") from None

    def packed(self, body: bytes) -> bytes:
        """A body as it is sent."""
        return gzip.compress(body, 5, mtime=0) if self._settings.gzip else body

    def post(self, packed: bytes, timeout: float) -> OtlpAnswer:
        """Send one request; waits at most about `timeout` seconds for each answer of the network."""
        kept = self._line is not None
        try:
            return self._post(packed, timeout)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
            self._hang_up()
            if not kept or self._aborted:
                return OtlpAnswer(False, again=True, why=_said(error))
        except ValueError as error:  # what no header or name can hold, of a setting or of a certificate
            self._hang_up()
            return OtlpAnswer(False, why=_said(error))
        except (OSError, http.client.HTTPException) as error:
            self._hang_up()
            return OtlpAnswer(False, again=not isinstance(error, ssl.SSLCertVerificationError), why=_said(error))
        # The server has closed a connection that nothing came on for long: that is no failure.
        try:
            return self._post(packed, timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._hang_up()
            return OtlpAnswer(False, again=not isinstance(error, ValueError), why=_said(error))

    def abort(self) -> None:
        """End what `post` waits for, from another thread."""
        self._aborted = True
        sock = self._line.sock if self._line is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):  # it may just have ended
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connection."""
        self._hang_up()

    def _post(self, packed: bytes, timeout: float) -> OtlpAnswer:
        if self._line is None:
            self._line = self._dial(timeout)
        line = self._line
        line.timeout = timeout
        if line.sock is not None:
            line.sock.settimeout(timeout)
        url = self._settings.url
        headers = {"Content-Type": "application/json", "User-Agent": "probewright", **self._settings.headers}
        if self._settings.gzip:
            headers["Content-Encoding"] = "gzip"
        line.request("POST", url.path + (f"?{url.query}" if url.query else ""), packed, headers)
        response = line.getresponse()
        body = response.read(_MOST_ANSWER)
        if response.will_close or not response.isclosed():
            self._hang_up()
        return _answer(response.status, response.reason, response.headers.get("Retry-After", ""), body)

    def _dial(self, timeout: float) -> http.client.HTTPConnection:
        url = self._settings.url
        host = url.hostname or ""
        if self._context is not None:
            return http.client.HTTPSConnection(host, url.port or 443, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(host, url.port or 80, timeout=timeout)

    def _hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()


def retry_after(text: str, now: float) -> float | None:
    """Seconds that `Retry-After` says, as a number or as a date (RFC 9110, 10.2.3); None: it says nothing.

    Args:
        text: the header.
        now: seconds since 1970.
    """
    word = text.strip()
    if word.isascii() and word.isdecimal():
        return min(float(word[:9]), _MOST_WAIT)
    try:
        return max(0.0, min(email.utils.parsedate_to_datetime(word).timestamp() - now, _MOST_WAIT))
    except (TypeError, ValueError, OverflowError):
        return None


def _answer(status: int, reason: str, wait: str, body: bytes) -> OtlpAnswer:
    found = _object(body)
    if 200 <= status < 300:
        partial = found.get("partialSuccess")
        partial = partial if isinstance(partial, dict) else {}
        number = str(partial.get("rejectedLogRecords") or 0)
        rejected = int(number[:18]) if number.isascii() and number.isdecimal() else 0
        return OtlpAnswer(True, why=str(partial.get("errorMessage") or "") if rejected else "", rejected=rejected)
    message = str(found.get("message") or "")
    why = " ".join(word for word in (f"{status} {reason}".strip(), message) if word)
    return OtlpAnswer(False, status in _AGAIN, why, retry_after(wait, time.time()) if wait else None)


def _object(body: bytes) -> dict[str, Any]:
    try:
        return read_object(body, "answer")
    except InputRefusal:
        return {}


def _said(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
