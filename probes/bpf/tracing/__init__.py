"""Programs that count or trace the calls of functions."""
