"""The recording that comes with the application, as if its probes had been patterns."""

from __future__ import annotations

from pathlib import Path

from events.recording.reader import Recording, RecordingWriter
from kernel.connection.open_target import shipped_recording

FUNCTIONS = ("vfs_read", "do_sys_openat2", "vfs_write", "bprm_execve")


def pattern_recording(path: Path) -> Path:
    """Write the recording with a column for the function in the plan of each event; gives its path."""
    source = shipped_recording()
    assert source is not None
    whole = Recording.open(source)
    column = {"name": "func", "label": "func", "functions": "*"}
    plans = [
        {**plan, "events": [{**event, "columns": [column, *event["columns"]]} for event in plan["events"]]}
        for plan in whole.plans
    ]
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({**whole.meta, "plans": plans})
        for kind, name, entry, start in whole._named.values():
            writer.blob(kind, name, whole._file.raw(entry)[start:])
        for batch in whole.batches():
            writer.pages(batch)
        writer.close()
    return path
