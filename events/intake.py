"""Bytes of a stream into rows that point into pages: what is missed, lost or unreadable is counted here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from events.batch import Chunk
from events.blocks import Blocks, Page
from events.decode import Decoder
from events.format import EventFormat
from events.lines import FIRST_OWN_ID, LineIndex
from events.merge import Run
from events.subbuffer import Columns, Walker, commit, missed, trim


class Intake:
    """Keeps the pages in `blocks`, and gives the rows in the order of their CPU."""

    def __init__(self, decoder: Decoder, blocks: Blocks, walker: Walker) -> None:
        self.lines = LineIndex(decoder.formats)
        self.overrun: Counter[int] = Counter()
        self.overrun_unknown: Counter[int] = Counter()
        self.undecodable = 0
        self._decoder = decoder
        self._blocks = blocks
        self._walker = walker
        self._renumbered: dict[int, int] = {}
        """Our number for an id that the kernel has given a second time."""

    def use(self, formats: Mapping[int, EventFormat]) -> None:
        """See `Store.use`."""
        known = self._decoder.formats
        for number, fmt in formats.items():
            current = self._renumbered.get(number, number)
            if known.get(current, fmt) != fmt:
                current = self._renumbered[number] = FIRST_OWN_ID + len(known)
            known[current] = fmt
            self.lines.use(current, fmt)

    def take(self, chunk: Chunk) -> tuple[Run, int]:
        """The events of one chunk, and the time of its last one, which may have no format; -1: there is none."""
        first = self._blocks.next_page
        columns = self._text(chunk) if chunk.text else self._pages(chunk)
        self.undecodable += columns.undecodable
        run = self._known(Run(*columns[:3]), chunk.text)
        if not run.stamps:
            self._blocks.discard(first)
        return run, columns.stamps[-1] if columns.stamps else -1

    def _pages(self, chunk: Chunk) -> Columns:
        header = self._decoder.header
        size = header.page_size
        pages, bad = [], 0
        first = self._blocks.next_page
        for at in range(0, len(chunk.data), size):
            page = chunk.data[at : at + size]
            if len(page) < header.data_offset:
                bad += 1
                continue
            lost = missed(page, header)
            if lost > 0:
                self.overrun[chunk.cpu] += lost
            elif lost < 0:
                self.overrun_unknown[chunk.cpu] += 1
            if commit(page, header):
                pages.append(trim(page, header))
                self._blocks.add_page(Page(chunk.cpu, pages[-1]))
        columns = self._walker(pages, header, first)
        return columns._replace(undecodable=columns.undecodable + bad)

    def _text(self, chunk: Chunk) -> Columns:
        found = self.lines.index(chunk.data, self._blocks.next_page)
        for text in found.pages:
            self._blocks.add_page(Page(-1, text, text=True))
        self.overrun.update(found.lost)
        return found.columns

    def _known(self, run: Run, text: bool) -> Run:
        """Give ids our numbers, and leave out events that have no format."""
        if self._renumbered and not text:
            run = run._replace(ids=[self._renumbered.get(number, number) for number in run.ids])
        unknown = {n for n in set(run.ids) if n not in self._decoder.formats and not self.lines.name(n)}
        if not unknown:
            return run
        keep = [at for at, number in enumerate(run.ids) if number not in unknown]
        self.undecodable += len(run.ids) - len(keep)
        return Run(*([column[at] for at in keep] for column in run))
