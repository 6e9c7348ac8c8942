"""Random keys, words, pastes, clicks and sizes against the application: it must never end by itself."""
