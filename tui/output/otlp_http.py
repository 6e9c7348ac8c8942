"""OTLP requests over HTTP and the meaning of their answers; standard library client, one connection kept open.

Source: "OTLP/HTTP Response" of the specification: 429, 502, 503 and 504 may be tried again, after `Retry-After` if
that is given; no other answer may, and partially rejected data must not be sent again.
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

_RETRYABLE = (429, 502, 503, 504)
_MOST_ANSWER = 64 << 10
"""Bytes of an answer that are read."""
_MOST_WAIT = 3600.0


class OtlpAnswer(NamedTuple):
    """Result of a request."""

    is_accepted: bool
    can_retry: bool = False
    """True if the data may be accepted later."""
    reason: str = ""
    """Reason why all or part of the data was rejected. Foreign text."""
    wait: float | None = None
    """Seconds to wait, if the server named them."""
    rejected: int = 0
    """Log records rejected in an accepted request."""


class OtlpHttp:
    """Connection to one collector; call `post` from one thread, `abort` from any."""

    def __init__(self, settings: Settings) -> None:
        """Set the settings; nothing is sent. Raises BadSetting if the certificates can't be read."""
        self._settings = settings
        self._context: ssl.SSLContext | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._aborted = False
        if settings.url.scheme == "https":
            try:
                self._context = ssl.create_default_context(cafile=settings.certificate or None)
            except (OSError, ssl.SSLError) as error:
                raise BadSetting(f"{settings.certificate}: {error}") from None

    def packed(self, body: bytes) -> bytes:
        """Return a request body as it is sent."""
        return gzip.compress(body, 5, mtime=0) if self._settings.gzip else body

    def post(self, packed: bytes, timeout: float) -> OtlpAnswer:
        """Send one request; wait at most about `timeout` seconds for each network operation."""
        was_open = self._connection is not None
        try:
            return self._post(packed, timeout)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
            self._disconnect()
            if not was_open or self._aborted:
                return OtlpAnswer(False, can_retry=True, reason=_error_text(error))
        except ValueError as error:  # a setting or certificate has characters that no header or name can hold
            self._disconnect()
            return OtlpAnswer(False, reason=_error_text(error))
        except (OSError, http.client.HTTPException) as error:
            self._disconnect()
            return OtlpAnswer(
                False, can_retry=not isinstance(error, ssl.SSLCertVerificationError), reason=_error_text(error)
            )
        # The server has closed a connection that was idle for long: that is no failure.
        try:
            return self._post(packed, timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._disconnect()
            return OtlpAnswer(False, can_retry=not isinstance(error, ValueError), reason=_error_text(error))

    def abort(self) -> None:
        """End the current `post`, from another thread."""
        self._aborted = True
        sock = self._connection.sock if self._connection is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):  # it may have ended just now
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()

    def _post(self, packed: bytes, timeout: float) -> OtlpAnswer:
        if self._connection is None:
            self._connection = self._connect(timeout)
        connection = self._connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        url = self._settings.url
        headers = {"Content-Type": "application/json", "User-Agent": "probewright", **self._settings.headers}
        if self._settings.gzip:
            headers["Content-Encoding"] = "gzip"
        connection.request("POST", url.path + (f"?{url.query}" if url.query else ""), packed, headers)
        response = connection.getresponse()
        body = response.read(_MOST_ANSWER)
        if response.will_close or not response.isclosed():
            self._disconnect()
        return _answer(response.status, response.reason, response.headers.get("Retry-After", ""), body)

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        url = self._settings.url
        host = url.hostname or ""
        if self._context is not None:
            return http.client.HTTPSConnection(host, url.port or 443, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(host, url.port or 80, timeout=timeout)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def retry_after(text: str, now: float) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date (RFC 9110, 10.2.3); None: not readable.

    Args:
        text: value of the header.
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
        return OtlpAnswer(True, reason=str(partial.get("errorMessage") or "") if rejected else "", rejected=rejected)
    message = str(found.get("message") or "")
    why = " ".join(word for word in (f"{status} {reason}".strip(), message) if word)
    return OtlpAnswer(False, status in _RETRYABLE, why, retry_after(wait, time.time()) if wait else None)


def _object(body: bytes) -> dict[str, Any]:
    try:
        return read_object(body, "answer")
    except InputRefusal:
        return {}


def _error_text(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
