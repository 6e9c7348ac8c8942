"""Read machine code of each architecture: a module for each, all with the members of `Architecture`."""
