"""Values that can be read of a function's call, by each means to attach to it."""
