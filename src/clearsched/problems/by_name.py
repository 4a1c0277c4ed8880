"""A problem in another process: where episodes run elsewhere (`clearsched.parallel`), policies take theirs along."""

from __future__ import annotations

from collections.abc import Callable

from clearsched.problems import find_problem
from clearsched.problems.problem import Problem


class ByName:
    """What a problem inherits whose parts cannot be sent: there it is the problem of the same name."""

    name: str

    def __reduce__(self) -> tuple[Callable[[str], Problem], tuple[str]]:
        return find_problem, (self.name,)
