"""Events to a collector: what a request holds, by OpenTelemetry's own classes, and what comes of a refusal."""

from __future__ import annotations

import contextlib
import gzip
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from events.export.formats.otlp import LogEncoder, any_value
from events.export.source import ExportSource, is_name
from events.store.outage_mark import Outage
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.watch.watch import Watch
from tests.pure.export_events import record_of
from tests.pure.fake_hosts import FakeHost
from tests.pure.kernel.test_watch import Anything, probe
from tui.__main__ import main
from tui.cli.exports.sinks import _wall
from tui.output.otlp_http import OtlpHttp, retry_after
from tui.output.otlp_settings import BadSetting, host_of, resource_of, settings_of
from tui.output.otlp_sink import OtlpBounds, OtlpSink

HERE = str(shipped_recording())
QUICK = OtlpBounds(age=0.05, first=0.02, most=0.05, finish=30.0)
Reply = tuple[int, dict[str, str], bytes]
OK: Reply = (200, {}, b"{}")


class Collector:
    """A server on the loopback that answers as it is told, then with OK."""

    def __init__(self) -> None:
        self.requests: queue.Queue[ExportLogsServiceRequest] = queue.Queue()
        self.heads: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.replies: list[Reply] = []
        self.before: Callable[[], None] = lambda: None
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.before()
                collector.times.append(time.monotonic())
                collector.paths.append(self.path)
                collector.heads.append(dict(self.headers))
                status, head, answer = collector.replies.pop(0) if collector.replies else OK
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if status == 200:
                    collector.requests.put(json_format.Parse(body, ExportLogsServiceRequest()))
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in {**head, "Content-Length": str(len(answer))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, *words: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *words: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def records(self) -> list[dict[str, Any]]:
        """Attributes of all log records that came."""
        found = []
        while not self.requests.empty():
            for logs in self.requests.get().resource_logs:
                for scope in logs.scope_logs:
                    found += [{one.key: value_of(one.value) for one in log.attributes} for log in scope.log_records]
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()
    made.thread.join()


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(value_of(one) for one in value.array_value.values)
    return getattr(value, kind) if kind else None


class Sink:
    """A sink to a URL, and what it said."""

    def __init__(self, url: str, bounds: OtlpBounds = QUICK, **settings) -> None:
        self.said: list[str] = []
        found = settings_of(url, {})._replace(**settings)
        encoder = LogEncoder(ExportSource(), {"host.name": "there"}, "1")
        self.http = OtlpHttp(found)
        self.sink = OtlpSink(self.http, encoder, found, bounds=bounds, say=self.said.append)

    def give(self, *numbers: int) -> None:
        """Those of one call are of one batch, where it has room for them."""
        with self.sink._new:
            for number in numbers:
                self.sink.take(record_of({"n": number}))


def until(true: Callable[[], object], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(true())


# -- what is said of an event ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "there"),
    [
        (5, "int_value", 5),
        (-(1 << 63), "int_value", -(1 << 63)),
        ((1 << 63) - 1, "int_value", (1 << 63) - 1),
        (1 << 63, "string_value", str(1 << 63)),
        (True, "bool_value", True),
        ("x\ud800\x1b", "string_value", "x\\ud800\x1b"),
        (b"\0\xff", "bytes_value", b"\0\xff"),
        (None, None, None),
    ],
)
def test_values_have_their_type(value, kind, there):
    encoder = LogEncoder(ExportSource(), {})
    record = record_of({"n": 1})
    record.__dict__["values"] = {"n": value}
    parsed = json_format.Parse(encoder.request([encoder.record(record, 7, 9)]), ExportLogsServiceRequest())
    (log,) = parsed.resource_logs[0].scope_logs[0].log_records
    found = next(one.value for one in log.attributes if one.key == "n")
    assert found.WhichOneof("value") == kind
    assert value_of(found) == there
    assert type(value_of(found)) is type(there)


@pytest.mark.parametrize(
    ("value", "text", "is_one"),
    [
        (255, "255", False),
        (255, "0xff", False),
        (-1, "-1", False),
        (-2, "ENOENT", True),
        (1, "", False),
        (True, "yes", False),
        ("x", "y", False),
    ],
)
def test_a_number_in_other_digits_is_no_name(value, text, is_one):
    assert is_name(value, text) is is_one
    record = record_of({"n": 1})
    record.__dict__["values"] = {"n": value}
    encoder = LogEncoder(ExportSource(field_texts=lambda _: [("n", text)]), {})
    assert (b'"n.text"' in encoder.record(record, None, 1)) is is_one


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_64_bits_stand_in_strings(number):
    (text,) = any_value(number).values()
    assert text == str(number)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.binary(max_size=20), min_size=1, max_size=4))
