"""The door for what comes from outside: each bound, and each way to go past it that was seen."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import tarfile
import zlib
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from events.batch import Batch, Chunk
from events.format import FormatError, parse_format
from events.print_format import parse_print_fmt
from events.recording.chunks import pack_batch, unpack_batches
from events.recording.reader import Recording, parse_cmdlines
from events.store.cgroups import unpack as unpack_cgroups
from events.summary.hist_text import parse_hist
from foreign.archive import TarBounds, read_tar
from foreign.document import read_json, read_object
from foreign.files import read_file
from foreign.packed import gunzip, inflate, unpack, unxz
from foreign.refusal import InputRefusal
from foreign.text import encode_text, lines_from, lines_of, whole_number, without_surrogates
from foreign.toml import TomlBounds, read_toml
from kernel.attach.absent_modules import AbsentModules
from kernel.connection.environment import HostEnvironment
from kernel.errors import FileRefused
from kernel.facts.gather import gather
from kernel.hosts.errors import GroupError
from kernel.hosts.groups import HostGroups
from kernel.local.target import LocalTarget
from kernel.tracefs import parse_stats
from probes.presets.errors import PresetError
from probes.presets.read import read_preset
from tests import hostile
from tests.btf_writer import every_kind
from tests.fake_target import ROOT, FakeTarget
from tests.fuzz import material
from tests.pure.kernel.test_callers import DISK
from tui.output.otlp_settings import BadSetting, settings_of

PACKED = [(gunzip, gzip.compress), (inflate, zlib.compress), (unxz, partial(lzma.compress, preset=0))]
"""The dictionary of xz's usual preset is a hundred megabytes, for some bytes."""


@pytest.mark.parametrize(("take", "pack"), PACKED)
@given(data=st.binary(max_size=300), more=st.integers(0, 50))
def test_what_is_packed_comes_out_whole_or_is_refused(take, pack, data, more):
    assert take(pack(data), "x", len(data) + more) == data
    if data:
        with pytest.raises(InputRefusal, match=f"^x: unpacks to more .at most {len(data) - 1} bytes"):
            take(pack(data), "x", len(data) - 1)
        with pytest.raises(InputRefusal, match=r"^x: damaged packed data"):
            take(pack(data)[:-9], "x", len(data))


def test_members_behind_each_other_are_one_and_bounded():
    assert unpack(gzip.compress(b"ab") + gzip.compress(b"c") + bytes(20), "x") == b"abc"
    with pytest.raises(InputRefusal, match="packed streams behind each other"):
        gunzip(gzip.compress(b"") * 2000, "x")
    with pytest.raises(InputRefusal, match="unpacks to more"):
        gunzip(gzip.compress(bytes(1 << 20)) * 100, "x", 16 << 20)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("how", ["w", "w:gz", "w:xz"])
def test_a_tar_file_is_read_as_tarfile_reads_it(form, how):
    names = {"a": b"x" * 700, "b/" + "c" * 90 + "/" + "d" * 60: b"", "ä" * 40: b"y", "./e": bytes(512)}
    if form != tarfile.USTAR_FORMAT:
        names["f" * 300] = b"z"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=how, format=form) as tar:
        for name, data in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert read_tar(out.getvalue(), "x") == {name.removeprefix("./"): data for name, data in names.items()}


def test_a_tar_file_is_bounded_in_members_bytes_and_names():
    of_three = hostile.tar_of({name: bytes(30_000) for name in "abc"})
    small = TarBounds(30_000, 50_000, 2)
    for bounds, words in (
        (small._replace(total=900_000), "more members"),
        (small._replace(members=9), "its files have"),
    ):
        with pytest.raises(InputRefusal, match=words):
            read_tar(of_three, "x", bounds)
    assert read_tar(of_three, "x", TarBounds(29_999, 90_000, 9)) == {}
    for data in (b"", bytes(1024), b"x" * 2000):
        with pytest.raises(InputRefusal) if data.strip(b"\0") else _nothing():
            assert read_tar(data, "x") == {}
    for data, words in ((hostile.many_headers(), "more members"), (hostile.long_header(), "a header of 734003200")):
        with pytest.raises(InputRefusal, match=words):
            read_tar(data, "x")


def _nothing():
    import contextlib

    return contextlib.nullcontext()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 70 + "]" * 70,
        "Infinity",
        "NaN",
        "[1e999]",
        "9" * 5000,
        "[" + "1," * (1 << 20) + "1]",
        "{",
        "",
    ],
)
def test_json_is_refused_with_its_bound(text):
    with pytest.raises(InputRefusal) as refused:
        read_json(text, "x")
    assert str(refused.value).startswith("x: ") and "\n" not in str(refused.value)


