"""What code is made of: the files that modules import, at the top or late, told from their text.

Code that is named by a string ("package.module:attribute", `clearsched.registry`) is no import: whoever wants it
counted names it among the entries.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from clearsched.errors import ClearschedError

PACKAGE = Path(__file__).parent
PARAMS = "clearsched.params"
IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(clearsched[\w.]*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n]*))?", re.MULTILINE
)


def read_texts(package: Path = PACKAGE) -> dict[Path, bytes]:
    """Every module's file of the package, and its text, sorted."""
    found = []
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]  # it may hold thousands of compiled functions
        found += [Path(folder, name) for name in files if name.endswith(".py")]
    return {path: path.read_bytes() for path in sorted(found)}


@cache
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
        for module, names in _statements(texts[path]):
            if without is None or not _is_in(module, without):
                waiting += _files(module, names, by_name)
    return sorted(found)


@cache
def _statements(text: bytes) -> list[tuple[str, list[str]]]:
    """The imports of a module's text, at the top or late: module, and the names taken from it."""
    return [(module.decode(), re.findall(r"\w+", names.decode())) for module, names in IMPORT.findall(text)]


def code_of(entries: Iterable[str], narrow: bool = False) -> list[Path]:
    """The files of the package that some code is made of, sorted.

    Models and readers of params are left out: a stage gets its settings from its own params file.

    Args:
        entries: "package.module" is all of a module; "package.module:function" or "package.module:Class.method" is
            that function alone, with what it calls and imports, in a module that does more than it. What lies outside
            the package is passed over.
        narrow: take of other modules, too, only the functions that are imported by name.

    Raises:
        ClearschedError: there is no such module or function.
    """
    texts = _texts()
    by_name = {dotted(path): path for path in texts}
    alone: set[Path] = set()
    whole: set[Path] = set()
    waiting = [tuple(entry.split(":")) for entry in entries if _is_in(entry.partition(":")[0], "clearsched")]
    seen: set[tuple[str, ...]] = set()
    while waiting:
        module, *function = current = waiting.pop()
        if current in seen or _is_in(module, PARAMS):
            continue
        seen.add(current)
        if module not in by_name:
            raise ClearschedError(f"{':'.join(current)}: there is no such module")
        if not function:
            whole.add(by_name[module])
            continue
        alone.add(by_name[module])
        for name, taken in _imports(by_name[module], texts[by_name[module]], function[0]):
            waiting += _parts(name, taken, by_name, narrow)
    return sorted(alone | set(closure(whole, texts, PACKAGE, PARAMS)))


def _parts(module: str, names: Iterable[str], by_name: Mapping[str, Path], narrow: bool) -> list[tuple[str, ...]]:
    """What `from module import names` adds to the entries."""
    found: list[tuple[str, ...]] = []
    for path in _files(module, names, by_name):
        found += [(dotted(path),)] if not narrow or dotted(path) != module else []
    if narrow and module in by_name:
        known = _names(by_name[module])
        own = [name for name in names if f"{module}.{name}" not in by_name]
        # A name that is made in no way known here stands for all of its module.
        found += [(module, name) if name in known else (module,) for name in own]
    return found


def _names(path: Path) -> set[str]:
    """What a module defines or imports at its top."""
    bodies, top = _parsed(_texts()[path])
    return {*bodies, *top}


@cache
def _parsed(text: bytes) -> tuple[dict[str, ast.AST], dict[str, tuple[str, str]]]:
    """Of a module its functions, methods, constants and attributes, and its imports at the top, by name."""
    tree = ast.parse(text)
    return dict(_bodies(tree)), _top(tree)


def _top(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """The names that a module imports at its top: the module that each is taken from, and its name there."""
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@cache
def _imports(path: Path, text: bytes, name: str) -> list[tuple[str, list[str]]]:
    """The imports that a function or method of a module uses: in it and its helpers, and at the top if they name them.

    Returns:
        Module, and the names taken from it.

    Raises:
        ClearschedError: there is no such function.
    """
    bodies, top = _parsed(text)
    if name not in bodies and name not in top:
        raise ClearschedError(f"{path}: there is no {name}")
    found: list[tuple[str, list[str]]] = []
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in top:
            module, taken = top[current]
            found.append((module, [taken]))
        if current in bodies:
            imports, named = _uses(text, current)
            found += imports
            waiting += named
    return found


@cache
def _uses(text: bytes, name: str) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """What the body of one function, method or class imports, and the names of its module that it may mean."""
    imports: list[tuple[str, list[str]]] = []
    named: list[str] = []
    for part in ast.walk(_parsed(text)[0][name]):
        if isinstance(part, ast.ImportFrom):
            imports.append((str(part.module), [alias.name for alias in part.names]))
        elif isinstance(part, ast.Name):
            named.append(part.id)
        elif isinstance(part, ast.Attribute):
            named.append(f"{name.partition('.')[0]}.{part.attr}")
    return imports, named


def _bodies(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """The functions, methods, constants and attributes of a module or class by name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield node.name, node
            yield from ((f"{node.name}.{name}", part) for name, part in _bodies(node))
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
