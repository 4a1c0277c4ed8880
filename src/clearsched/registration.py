"""Registers the environments with Gymnasium once both packages are there, in whatever order they are imported.

Gymnasium finds an environment by its id in a registry that lives in memory. Importing it takes ten times as long as
importing `clearsched`, and no command needs it: so it is not imported for the entry, but waited for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

DAG_JOBS = "clearsched/DagJobs-v0"


def register_with_gymnasium() -> None:
    """Register now if Gymnasium is loaded, else as soon as it has been."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _AfterGymnasium())


def _register() -> None:
    from gymnasium.envs.registration import register, registry

    if DAG_JOBS not in registry:
        module = "clearsched.problems.dag_jobs.gym.environment"  # a name: it is imported by the first `make`
        register(DAG_JOBS, f"{module}:DagJobsEnv", vector_entry_point=f"{module}:DagJobsVectorEnv")


class _AfterGymnasium(MetaPathFinder):
    """Adds the registration to the end of Gymnasium's own import, then is gone."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
