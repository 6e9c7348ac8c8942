"""Decode a function's machine code, and tell which of its instructions can take a kprobe."""
