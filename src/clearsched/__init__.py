"""clearsched: learn a cluster scheduler, then read it."""

from clearsched.registration import register_with_gymnasium

__version__ = "0.1.0"

register_with_gymnasium()
