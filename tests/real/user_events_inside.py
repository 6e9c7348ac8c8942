"""Register definitions in the guest, read as JSON lines; print the errno of each, 0 where the kernel takes it.

A line is a list of definitions that are registered one after the other while the ones before are held. Names of one
line are its own.
"""

import json
import sys

sys.path.insert(0, "/tmp")
from agent_user_events import RegisteredEvents  # type: ignore[import-not-found]

FILE = b"/sys/kernel/tracing/user_events_data"
for line in sys.stdin:
    events = RegisteredEvents()
    answers = []
    for text in json.loads(line):
        try:
            events.register(FILE, text.encode("latin-1"))
            answers.append(0)
        except OSError as error:
            answers.append(error.errno)
    print(json.dumps(answers))
    events.close()
