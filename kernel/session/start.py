"""Start a session: make our trace instance, and begin to read it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from events.format import FormatError, HeaderPage
from events.subbuffer import events_in
from kernel.bpf.ring_stream import ConvertedStream
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.pump import Pump
from kernel.session.instance import configure, make_instance, require_usable
from kernel.session.session import Session
from kernel.target import Stream, Target
from kernel.tracefs import Instance, Tracefs


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
    with new_instance(target, buffer_kb) as made:
        session = made.session(limit_bytes, lambda: target.stream(made.instance.path))
        session.pump.start()
        return session


@dataclass(frozen=True)
class NewInstance:
    """Our trace instance, of which a session is made."""

    target: Target
    tracefs: Tracefs
    undo: UndoList
    instance: Instance
    follows_forks: bool
    failure: contextlib.ExitStack
    """Things done if no session comes of it."""

    def session(self, limit_bytes: int, again: Callable[[], Stream] | None = None) -> Session:
        """Return a session whose pump is not started yet; `again`: opens its stream anew.

        Raises FileRefused, FormatError, TargetLost.
        """
        target, instance = self.target, self.instance
        stream = ConvertedStream(target.stream(instance.path), again)
        pump = Pump(stream, limit_bytes)
        self.failure.callback(pump.close)
        # Behind the stream, which may have set the size of the sub-buffers.
        stream.header = header = HeaderPage.parse(instance.header_page(), target.facts().byteorder)
        pump.events_in = lambda chunk: events_in(chunk, header)
        session = Session(target, self.tracefs, instance, self.undo, pump, stream, header)
        session.probes.events.follows_forks = self.follows_forks
        return session


@contextlib.contextmanager
def new_instance(target: Target, buffer_kb: int | None) -> Iterator[NewInstance]:
    """Make our trace instance, and undo all if the block fails. Raises TargetUnusable, also for FileRefused and
    FormatError of the block.
    """
    tracefs, undo = Tracefs(target, target.facts().tracefs), UndoList(target)
    try:
        with contextlib.ExitStack() as failure:
            failure.callback(undo.run)
            instance = make_instance(target, tracefs, undo)
            target.hold(instance.file("tracing_on"))
            yield NewInstance(target, tracefs, undo, instance, configure(target, instance, buffer_kb), failure)
            failure.pop_all()
    except (FileRefused, FormatError) as error:
        raise TargetUnusable(f"{target.name}: {error}", troubles=target.facts().troubles) from error
