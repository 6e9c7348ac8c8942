"""Where logs go over OTLP/HTTP, and as whose: the URL, and what the environment says to all of OpenTelemetry.

Source: "OpenTelemetry Protocol Exporter" and "Resource SDK" of the specification. `OTEL_EXPORTER_OTLP_ENDPOINT` gets
`v1/logs` behind it, `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT` is taken as it is; what is meant for logs alone goes first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from foreign.text import whole_number

_PATH = "/v1/logs"
_DEFAULT = "http://localhost:4318"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "i386": "x86", "i686": "x86", "ppc64le": "ppc64"}
"""`uname -m` -> host.arch of the semantic conventions."""

_LONGEST_TIMEOUT = 86_400_000
"""Milliseconds: a day."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""What names a header (RFC 9110, 5.6.2)."""
_OURS = ("content-encoding", "content-length", "content-type", "host", "transfer-encoding")
"""Headers that say what is sent, and how: only who sends it can tell."""


class BadSetting(Exception):
    """A URL or a setting that can't be meant; the text says which and why."""


class Settings(NamedTuple):
    """How logs are sent."""

    url: SplitResult
    headers: Mapping[str, str]
    timeout: float = 10.0
    """Seconds for one request."""
    gzip: bool = True
    certificate: str = ""
    """File of the authorities that are trusted; empty: the system's."""

    @property
    def shown(self) -> str:
        """The URL as it is told."""
        return self.url.geturl()


def settings_of(url: str, environment: Mapping[str, str]) -> Settings:
    """What was asked for.

    Args:
        url: as given, `http://HOST:4318`; empty: as the environment says, else the default of OTLP.
        environment: `OTEL_EXPORTER_OTLP_…`.

    Raises BadSetting.
    """

    def said(name: str, default: str = "") -> str:
        keys = (f"OTEL_EXPORTER_OTLP_LOGS_{name}", f"OTEL_EXPORTER_OTLP_{name}")
        return next((environment[key] for key in keys if environment.get(key)), default)

    if not url and environment.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"):
        found = _split(environment["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
    elif url:
        found = _split(url)
        found = found if found.path.strip("/") else found._replace(path=_PATH)
    else:
        found = _split(environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT)
        found = found._replace(path=found.path.rstrip("/") + _PATH)
    milliseconds = said("TIMEOUT", "10000")
    if not (timeout := whole_number(milliseconds)) or timeout > _LONGEST_TIMEOUT:
        raise BadSetting(f"OTEL_EXPORTER_OTLP_TIMEOUT: {milliseconds[:40]} is no number of milliseconds")
    compression = said("COMPRESSION", "gzip")
    if compression not in ("gzip", "none"):
        raise BadSetting(f"OTEL_EXPORTER_OTLP_COMPRESSION: {compression} is neither gzip nor none")
    return Settings(found, _headers(said("HEADERS")), timeout / 1000, compression == "gzip", said("CERTIFICATE"))


def resource_of(
    environment: Mapping[str, str], *, host: str, machine: str, release: str, title: str
) -> dict[str, str]:
    """Attributes of where the events are from; `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` win.

    Args:
        environment: of this process.
        host: name of the machine whose kernel is probed; empty: not known.
        machine: `uname -m`.
        release: `uname -r`.
        title: the kernel in a few words.
    """
    found = {
        "service.name": "probewright",
        **({"host.name": host} if host else {}),
        "host.arch": _MACHINES.get(machine, machine),
        "os.type": "linux",
        "os.version": release,
        "os.description": title,
    }
    found |= _pairs(environment.get("OTEL_RESOURCE_ATTRIBUTES", ""), "OTEL_RESOURCE_ATTRIBUTES")
    if environment.get("OTEL_SERVICE_NAME"):
        found["service.name"] = environment["OTEL_SERVICE_NAME"]
    return found


def host_of(environment: Mapping[str, str]) -> str:
    """`host.name` of OTEL_RESOURCE_ATTRIBUTES; empty: it does not say one. Raises BadSetting."""
    return _pairs(environment.get("OTEL_RESOURCE_ATTRIBUTES", ""), "OTEL_RESOURCE_ATTRIBUTES").get("host.name", "")


def _split(url: str) -> SplitResult:
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError as error:
        raise BadSetting(f"{url}: {error}") from None
    if found.scheme not in ("http", "https") or not found.hostname or port == 0:
        raise BadSetting(f"{url}: say http://HOST:4318 or https://HOST")
    if found.username is not None:
        raise BadSetting("no password in a URL: OTEL_EXPORTER_OTLP_HEADERS takes authorization=Basic%20…")
    if any(ch.isspace() or not ch.isprintable() or not ch.isascii() for ch in url):
        raise BadSetting(f"{url}: only printable ASCII can stand in a URL")
    try:
        found.hostname.encode("idna")  # as the resolver does
    except UnicodeError:
        raise BadSetting(f"{url}: {found.hostname} is no name of a host") from None
    return found._replace(fragment="")


def _headers(text: str) -> dict[str, str]:
    found = _pairs(text, "OTEL_EXPORTER_OTLP_HEADERS")
    for name, value in found.items():
        if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
            raise BadSetting(f"OTEL_EXPORTER_OTLP_HEADERS: {name} holds what no header can")
        if name.lower() in _OURS:
            raise BadSetting(f"OTEL_EXPORTER_OTLP_HEADERS: {name} is set by what is sent")
    return found


def _pairs(text: str, where: str) -> dict[str, str]:
    """`name=value,…`, percent-encoded (W3C Baggage)."""
    found = {}
    for pair in text.split(","):
        name, equals, value = pair.partition("=")
        if not pair.strip():
            continue
        if not equals or not name.strip():
            raise BadSetting(f"{where}: {pair.strip()} is not NAME=VALUE")
        found[unquote(name.strip())] = unquote(value.strip())
    return found
