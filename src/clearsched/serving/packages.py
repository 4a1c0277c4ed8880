"""Whether what the service needs is installed: the extra `serve`."""

from __future__ import annotations

from importlib.util import find_spec

from clearsched.errors import ClearschedError

PACKAGES = ("fastapi", "uvicorn", "prometheus_client")


def check_packages() -> None:
    """Refuse to start without them.

    Raises:
        ClearschedError: one is missing.
    """
    for package in PACKAGES:
        if find_spec(package) is None:
            raise ClearschedError(
                f"serving needs the package {package}, which is missing: pip install 'clearsched[serve]'"
            )