def test_any_string_of_the_kernel_arrives(values):
    encoder = LogEncoder(ExportSource(), {"host.name": 'a","scope":{'}, "1")
    record = record_of({name: raw.replace(b"\0", b"") for name, raw in values.items()}, comm='"}\n')
    body = encoder.request([encoder.record(record, None, 9)] * 2)
    assert body.isascii()
    parsed = json_format.Parse(body, ExportLogsServiceRequest())
    first, second = parsed.resource_logs[0].scope_logs[0].log_records
    assert first == second
    found = {one.key: value_of(one.value) for one in first.attributes}
    from events.export.escape import unescape_text

    assert {name: unescape_text(found[name]) for name in values} == {
        n: v.replace(b"\0", b"") for n, v in values.items()
    }
    assert found["thread.name"] == '"}\n'
    assert first.time_unix_nano == 0 and first.observed_time_unix_nano == 9


def test_a_recording_reaches_a_collector(collector, capsys, monkeypatch):
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.node.name=n%2C1,host.name=node")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
    words = ["run", "f vfs_read%return file->f_pos count $retval", "--target", HERE]
    assert main([*words, "--json"]) == 0
    wanted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main([*words, "--export", f"otlp:{collector.url}", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"url": f"{collector.url}/v1/logs", "format": "otlp", "events": len(wanted), "dropped": 0}
    assert set(collector.paths) == {"/v1/logs"}
    heads = {name.lower(): value for name, value in collector.heads[0].items()}
    assert (heads["content-type"], heads["content-encoding"]) == ("application/json", "gzip")
    assert heads["authorization"] == "Bearer x"
    resource = collector.requests.queue[0].resource_logs[0].resource
    about = {one.key: one.value.string_value for one in resource.attributes}
    assert about["service.name"] == "probewright" and about["host.name"] == "node" and about["k8s.node.name"] == "n,1"
    assert about["os.type"] == "linux" and about["os.version"].startswith("7.2") and about["host.arch"] == "amd64"
    logs = collector.requests.queue[0].resource_logs[0].scope_logs[0].log_records
    assert logs[0].event_name == "vfs_read__exit" and logs[0].body.string_value.startswith("vfs_read__exit f_pos=")
    records = collector.records()
    assert len(records) == len(wanted) > 100
    for record, one in zip(records, wanted, strict=True):
        assert record["probewright.trace_time"] == one["ts"] and record["thread.id"] == one["pid"]
        assert record["thread.name"] == one["comm"] and record["probewright.event"] == one["event"]
        for name in ("f_pos", "count", "ret"):
            assert record[name] == one["values"][name] and type(record[name]) is int
            assert record.get(f"{name}.text", str(record[name])) == one["text"][name]


# -- a collector that is away, slow, or says no ---------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_be_tried_again_is(collector, status):
    collector.replies = [(status, {}, b'{"message":"busy"}')] * 2
    with_busy = Sink(collector.url)
    with_busy.give(1, 2, 3)
    assert until(lambda: with_busy.sink.sent == 3)
    with_busy.sink.finish()
    assert [record["n"] for record in collector.records()] == [1, 2, 3]
    assert (with_busy.sink.dropped, with_busy.sink.notes) == (0, ())
    assert len(collector.times) == 3
    assert f"{status}" in with_busy.said[0] and "busy; it is tried again" in with_busy.said[0]
    assert with_busy.said[1].endswith("takes events again")


def test_what_is_refused_is_not_sent_again(collector):
    collector.replies = [(400, {}, b'{"code":3,"message":"bad \x1b[2J"}'), (500, {}, b"not json")]
    sink = Sink(collector.url)
    sink.give(1)
    assert until(lambda: sink.sink.rejected == 1)
    sink.give(2)
    assert until(lambda: sink.sink.rejected == 2)
    sink.give(3)
    sink.sink.finish()
    assert (len(collector.times), [record["n"] for record in collector.records()]) == (3, [3])
    assert len(sink.said) == 1 and "1 event dropped: 400 Bad Request" in sink.said[0]
    (note,) = sink.sink.notes
    assert note.startswith("2 events dropped: the collector refused them: 500")
    assert not sink.sink.report().failed


def test_a_redirect_is_no_answer(collector):
    """A client that follows one would send a GET, or the events to somebody else."""
    collector.replies = [(302, {"Location": "/elsewhere"}, b"")]
    sink = Sink(collector.url)
    sink.give(1)
    sink.sink.finish()
    assert (sink.sink.rejected, collector.paths) == (1, ["/v1/logs"])
    assert sink.sink.report().failed


def test_retry_after_is_honoured(collector):
    """For as long as the collector asked, its next answer would be taken: until then it is not asked."""
    collector.replies = [(503, {"Retry-After": "1"}, b"")]
    sink = Sink(collector.url)
    sink.give(1)
    assert until(lambda: sink.sink.sent == 1)
    assert collector.times[1] - collector.times[0] >= 1.0
    collector.replies = [(429, {"Retry-After": "600"}, b"")]
    sink.give(2)
    assert until(lambda: len(collector.times) == 3)
    sink.give(3)
    sink.sink.finish()
    assert len(collector.times) == 3, "nor is it at the end"
    assert (sink.sink.sent, sink.sink.abandoned) == (1, 2)
    assert sink.sink.notes == ("2 events dropped: not sent in time: 429 Too Many Requests",)


def test_retry_after_holds_for_what_comes_after_a_batch_that_was_given_up(collector):
    collector.replies = [(503, {"Retry-After": "3"}, b"")]
    sink = Sink(collector.url, QUICK._replace(max_age=1.0, age=0.01))
    sink.give(1)
    assert until(lambda: sink.sink.abandoned == 1)
    assert len(collector.times) == 1
    while not sink.sink.sent and len(collector.times) < 2:
        sink.give(2)
        time.sleep(0.005)
    assert until(lambda: sink.sink.sent)
    assert collector.times[1] - collector.times[0] >= 3.0, "others have come in between"
    sink.sink.finish()
    assert sink.said[0].endswith("it is tried again") and sink.said[-1].endswith("takes events again")


def test_one_batch_waits_as_long_as_its_own_patience(collector):
    """The collector asks for longer: that batch is lost, and none is tried before."""
    collector.replies = [(503, {"Retry-After": "600"}, b"")]
    sink = Sink(collector.url, QUICK._replace(max_age=1.0, age=0.01))
    began = time.monotonic()
    sink.give(1)
    assert until(lambda: sink.sink.abandoned == 1)
    assert time.monotonic() - began >= 1.0, "it is not dropped at once"
    sink.give(2)
    assert until(lambda: sink.sink.abandoned == 2)
    sink.give(3)
    assert until(lambda: sink.sink.abandoned == 3)
    sink.sink.finish()
    assert len(collector.times) == 1


def test_a_collector_that_always_says_now_is_given_up_too(collector):
    collector.replies = [(503, {"Retry-After": "0"}, b"")] * 1000
    sink = Sink(collector.url, QUICK._replace(max_age=0.3))
    sink.give(1)
    assert until(lambda: sink.sink.abandoned == 1)
    assert len(collector.times) < 50, "as often as without it"
    sink.sink.finish()


def test_what_no_request_can_hold_is_refused_and_the_thread_goes_on(collector):
    sink = Sink(collector.url, headers={"a:b": "c"})
    sink.give(1)
    assert until(lambda: sink.sink.rejected == 1)
    sink.http._settings = sink.http._settings._replace(headers={})
    sink.give(2)
    assert until(lambda: sink.sink.sent == 1)
    sink.sink.finish()
    assert "1 event dropped: Invalid header name" in sink.said[0]


def test_what_is_taken_in_part_is_counted(collector):
    partial = b'{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}'
    collector.replies = [(200, {}, partial)]
    sink = Sink(collector.url)
    sink.give(1, 2, 3)
    assert until(lambda: sink.said)
    sink.sink.finish()
    assert (sink.sink.sent, sink.sink.rejected, len(collector.times)) == (1, 2, 1)
    assert sink.said == [f"{collector.url}/v1/logs: 2 events dropped: too old"]


def test_a_collector_that_was_not_there_gets_what_waited(collector):
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = line.getsockname()[1]
        sink = Sink(f"http://127.0.0.1:{port}")  # bound, not listening: refused, and nobody else's
        sink.give(1, 2)
        assert until(lambda: sink.said)
        assert "Connection refused; it is tried again" in sink.said[0]
        sink.http._settings = settings_of(collector.url, {})
    assert until(lambda: sink.sink.sent == 2)
    sink.sink.finish()
    assert [record["n"] for record in collector.records()] == [1, 2]


def test_memory_is_bounded_and_what_found_no_room_is_counted(collector):
    go = threading.Event()
    collector.before = lambda: go.wait(60)
    sink = Sink(collector.url, QUICK._replace(max_bytes=20_000, batch=2_000))
    sink.give(*range(1000))
    assert sink.sink._held <= 20_000
    kept = 1000 - sink.sink.overfull
    assert 10 < kept < 100
    go.set()
    sink.sink.finish()
    assert [record["n"] for record in collector.records()] == [*range(kept)]
    assert sink.sink.notes[0].startswith(f"{1000 - kept:,} events dropped: the collector was away or too slow")
    assert sink.sink._held == 0


def test_the_end_does_not_wait_for_a_server_that_hangs(collector):
    go = threading.Event()
    collector.before = lambda: go.wait(60)
    sink = Sink(collector.url, QUICK._replace(finish=0.3))
    sink.give(1)
    assert until(lambda: sink.sink._sending)
    sink.give(2, 3)
    sink.sink.finish()
    assert until(lambda: not sink.sink._thread.is_alive())
    assert (sink.sink.sent, sink.sink.abandoned) == (0, 3)
    assert sink.sink.report().failed
    go.set()


def test_a_server_that_never_answers_is_given_up_in_time(collector):
    go = threading.Event()
    collector.before = lambda: go.wait(60)
    sink = Sink(collector.url, QUICK._replace(max_age=0.4), timeout=0.1)
    sink.give(1)
    assert until(lambda: sink.sink.abandoned == 1 and sink.said)
    assert "no answer in time" in sink.said[0]
    go.set()
    sink.sink.finish()


def test_batches_end_by_their_size_and_by_their_age(collector):
    sink = Sink(collector.url, OtlpBounds(batch=3_000, age=3600))
    sink.give(*range(30))
    assert until(lambda: sink.sink.sent)
    assert 0 < sink.sink.sent < 30, "the last ones wait"
    sink.sink.finish()
    assert sink.sink.sent == 30
    assert len(collector.times) > 3
    aged = Sink(collector.url)
    aged.give(1)
    assert until(lambda: aged.sink.sent == 1), "it is sent before the end"
    aged.sink.finish()


def test_a_connection_that_the_server_closed_meanwhile_is_no_failure(collector):
    collector.replies = [(200, {"X": "1"}, b"{}")]
    sink = Sink(collector.url)
    sink.give(1)
    assert until(lambda: sink.sink.sent == 1)
    line = sink.http._connection
    assert line is not None and line.sock is not None
    line.sock.shutdown(socket.SHUT_RDWR)
    sink.give(2)
    assert until(lambda: sink.sink.sent == 2)
    sink.sink.finish()
    assert sink.said == []


def test_nobody_there_is_a_failure_that_is_told(capsys, monkeypatch):
    monkeypatch.setattr(
        "tui.output.otlp_sink.OtlpBounds.__new__.__defaults__", (512 << 10, 1.0, 16 << 20, 0.05, 0.1, 1.0, 0.5)
    )
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{line.getsockname()[1]}/x"
        assert main([HERE, "--export", f"otlp:{url}"]) == 1
    told = capsys.readouterr().err
    assert "Connection refused" in told and f"{url}: 0 events" in told and "events dropped: not sent in time" in told


# -- settings -------------------------------------------------------------------------------------------------------


def test_the_environment_says_where():
    logs, both = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
    assert settings_of("", {}).url_text == "http://localhost:4318/v1/logs"
    assert settings_of("", {both: "https://a:1/base/"}).url_text == "https://a:1/base/v1/logs"
    assert settings_of("", {both: "https://a", logs: "http://b/own"}).url_text == "http://b/own"
    assert settings_of("http://c", {both: "https://a"}).url_text == "http://c/v1/logs"
    assert settings_of("http://c/x?y=1", {}).url_text == "http://c/x?y=1"
    found = settings_of("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_COMPRESSION": "none"})
    assert (found.timeout, found.gzip) == (2.5, False)
    about = resource_of({"OTEL_SERVICE_NAME": "mine"}, host="", machine="aarch64", release="6.1", title="t")
    assert about["service.name"] == "mine" and about["host.arch"] == "arm64" and "host.name" not in about


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        ("foo", {}),
        ("ftp://a", {}),
        ("http://", {}),
        ("http://a:99999", {}),
        ("http://u:p@a", {}),
        ("http://a/\r\nx: y", {}),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%0d%0ac: d"}),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a"}),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a:b=c"}),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a%20b=c"}),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "Content-Length=3"}),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "transfer-encoding=chunked"}),
        ("http://a..b", {}),
        (f"http://{'a' * 64}", {}),
        ("https://a", {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/such.pem"}),
        ("", {"OTEL_RESOURCE_ATTRIBUTES": "host.name"}),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}),
        ("", {"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}),
    ],
)
def test_what_cannot_be_meant_is_refused(url, environment, capsys, monkeypatch):
    with pytest.raises(BadSetting) as error:
        OtlpHttp(settings_of(url, environment))
        host_of(environment)
    assert "p@" not in str(error.value), "nor is a password told"
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main([HERE, "--export", f"otlp:{url}"]) == 2
    assert capsys.readouterr().err.startswith("probewright: ")
    monkeypatch.setattr(
        "tui.cli.commands.run.connect", lambda *_, **__: pytest.fail("it is told before a target is opened")
    )
    assert main(["run", "f vfs_read", "-t", HERE, "--export", f"otlp:{url}"]) == 2


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7.0), (" 0 ", 0.0), ("", None), ("x", None), ("-1", None), ("9" * 30, 3600.0)]
)
def test_retry_after_is_a_number(text, seconds):
    assert retry_after(text, 1000.0) == seconds


