"""Files of stacks: every stack and weight is in each, a picture is well-formed, and hostile names do nothing."""

from __future__ import annotations

import io
import json
from collections import Counter
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from events.export.escape import clean_frame
from events.export.stack_files import StackFile, write_stacks
from events.json_text import plain_value
from events.stacks.stack_paths import FrameKind, Path, PathFrame

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.one_of(
    st.text(max_size=6), st.sampled_from(["vfs_read", "a [ext4]", "<script>", "a;b", "\x1b[2J", "\udc80"])
)
FRAMES = st.builds(PathFrame, NAMES, st.sampled_from(FrameKind))
STACKS = st.dictionaries(st.lists(FRAMES, min_size=1, max_size=5).map(tuple), st.integers(1, 10**15), max_size=8)


def written(form: str, stacks: dict[Path, int], title: str = "a title") -> bytes:
    out = io.BytesIO()
    write_stacks(form, StackFile(stacks, title, str), out)
    return out.getvalue()


def named(stacks: dict[Path, int]) -> Counter[tuple[str, ...]]:
    found = Counter[tuple[str, ...]]()
    for path, weight in stacks.items():
        found[tuple(clean_frame(frame.name) for frame in path)] += weight
    return found


def shown(names: tuple[str, ...]) -> tuple[str, ...]:
    """As bytes that are no text are written."""
    return tuple(name.encode("utf-8", "backslashreplace").decode() for name in names)


@given(STACKS)
def test_folded_lines_are_the_stacks(stacks):
    found = Counter[tuple[str, ...]]()
    for line in written("folded", stacks).decode().split("\n")[:-1]:
        names, _, weight = line.rpartition(" ")
        found[tuple(names.split(";"))] += int(weight)
    assert found == Counter({shown(names): weight for names, weight in named(stacks).items()})


@given(STACKS)
def test_a_profile_for_speedscope_has_every_stack(stacks):
    whole = json.loads(written("speedscope", stacks))
    (profile,) = whole["profiles"]
    names = [frame["name"] for frame in whole["shared"]["frames"]]
    found = Counter[tuple[str, ...]]()
    for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
        found[tuple(names[number] for number in sample)] += weight
    expected = Counter[tuple[object, ...]]()
    for path, weight in named(stacks).items():
        expected[tuple(map(plain_value, path))] += weight
    assert found == expected
    assert profile["endValue"] == sum(stacks.values()) and profile["type"] == "sampled"


@given(STACKS, st.text(max_size=5))
def test_a_flame_graph_is_a_picture_whose_frames_fill_their_share(stacks, title):
    data = written("flamegraph", stacks, title)
    root = ElementTree.fromstring(data)
    assert root.tag == f"{SVG}svg" and {one.tag for one in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "style", "rect", "text", "title")
    }
    frames = root.findall(f"{SVG}svg")
    if not stacks:
        assert not frames
        return
    assert float(frames[0].get("width")) == 1200
    total = sum(stacks.values())
    levels: dict[str | None, float] = {}
    for frame in frames:
        assert float(frame.get("x")) + float(frame.get("width")) <= 1200.02
        levels[frame.get("y")] = levels.get(frame.get("y"), 0.0) + float(frame.get("width"))
        text = frame.find(f"{SVG}title").text
        assert all(char.isprintable() for char in text)
    assert all(width <= 1200.1 for width in levels.values())
    first = levels["43"]
    dropped = sum(weight for weight in stacks.values() if weight * 1200 < total)
    assert abs(first - 1200) <= 0.01 * len(frames) + 1200 * dropped / total


def test_a_flame_graph_tells_each_frame():
    stacks = {(PathFrame("a<b"), PathFrame("c [ext4]", FrameKind.MODULE)): 3, (PathFrame("a<b"),): 1}
    root = ElementTree.fromstring(written("flamegraph", stacks))
    titles = [frame.find(f"{SVG}title").text for frame in root.findall(f"{SVG}svg")]
    assert titles == ["all: 4", "a<b: 4 (100.00%)", "c [ext4]: 3 (75.00%)"]
    assert b"<script" not in written("flamegraph", {(PathFrame("<script>"),): 1})
