"""The application itself; whatever ends it, the probes are taken away after the screen is given back."""

from __future__ import annotations

import argparse
import os
import sys

from tui.cli.main import DONE, REFUSED
from tui.cli.watching import take_away
from tui.preview import PreviewReader
from tui.startup import Opening


def run(arguments: argparse.Namespace) -> int:
    opening = Opening(getattr(arguments, "recording", None) or arguments.target)
    preview = PreviewReader(opening.spec) if PreviewReader.suits(opening.spec) else None
    (preview or opening).start()
    if opening.spec.startswith("ssh://"):
        opening.join()  # ssh may ask for a password or about a host key: the terminal is still its own
    # Textual's default of 60 pictures a second costs a key twice the time to its answer.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from tui.app import Probewright

    app = Probewright(opening, preview)
    try:
        app.run()
    finally:
        left = 0
        if app.watching is not None:
            if app.watching.armed:
                print("taking the probes away ...", file=sys.stderr, flush=True)
            left = take_away(app.watching)
        opening.cancel.set()
        if app.connection is not None:
            app.connection.close()
    return REFUSED if left else app.return_code or DONE
