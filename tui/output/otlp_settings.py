"""Settings of OTLP over HTTP: URL and resource attributes, from the option and OpenTelemetry's environment variables.

Source: "OpenTelemetry Protocol Exporter" and "Resource SDK" of the specification. `v1/logs` is appended to
`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT` is used unchanged; variables for logs take
precedence.
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
"""Values of `uname -m` -> host.arch of the semantic conventions."""

_LONGEST_TIMEOUT = 86_400_000
"""Milliseconds of a day."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Name of a header (RFC 9110, 5.6.2)."""
_OURS = ("content-encoding", "content-length", "content-type", "host", "transfer-encoding")
"""Headers that describe the request itself: only the sender can set them."""


class BadSetting(Exception):
    """URL or setting that can't be right; the text names it and the reason."""


class Settings(NamedTuple):
    """Settings for sending logs."""

    url: SplitResult
    headers: Mapping[str, str]
    timeout: float = 10.0
    """Seconds for one request."""
    gzip: bool = True
    certificate: str = ""
    """File of the trusted authorities; empty: the system's."""

    @property
    def url_text(self) -> str:
        """URL as it is printed."""
        return self.url.geturl()


def settings_of(url: str, environment: Mapping[str, str]) -> Settings:
    """Return the settings of an option and the environment.

    Args:
        url: URL of the option, `http://HOST:4318`; empty: from the environment, else the default of OTLP.
        environment: holds `OTEL_EXPORTER_OTLP_…`.

    Raises BadSetting.
    """

    def variable(name: str, default: str = "") -> str:
        keys = (f"OTEL_EXPORTER_OTLP_LOGS_{name}", f"OTEL_EXPORTER_OTLP_{name}")
        return next((environment[key] for key in keys if environment.get(key)), default)

    if not url and environment.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"):
        endpoint = _split(environment["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
    elif url:
        endpoint = _split(url)
        endpoint = endpoint if endpoint.path.strip("/") else endpoint._replace(path=_PATH)
    else:
        endpoint = _split(environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT)
        endpoint = endpoint._replace(path=endpoint.path.rstrip("/") + _PATH)
    milliseconds = variable("TIMEOUT", "10000")
    if not (timeout := whole_number(milliseconds)) or timeout > _LONGEST_TIMEOUT:
        raise BadSetting(f"OTEL_EXPORTER_OTLP_TIMEOUT: {milliseconds[:40]} is no number of milliseconds")
    compression = variable("COMPRESSION", "gzip")
    if compression not in ("gzip", "none"):
        raise BadSetting(f"OTEL_EXPORTER_OTLP_COMPRESSION: {compression} is neither gzip nor none")
    return Settings(
        endpoint, _headers(variable("HEADERS")), timeout / 1000, compression == "gzip", variable("CERTIFICATE")
    )


def resource_of(
    environment: Mapping[str, str], *, host: str, machine: str, release: str, title: str
) -> dict[str, str]:
    """Return resource attributes for the origin of the events; `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`
    win.

    Args:
        environment: environment of this process.
        host: name of the probed machine; empty: unknown.
        machine: `uname -m`.
        release: `uname -r`.
        title: short description of the kernel.
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
    """Return `host.name` of OTEL_RESOURCE_ATTRIBUTES; empty: not given. Raises BadSetting."""
    return _pairs(environment.get("OTEL_RESOURCE_ATTRIBUTES", ""), "OTEL_RESOURCE_ATTRIBUTES").get("host.name", "")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadSetting(f"{url}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadSetting(f"{url}: say http://HOST:4318 or https://HOST")
    if parts.username is not None:
        raise BadSetting("no password in a URL: OTEL_EXPORTER_OTLP_HEADERS takes authorization=Basic%20…")
    if any(ch.isspace() or not ch.isprintable() or not ch.isascii() for ch in url):
        raise BadSetting(f"{url}: only printable ASCII can stand in a URL")
    try:
        parts.hostname.encode("idna")  # as the resolver does
    except UnicodeError:
        raise BadSetting(f"{url}: {parts.hostname} is no name of a host") from None
    return parts._replace(fragment="")


def _headers(text: str) -> dict[str, str]:
    found = _pairs(text, "OTEL_EXPORTER_OTLP_HEADERS")
    for name, value in found.items():
        if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
            raise BadSetting(f"OTEL_EXPORTER_OTLP_HEADERS: {name} holds what no header can")
        if name.lower() in _OURS:
            raise BadSetting(f"OTEL_EXPORTER_OTLP_HEADERS: {name} is set by what is sent")
    return found


def _pairs(text: str, where: str) -> dict[str, str]:
    """Parse `name=value,…`, percent-encoded (W3C Baggage)."""
    found = {}
    for pair in text.split(","):
        name, equals, value = pair.partition("=")
        if not pair.strip():
            continue
        if not equals or not name.strip():
            raise BadSetting(f"{where}: {pair.strip()} is not NAME=VALUE")
        found[unquote(name.strip())] = unquote(value.strip())
    return found