def test_json_has_no_lone_surrogates():
    assert read_object('{"a\\ud800": ["\\udc80", "\\u00e4"]}', "x") == {"a\\ud800": ["\\udc80", "ä"]}
    with pytest.raises(InputRefusal, match="no object"):
        read_object("[]", "x")
    assert read_json(b'"\xff"', "x") == "\ufffd"


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_every_text_can_be_written(text):
    without_surrogates(text).encode()


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_every_text_has_bytes(text):
    assert isinstance(encode_text(text), bytes)


@given(st.binary(max_size=20))
def test_a_text_that_was_read_from_bytes_has_these_again(data):
    assert encode_text(data.decode("utf-8", "surrogateescape")) == data


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "vfs_read\udcff", "\udcff\udc00x"])
def test_a_name_that_no_kernel_has_is_looked_for_like_any(name):
    """People paste such names, and arguments of a command that are no UTF-8 are such."""
    btf = Btf.load(every_kind())
    assert not btf.has_function(name) and not btf.has_name(name) and btf.find(name) is None
    target = FakeTarget(
        {
            **DISK,
            "/proc/kallsyms": b"ffffffff81000000 T one\nffffffff81001000 t \xff\nffffffff81001000 t two\n",
        }
    )
    assert not AbsentModules(target, "6.12.0").with_function(name)
    around = HostEnvironment(target, ROOT)
    assert around._count(name)[:2] == (0, 0)
    assert around._count("two").twins == ("\udcff",)
    for ask in (target.read, LocalTarget().read):
        with pytest.raises(FileRefused):
            ask(f"/proc/{name}", 10)


@given(st.text(max_size=50))
def test_a_number_is_one_or_none(text):
    found = whole_number(text)
    assert (found is not None) == (text.isascii() and text.isdigit() and len(text) <= 40)
    assert lines_of(text, "x", 50) == (text.split("\n")[:-1] if text.endswith("\n") or not text else text.split("\n"))


def test_lines_and_files_are_bounded(tmp_path: Path):
    with pytest.raises(InputRefusal, match=r"x: 3 lines \(at most 2\)"):
        lines_of("a\nb\nc\n", "x", 2)
    (tmp_path / "a").write_bytes(bytes(10))
    assert read_file(tmp_path / "a", 10) == bytes(10)
    with pytest.raises(InputRefusal, match="10 bytes"):
        read_file(tmp_path / "a", 9)
    for place in ("/dev/zero", "/dev/full", str(tmp_path)):
        with pytest.raises(InputRefusal, match="no regular file"):
            read_file(place, 10)


# -- what stands behind it ---------------------------------------------------------------------------------------


def test_empty_passes_cost_nothing_and_small_ones_what_they_weigh():
    real = Batch((Chunk(0, b"x"),), True)
    raw = b"\1\0\0\0\0" * 1000 + pack_batch(real) + b"\0\0\0\0\0" * 1000 + pack_batch(real)
    assert list(unpack_batches(raw, 100)) == [Batch((), True), real, real]
    with pytest.raises(InputRefusal, match="more passes"):
        list(unpack_batches(pack_batch(real) * 2000, 100))
    with pytest.raises(InputRefusal, match="a pass of"):
        list(unpack_batches(b"\1\xff\xff\xff\0"))


@pytest.mark.parametrize(
    ("path", "text", "fact", "value"),
    [
        ("/sys/devices/system/cpu/online", "0-", "cpus", 1),
        ("/sys/devices/system/cpu/online", "0-99999999999", "cpus", 8192),
        ("/sys/devices/system/cpu/online", "9" * 5000, "cpus", 1),
        ("/sys/devices/system/cpu/online", "3-1,²", "cpus", 1),
        ("/sys/kernel/address_bits", "7", "long_size", 8),
        ("/sys/kernel/address_bits", "9" * 5000, "long_size", 8),
        ("/proc/self/status", "Uid:\t0\t" + "9" * 5000 + "\nCapEff:\t" + "f" * 5000, "uid", 0),
    ],
)
def test_odd_files_of_a_machine_are_facts(path, text, fact, value):
    files = {name: data.encode() for name, data in material.machine().items()} | {path: text.encode()}
    files.pop(f"{ROOT}/events/header_page")
    assert getattr(gather(FakeTarget(files)), fact) == value


def test_a_list_of_functions_is_bounded():
    files = {name: data.encode() for name, data in material.machine().items()}
    files[f"{ROOT}/available_filter_functions"] = b"a\n" * 500_000
    with pytest.raises(InputRefusal, match="available_filter_functions: 500000 lines"):
        gather(FakeTarget(files))


