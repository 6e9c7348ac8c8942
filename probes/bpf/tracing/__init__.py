"""Programs that trace the calls inside some functions."""
