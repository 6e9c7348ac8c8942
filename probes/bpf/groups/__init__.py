"""Group the calls that BPF programs see, in tables of the kernel."""