LONG = 200_000
"""Letters: what takes a step for each pair of them takes longer than a test may."""


@pytest.mark.parametrize(
    "line",
    [
        'print fmt: "%' + "0" * LONG + '!", REC->a',
        "\tfield: " + "a " * 499 + ";\toffset:0;\tsize:4;",
        "\tfield: " + "[" * 998 + ";\toffset:0;\tsize:4;",
    ],
)
def test_a_line_of_a_format_file_is_read_once(line):
    text = f"name: x\nID: 1\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n{line}\n"
    with contextlib.suppress(FormatError):
        parse_format(text)
    parse_print_fmt(line.partition(": ")[2])


def test_numbers_and_long_lines_of_histograms_and_counts():
    head = "# event histogram\n#\n# trigger info: hist:keys=a:vals=hitcount [active]\n#\n"
    ends = "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n"
    for line in (
        "{ a: 1 } " + "b" * LONG,
        "{ a: 1 } hitcount: 1.2.3",
        "{ a: " + "9" * 5000 + " } hitcount: 1",
    ):
        for found in parse_hist(f"{head}\n{line}\n{ends}"):
            for entry in found.entries:
                assert [key.number for key in entry.keys] in ([1], [None])
    assert parse_stats(f"entries: {'9' * 5000}\noverrun: x\n").entries == 0


# -- what the commands say of it ---------------------------------------------------------------------------------


def test_names_and_cgroups_of_tasks_are_counted(monkeypatch):
    monkeypatch.setattr("events.recording.reader._MOST_TASKS", 3)
    monkeypatch.setattr("events.store.cgroups._MOST_TASKS", 3)
    names = {("cmdlines", str(number)): b"".join(b"%d%d a\n" % (number, of) for of in range(2)) for number in (1, 2)}
    assert len(Recording.open(material.recording(blobs=names)).cmdlines) == 3
    assert parse_cmdlines(b"1 a\n\nx\n2 b c \n3 \xff\n4 d\n", 3) == {1: "a", 2: "b c", 3: "\\xff"}
    assert len(unpack_cgroups(b"".join(b"%d 0 /a\n" % number for number in range(9)))) == 3


def _empty_field(folder: Path) -> str:
    page = b"\tfield: ;\toffset:0;\tsize:8;\n"
    return hostile.write(folder, "x.pwr", material.recording(blobs={("header_page", ""): page}))


def _counts(folder: Path) -> str:
    meta = material.parts().meta | {"counts": {"dropped": float("inf")}}
    return hostile.write(folder, "x.pwr", material.recording(json.dumps(meta).encode()))


def _plans(folder: Path) -> str:
    meta = material.parts().meta | {"plans": [{"probe": 7, "events": [{"group": []}], "losses": [1]}]}
    return hostile.write(folder, "x.pwr", material.recording(meta))


def _config(folder: Path) -> str:
    return hostile.write(folder, "x.tar.xz", hostile.packed_config())


def _functions(folder: Path) -> str:
    return hostile.write(folder, "x.tar.xz", hostile.function_list())


def _passes(folder: Path) -> str:
    return hostile.write(folder, "x.pwr", hostile.empty_passes())


READ = "f record_read%return n"


