"""The house has floors: nothing imports from a higher one, not late in a function and not for a type either."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "clearsched"
SETTINGS = "settings of a stage or problem"

FLOORS = (
    ("clearsched", "clearsched.registration"),
    ("clearsched.errors",),
    ("clearsched.documents", "clearsched.temporary"),
    ("clearsched.files", "clearsched.layout", "clearsched.arithmetic"),
    ("clearsched.imports",),
    ("clearsched.section",),
    ("clearsched.registry",),
    ("clearsched.schemas", "clearsched.onnx_graph"),
    ("clearsched.compiled",),
    ("clearsched.problems.declarations",),
    (
        "clearsched.problems.episodes",
        "clearsched.problems.objectives",
        "clearsched.problems.problem",
        "clearsched.problems.policy",
        "clearsched.problems.programs",
        "clearsched.problems.networks",
    ),
    ("clearsched.problems.set_network",),
    ("clearsched.problems",),
    ("clearsched.scorers",),
    (
        SETTINGS,
        "clearsched.search.families",
        "clearsched.students.kinds",
        "clearsched.students.sizes",
        "clearsched.teacher.kind",
    ),
    ("clearsched.params",),
    ("clearsched.figures.style",),
    ("clearsched.problems.*",),
    ("clearsched.shipped",),
    ("clearsched.parallel",),
    ("clearsched.heuristics",),
    ("clearsched.search",),
    ("clearsched.teacher",),
    ("clearsched.decisions",),
    ("clearsched.students",),
    ("clearsched.evaluation",),
    ("clearsched.reading",),
    ("clearsched.export",),
    ("clearsched.serving",),
    ("clearsched.engines",),
    ("clearsched.figures",),
    ("clearsched.engines",),
    ("clearsched.edge_cases",),
    ("clearsched.pareto",),
    ("clearsched.paper",),
    ("clearsched.report",),
    ("clearsched.workflow",),
    ("clearsched.doctor",),
    ("clearsched.cli", "clearsched.__main__"),
)
"""From the ground up. The longest name that fits a module tells its floor; modules of one floor may use each other."""


def floor_of(module: str) -> int:
    """On which floor a module lies."""
    parts = module.split(".")
    if parts[2:3] == ["settings"] or (parts[1:2] == ["problems"] and parts[3:4] == ["settings"]):
        return next(level for level, names in enumerate(FLOORS) if SETTINGS in names)
    if parts[1:2] == ["problems"] and len(parts) > 2 and (PACKAGE / "problems" / parts[2]).is_dir():
        return next(level for level, names in enumerate(FLOORS) if "clearsched.problems.*" in names)
    fitting = {
        name: level
        for level, names in enumerate(FLOORS)
        for name in names
        if module == name or (module.startswith(f"{name}.") and name != "clearsched")
    }
    assert fitting, f"{module} lies on no floor: give it one in FLOORS"
    return fitting[max(fitting, key=len)]


def dotted(path: Path) -> str:
    """The module of a file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> dict[str, Path]:
    """Every module of the package."""
    return {dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "clearsched":
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & set(known)
            # `from package import module` is an import of the module, `from package import name` one of the package.
            found |= whole or {node.module}
            if len(whole) < len(node.names):
                found.add(node.module)
    return found & set(known)


@pytest.mark.parametrize("module", modules())
def test_no_import_climbs(module: str) -> None:
    known = modules()
    for other in imported(known[module], known):
        assert floor_of(other) <= floor_of(module), f"{module} imports {other}, which lies on a higher floor"


def test_problems_know_nothing_of_each_other() -> None:
    known = modules()
    for module, path in known.items():
        parts = module.split(".")
        if parts[1:2] != ["problems"] or len(parts) < 3 or not (PACKAGE / "problems" / parts[2]).is_dir():
            continue
        for other in imported(path, known):
            theirs = other.split(".")
            if theirs[1:2] == ["problems"] and len(theirs) > 2 and (PACKAGE / "problems" / theirs[2]).is_dir():
                assert theirs[2] == parts[2], f"{module} imports {other}, a part of another problem"


def test_there_are_no_circles() -> None:
    """Modules that import each other, in however many steps. A package's own face may name its parts."""
    known = modules()
    graph = {module: imported(path, known) - {module} for module, path in known.items()}
    graph = {module: {other for other in others if not _is_face(other, module)} for module, others in graph.items()}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module in done:
            return
        for other in sorted(graph[module]):
            visit(other, (*trail, module))
        done.add(module)

    for module in known:
        visit(module, ())


def _is_face(package: str, module: str) -> bool:
    """Whether a package is one that the module lies in: what its face names is imported with it anyway."""
    return module.startswith(f"{package}.")


def test_the_walk_sees_late_imports(tmp_path: Path) -> None:
    """An import inside a function, and one for a type, are seen."""
    file = tmp_path / "late.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from clearsched.cli import app\n"
        "def f():\n    from clearsched.errors import ClearschedError\n"
    )
    assert imported(file, modules()) == {"clearsched.cli", "clearsched.errors"}
