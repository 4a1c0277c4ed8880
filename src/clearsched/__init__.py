"""clearsched: learn a cluster scheduler, then read it."""

__version__ = "0.1.0"
