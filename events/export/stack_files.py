"""Write weighed stacks as a file: folded, for speedscope, or as a flame graph that a browser shows by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Final, NamedTuple
from xml.sax.saxutils import escape

from events.export.escape import clean_frame
from events.json_text import EXACT, json_line
from events.stacks.call_tree import ROOT, StackTree, Weights
from events.stacks.stack_paths import FrameKind, Path

FORMATS: Final = ("folded", "flamegraph", "speedscope")
"""Names of the formats of `events.export.catalogue` that hold stacks."""
_WIDTH: Final = 1200
"""Units of the picture's width; a browser scales it."""
_LINE: Final = 17
_TOP: Final = 26
_LEAST: Final = 0.1
"""Width from which a frame is drawn."""
_LEAST_TEXT: Final = 20
"""Width from which a frame has its name."""
_COLOURS: Final = {
    FrameKind.KERNEL: "#f0a848",
    FrameKind.MODULE: "#8fbf5f",
    FrameKind.PROGRAM: "#7fb0d8",
    FrameKind.TASK: "#c9b3dd",
    FrameKind.UNKNOWN: "#c8c8c8",
}
_STYLE: Final = (
    "text{font:12px monospace;fill:#000}svg svg rect{stroke:#fff;stroke-width:.5}svg svg:hover rect{stroke:#000;"
    "stroke-width:2}"
)


class StackFile(NamedTuple):
    """Stacks with their weights, and what they are of."""

    stacks: Mapping[Path, int]
    title: str
    text: Callable[[int], str]
    """Function that returns a weight with its unit."""
    is_time: bool = False
    """True if weights are nanoseconds."""


def write_stacks(form: str, file: StackFile, out: BinaryIO) -> None:
    """Write stacks in one of `FORMATS`. Raises OSError."""
    lines = {"folded": _folded, "speedscope": _speedscope, "flamegraph": _flame_graph}[form](file)
    out.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)


def folded_lines(stacks: Mapping[tuple[str, ...], int]) -> Iterator[str]:
    """Yield a line `frame;frame NUMBER` for each stack, given by the names of its frames, in order of names."""
    for stack, amount in sorted(stacks.items()):
        yield f"{';'.join(stack)} {amount}"


def _folded(file: StackFile) -> Iterator[str]:
    names: dict[tuple[str, ...], int] = {}
    for path, weight in file.stacks.items():
        stack = tuple(clean_frame(frame.name) for frame in path)
        names[stack] = names.get(stack, 0) + weight
    yield from folded_lines(names)


def _speedscope(file: StackFile) -> Iterator[str]:
    """Yield the lines of a sampled profile (https://www.speedscope.app/file-format-schema.json)."""
    stacks = sorted(file.stacks.items(), key=lambda one: [frame.name for frame in one[0]])
    frames = {frame: number for number, frame in enumerate(dict.fromkeys(one for path, _ in stacks for one in path))}
    profile = {
        "type": "sampled",
        "name": file.title,
        "unit": "nanoseconds" if file.is_time else "none",
        "startValue": 0,
        "endValue": _double(sum(file.stacks.values())),
        "samples": [[frames[frame] for frame in path] for path, _ in stacks],
        "weights": [_double(weight) for _, weight in stacks],
    }
    yield json_line(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": clean_frame(frame.name)} for frame in frames]},
            "profiles": [profile],
            "name": file.title,
            "activeProfileIndex": 0,
            "exporter": "probewright",
        }
    )


def _double(number: int) -> int | float:
    """Return a number that is one in JSON: those that a double does not hold would be texts, and are rounded."""
    return number if abs(number) < EXACT else float(number)


def _flame_graph(file: StackFile) -> Iterator[str]:
    """Yield the lines of an SVG picture: the root on top; a browser cuts names and shows them under the mouse."""
    tree, own = StackTree(), dict[int, int]()
    for path, weight in sorted(file.stacks.items(), key=lambda one: [frame.name for frame in one[0]]):
        node = tree.add(path)
        own[node] = own.get(node, 0) + weight
    totals = tree.totals([own.get(node, 0) for node in range(len(tree))])
    frames = list(_frames(file, tree, totals))
    height = _TOP + _LINE * (max((level for level, _ in frames), default=0) + 1)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="100%">'
    yield f"<style>{_STYLE}</style>"
    yield f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>'
    yield f'<text x="4" y="17">{_text(file.title)}</text>'
    yield from (drawn for _, drawn in frames)
    yield "</svg>"


def _frames(file: StackFile, tree: StackTree, totals: Weights) -> Iterator[tuple[int, str]]:
    """Yield level and element of each frame that is wide enough."""
    whole = totals[ROOT]
    rest = [(ROOT, 0, 0)] if whole > 0 else []
    while rest:
        node, level, start = rest.pop()
        width = totals[node] * _WIDTH / whole
        frame = tree.frames[node]
        name = "all" if node == ROOT else frame.name
        share = "" if node == ROOT else f" ({100 * totals[node] / whole:.2f}%)"
        fill = "#e0e0e0" if node == ROOT else _COLOURS[frame.kind]
        label = f'<text x="3" y="12.5">{_text(name)}</text>' if width >= _LEAST_TEXT else ""
        yield (
            level,
            f'<svg x="{start * _WIDTH / whole:.2f}" y="{_TOP + level * _LINE}" width="{width:.2f}" height="{_LINE}">'
            f"<title>{_text(f'{name}: {file.text(totals[node])}{share}')}</title>"
            f'<rect width="100%" height="100%" fill="{fill}"/>{label}</svg>',
        )
        at = start
        for child in tree.children[node]:
            if totals[child] * _WIDTH >= _LEAST * whole:
                rest.append((child, level + 1, at))
            at += totals[child]


def _text(text: str) -> str:
    """Return foreign text for XML: everything that is not printable as its number."""
    return escape("".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text))
