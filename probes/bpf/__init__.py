"""BPF programs for probes on functions, assembled here: no compiler, no library, no file on the target."""
