"""The view of first failures, on a recording of calls that fail: its table, its chains, its export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

