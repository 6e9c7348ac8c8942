"""Every field of an event: aligned, whole below, hostile bytes shown as hex and made safe."""

from __future__ import annotations

from tests.interface.widget_host import Host
from widgets.events.event_detail import EventDetail
from widgets.events.values import DetailField

FIELDS = (
    DetailField("common_type", "1234", "unsigned short", 0, 2, b"\xd2\x04"),
    DetailField("common_pid", "812", "int", 4, 4, b"\x2c\x03\x00\x00"),
    DetailField("f_pos", "512", "s64", 8, 8, (512).to_bytes(8, "little")),
    DetailField("name[/b]", "\x1b[31m" + "日本" * 60, "__data_loc char[]", 16, 4, b"\x1b[31m" + b"\xff" * 600),
    DetailField("text_only", "x", "string", -1, 0, b""),
)


def host() -> Host:
    def make() -> EventDetail:
        detail = EventDetail()

        def ready() -> None:
            detail.show("vfs_read__exit 12.304117", FIELDS)
            detail.focus_fields()

        detail.call_after_refresh(ready)
        return detail

    return Host(make, EventDetail.Closed)


async def test_fields_and_the_whole_of_one():
    app = host()
    async with app.shown(120) as pilot:
        lines = app.text.split("\n")
        header = next(line for line in lines if "offset" in line)
        row = next(line for line in lines if "f_pos" in line)
        assert header.index("type") == row.index("s64")
        assert "00 02 00" in row  # all of them are below
        await pilot.press("down", "down", "down")
        assert r"name[/b] = \x1b[31m日本" in " ".join(app.text.split())
        assert "1b 5b 33 31 6d ff ff" in app.text
        assert "\x1b" not in app.text


async def test_values_before_bytes_where_it_is_narrow():
    app = host()
    async with app.shown(80):
        assert "offset" in app.text
        assert "bytes" not in app.text


async def test_values_and_types_before_offsets_where_it_is_narrower():
    app = host()
    async with app.shown(60):
        assert "type" in app.text
        assert "offset" not in app.text


async def test_the_cursor_stays_on_its_field_and_escape_closes():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("down", "down")
        app.widget.show("next", FIELDS)
        await pilot.pause()
        assert "f_pos = 512" in app.text
        app.widget.show("none", ())
        await pilot.pause()
        assert "no fields" in app.text
        await pilot.press("escape")
        assert len(app.heard) == 1
