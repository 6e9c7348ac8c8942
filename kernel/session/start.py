"""Start a session: make our trace instance, and begin to read it."""

from __future__ import annotations

from events.format import FormatError, HeaderPage
from events.subbuffer import events_in
from kernel.bpf.ring_stream import ConvertedStream
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.pump import Pump
from kernel.session.instance import configure, make_instance, require_usable
from kernel.session.session import Session
from kernel.target import Target
from kernel.tracefs import Tracefs


def open_session(target: Target, *, buffer_kb: int | None = None, limit_bytes: int = 64 << 20) -> Session:
    """Make our trace instance and start to read it.

    Args:
        target: a kernel.
        buffer_kb: size of the ring buffer of each CPU in KB; None: as the kernel makes it.
        limit_bytes: of sub-buffers that wait in our own queue.

    Raises:
        TargetUnusable: nothing can be armed there; carries the troubles of its facts.
        TargetLost: it went away meanwhile.
    """
    require_usable(target)
    tracefs = Tracefs(target, target.facts().tracefs)
    undo = UndoList(target)
    pump: Pump | None = None
    try:
        instance = make_instance(target, tracefs, undo)
        target.hold(instance.file("tracing_on"))
        follows_forks = configure(target, instance, buffer_kb)
        stream = ConvertedStream(target.stream(instance.path), lambda: target.stream(instance.path))
        pump = Pump(stream, limit_bytes)
        # Behind the stream, which may have set the size of the sub-buffers.
        stream.header = header = HeaderPage.parse(instance.header_page(), target.facts().byteorder)
        pump.events_in = lambda chunk: events_in(chunk, header)
        session = Session(target, tracefs, instance, undo, pump, stream, header)
        session.probes.events.follows_forks = follows_forks
        pump.start()
        return session
    except BaseException as error:
        if pump:
            pump.close()
        undo.run()
        if isinstance(error, FileRefused | FormatError):
            raise TargetUnusable(f"{target.name}: {error}", troubles=target.facts().troubles) from error
        raise
