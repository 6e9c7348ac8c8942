"""Lower probes on instructions that are found in a function's code."""
