"""Write tui/kernels.json: what the kernels of the matrix can do, as found by booting each (`make kernels`).

Only what decides how a probe is written is kept: the machine, the features, and the README they were found in.
"""

from __future__ import annotations

import json
from pathlib import Path

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from tui.compose.kernel_matrix import KEPT

NAMES = ("6.1", "6.12", "7.2", "arm64:6.12", "full")
PATH = Path(__file__).parents[2] / "tui" / "kernels.json"


def main() -> None:
    found = {}
    for name in NAMES:
        planner = Planner(KernelInfo(open_target(f"lab:{name}")))
        try:
            facts = planner.info.facts
        finally:
            planner.info.close()
        values = {key: getattr(facts, key) for key in KEPT}
        found[name] = {**values, "features": sorted(map(str, facts.features))}
        print(name, facts.release, len(facts.features), "features")
    PATH.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