@given(st.integers(-10_000, 10_000))
def test_retry_after_is_a_date(ahead):
    now = 1_700_000_000
    assert retry_after(formatdate(now + ahead, usegmt=True), now) == min(max(0.0, ahead), 3600.0)


class _Watch:
    """Of what tells when an event happened: where it was, and by which clock."""

    def __init__(self, target: str, clocks: str) -> None:
        self.info = SimpleNamespace(target=SimpleNamespace(name=target))
        self.session = SimpleNamespace(instance=SimpleNamespace(read=lambda name: clocks))


def test_when_an_event_happened_is_known_where_its_clock_is_ours():
    wall = _wall(_Watch("local", "local global counter [mono] boot\n"))
    assert wall is not None
    first, later = wall(1_000), wall(2_000)
    assert first is not None and later == first + 1_000
    now = wall(time.monotonic_ns())
    assert now is not None and abs(now - time.time_ns()) < 60 * 10**9
    for target, clocks in (("local", "[local] global mono"), ("ssh://there", "local [mono]"), ("x.pwr", "[mono]")):
        assert _wall(_Watch(target, clocks))(1_000) is None


def test_events_of_another_clock_have_their_time_by_its_offset():
    """Behind a lost connection too, where that clock may have begun again."""
    host = FakeHost("far", behind=50 * 10**9)
    watch = Watch(Anything(KernelInfo(host)))
    watch.armed.arm(probe("vfs_read"))
    try:
        wall = _wall(watch)
        now = wall(time.time_ns() - host.behind)
        assert now is not None and abs(now - time.time_ns()) < 30 * 10**9
        first, later = wall(1_000), wall(2_000)
        assert first is not None and later == first + 1_000
        host.behind = 5000 * 10**9
        watch.intake.outages = (Outage(1.0, booted=True),)
        now = wall(time.time_ns() - host.behind)
        assert now is not None and abs(now - time.time_ns()) < 30 * 10**9
    finally:
        watch.close()


def test_a_clock_that_nobody_can_read_gives_no_time():
    assert _wall(_Watch("x.pwr", ""))(1_000) is None
