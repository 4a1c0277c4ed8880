"""What code is made of: the files that modules import, at the top or late, told from their text.

Code that is named by a string ("package.module:attribute", `clearsched.registry`) is no import: whoever wants it
counted names it among the entries.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from clearsched.errors import ClearschedError

PACKAGE = Path(__file__).parent
PARAMS = "clearsched.params"
IMPORT = re.compile(rb"^\s*(?:from|import)\s+(clearsched[\w.]*)(?:\s+import\s+(\([^)]*\)|[^\n]*))?", re.MULTILINE)


def read_texts(package: Path = PACKAGE) -> dict[Path, bytes]:
    """Every module's file of the package, and its text."""
    return {path: path.read_bytes() for path in sorted(package.rglob("*.py"))}


def dotted(path: Path, package: Path = PACKAGE) -> str:
    """The name that the module in a file of the package is imported by."""
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(("clearsched", *(parts[:-1] if parts and parts[-1] == "__init__" else parts)))


def closure(
    start: Iterable[Path], texts: Mapping[Path, bytes], package: Path = PACKAGE, without: str | None = None
) -> list[Path]:
    """`start` and all files that these import, directly or not, sorted.

    Args:
        start: files of the package.
        texts: all its files (`read_texts`).
        package: its folder.
        without: a package inside it that is not entered.
    """
    by_name = {dotted(path, package): path for path in texts}
    found: set[Path] = set()
    waiting = list(start)
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for module, names in IMPORT.findall(texts[path]):
            if without is None or not _is_in(module.decode(), without):
                waiting += _files(module.decode(), re.findall(r"\w+", names.decode()), by_name)
    return sorted(found)


def code_of(entries: Iterable[str]) -> list[Path]:
    """The files of the package that some code is made of, sorted.

    Models and readers of params are left out: a stage gets its settings from its own params file.

    Args:
        entries: "package.module" is all of a module; "package.module:function" or "package.module:Class.method" is
            that function alone, with what it calls and imports, in a module that does more than it. What lies outside
            the package is passed over.

    Raises:
        ClearschedError: there is no such module or function.
    """
    texts = _texts()
    by_name = {dotted(path): path for path in texts}
    alone: set[Path] = set()
    whole: set[Path] = set()
    for entry in entries:
        module, _, function = entry.partition(":")
        if not _is_in(module, "clearsched"):
            continue
        if module not in by_name:
            raise ClearschedError(f"{entry}: there is no such module")
        if function:
            alone.add(by_name[module])
            for name, names in _imports(by_name[module], function):
                whole.update(() if _is_in(name, PARAMS) else _files(name, names, by_name))
        else:
            whole.add(by_name[module])
    return sorted(alone | set(closure(whole, texts, PACKAGE, PARAMS)))


def _imports(path: Path, name: str) -> Iterator[tuple[str, list[str]]]:
    """The imports that a function or method of a module uses: in it and its helpers, and at the top if they name them.

    Yields:
        Module, and the names taken from it.

    Raises:
        ClearschedError: there is no such function.
    """
    tree = ast.parse(_texts()[path])
    top = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    bodies = dict(_bodies(tree))
    if name not in bodies and name not in top:
        raise ClearschedError(f"{path}: there is no {name}")
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in top:
            module, taken = top[current]
            yield module, [taken]
        for part in ast.walk(bodies[current]) if current in bodies else ():
            if isinstance(part, ast.ImportFrom):
                yield str(part.module), [alias.name for alias in part.names]
            elif isinstance(part, ast.Name):
                waiting.append(part.id)
            elif isinstance(part, ast.Attribute):
                waiting.append(f"{current.partition('.')[0]}.{part.attr}")


def _bodies(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions, methods and constants of a module by name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{part.name}", part) for part in node.body if isinstance(part, ast.FunctionDef))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node) for target in targets if isinstance(target, ast.Name))


def _files(module: str, names: Iterable[str], by_name: Mapping[str, Path]) -> list[Path]:
    """The files that `from module import names` reads: the module's, and those of the names that are modules."""
    parts = [module, *(f"{module}.{name}" for name in names)]
    return [by_name[part] for part in parts if part in by_name]


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@cache
def _texts() -> dict[Path, bytes]:
    return read_texts()
