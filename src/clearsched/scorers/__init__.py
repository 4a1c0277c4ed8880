"""Scorers: what answers one choice of a problem. Each kind is a module and a line in `kinds.SCORERS`."""