@pytest.mark.parametrize(
    ("make", "words", "statuses"),
    [
        (_config, ["list", "-t", "FILE"], (0,)),
        (_functions, ["list", "-t", "FILE"], (3,)),
        (_passes, ["FILE", "--export", "jsonl:OUT"], (0,)),
        (_empty_field, ["FILE", "--export", "jsonl:OUT"], (3,)),
        (_counts, ["FILE", "--export", "jsonl:OUT"], (3,)),
        (_plans, ["run", "-t", "FILE", READ], (3,)),
        (lambda folder: "/dev/zero", ["list", "-t", "FILE"], (3,)),
    ],
    ids=["config.gz", "functions", "empty passes", "header_page", "Infinity", "plans", "a device"],
)
def test_a_command_ends_in_a_line_and_a_status_within_its_memory(tmp_path, make, words, statuses):
    names = {"FILE": make(tmp_path), "OUT": str(tmp_path / "out")}
    done = hostile.run(*[word.replace("FILE", names["FILE"]).replace("OUT", names["OUT"]) for word in words])
    assert done.status in statuses, done
    assert "Traceback" not in done.err and "error of the program" not in done.err
    assert done.peak < 512 << 20
    if done.status:
        assert done.err.startswith("probewright: ")


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["list", "--help"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_to_a_full_disk_is_an_error(words, unbuffered):
    import os
    import subprocess
    import sys

    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(
            [sys.executable, "-m", "tui", *words], stdout=full, stderr=subprocess.PIPE, env=environment, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "probewright: standard output: No space left on device; some output was not written\n"


def test_a_standard_output_of_few_letters_takes_all_words(tmp_path):
    path = hostile.write(tmp_path, "ä.pwr", material.recording())
    done = hostile.run("show", "-t", path, "record_read", environment={"PYTHONIOENCODING": "ascii"})
    assert done.status == 0 and "Traceback" not in done.err


@pytest.mark.parametrize("digits", ["9" * 5000, "²", "1" * 30])
def test_a_number_of_the_environment_is_bounded(digits):
    with pytest.raises(BadSetting, match="no number of milliseconds"):
        settings_of("", {"OTEL_EXPORTER_OTLP_TIMEOUT": digits})


@given(st.text(st.sampled_from("ab\n"), max_size=60))
def test_lines_of_a_stream_are_those_of_its_text(text):
    assert list(lines_from(io.StringIO(text, newline="\n"), "x", 60, 60)) == lines_of(text, "x", 60)


@pytest.mark.parametrize(
    ("text", "said"),
    [("a\nbcd\n", "x: line 2 has more characters"), ("abc", "x: line 1 has"), ("\n" * 9, "x: more lines")],
)
def test_a_stream_without_an_end_is_refused(text, said):
    stream = io.StringIO(text + "z" * 1_000)
    with pytest.raises(InputRefusal, match=said):
        list(lines_from(stream, "x", 2, 5))
    assert stream.tell() < 20, "no more is read than is needed"


TOML = TomlBounds(characters=1_000, lines=20, dots=40, line_dots=32)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1" + " " * 1_000, "x: 1005 characters of TOML (at most 1000)"),
        ("#\n" * 21, "x: 21 lines of TOML (at most 20)"),
        (f"a{'.a' * 33}=1", "x: a line with 33 dots (at most 32)"),
        ("a.b.c.d.e.f.g.h=1\n" * 6, "x: 42 dots of keys and numbers (at most 40)"),
        (f'"a"{" . " * 33}=1', "x: a line with 33 dots (at most 32)"),
        (f"""a = ['''b'''', "{"." * 33}", {{ c{".a" * 33} = 1 }}]""", "x: a line with 33 dots (at most 32)"),
        (f'a = ["""b"""", {{ c{".a" * 33} = "1" }}]', "x: a line with 33 dots (at most 32)"),
        (f"a = 1 # \" '''\nb{'.a' * 33} = \"\"", "x: a line with 33 dots (at most 32)"),
        ("a = " + "9" * 900, "x: a number beyond 64 bits"),
        ("a = nan", "x: nan is no number that is taken"),
        ("a =", "x: no TOML"),
    ],
)
def test_toml_is_refused_before_a_parser_takes_long(text, said):
    with pytest.raises(InputRefusal) as caught:
        read_toml(text, "x", TOML)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text", [f'a = "{"." * 99}"', f"a = '''\n{'.' * 99}''''", f"a = 1 # {'.' * 99}", "[a.b]\nc = 1.5"]
)
def test_dots_of_texts_and_comments_are_none_of_keys(text):
    assert read_toml(text, "x", TOML)["a"]


def test_toml_nested_at_any_depth_is_refused():
    with pytest.raises(InputRefusal, match=r"too deeply nested|no TOML"):
        read_toml("a=" + "[" * 5_000 + "]" * 5_000, "x", TOML._replace(characters=1 << 20))


def test_the_worst_preset_and_configuration_are_refused_as_such(tmp_path):
    head = 'version = 1\nname = "x"\ntitle = "t"\nprobes = ["f vfs_read"]\n'
    for line in (
        "a.b{0}=1\n",
        "a.b.c.d.e.f.g.h{0}=1\n",
        "[a.b{0}]\n[c{0}]\n",
        "[[a]]\n",
        "#\n",
    ):
        text = head + "".join(line.format(number) for number in range(2_500))
        with pytest.raises(PresetError, match=r"(lines of TOML|dots of keys and numbers) .at most"):
            read_preset(text)
    with pytest.raises(PresetError, match="a line with 31 dots"):
        read_preset(f"{head}a{'.a' * 31}=1\n")
    config = tmp_path / "config.toml"
    config.write_text(f"a{'.a' * 20_000}=1")
    with pytest.raises(GroupError, match=r"20000 dots|a line with 20000 dots"):
        HostGroups(config).names()
