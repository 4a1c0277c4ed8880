"""Links between the files of the repository, as links between pages of the site.

Pages below docs/ are pages of the site. A few other files are pages too (`INCLUDED`); any other text file that a page
links to becomes a page that shows it. So the same Markdown is right in the repository and in the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
INCLUDED = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md", "benchmarks/README.md": "benchmarks.md"}
"""Pages that lie elsewhere in the repository, and their place in the site."""

FENCE = re.compile(r"^ *(```|~~~)")
CODE = re.compile(r"(`+)(?:.(?!\1))*.\1")
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
IMAGES = (".svg", ".png")


def prose(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a page, and whether each is prose: neither in a block of code nor its fence."""
    closes = ""
    for line in text.splitlines(keepends=True):
        fence = FENCE.match(line)
        yield line, not closes and not fence
        if fence and closes in ("", fence[1]):
            closes = "" if closes else fence[1]


def replaced(text: str, change: Callable[[str], str]) -> str:
    """The page with every link target in its prose as `change` answers it; code is left alone."""

    def one(line: str) -> str:
        spans = [match.span() for match in CODE.finditer(line)]

        def new(match: re.Match[str]) -> str:
            inside = any(start < match.start() < end for start, end in spans)
            return match[0] if inside else f"]({change(match['target'])})"

        return LINK.sub(new, line)

    return "".join(one(line) if is_prose else line for line, is_prose in prose(text))


def targets(text: str) -> list[str]:
    """The targets of all links in a page's prose."""
    found: list[str] = []
    replaced(text, lambda target: found.append(target) or target)  # type: ignore[func-returns-value]
    return found


def page_of(source: str) -> str | None:
    """The place in the site of a file of the repository, "docs/x.md"; None if there is no such file."""
    if source in INCLUDED:
        return INCLUDED[source]
    if not (ROOT / source).is_file():
        return None
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return f"files/{source}.md"


def for_site(text: str, source: str, place: str) -> str:
    """A page of the repository with links as the site has them.

    Args:
        text: Markdown.
        source: where it lies in the repository, "README.md".
        place: where it stands in the site, "readme.md".
    """

    def change(target: str) -> str:
        path, _, anchor = target.partition("#")
        if not path or ELSEWHERE.match(target):
            return target
        page = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if page is None:  # left as it is: the build tells it
            return target
        return posixpath.relpath(page, posixpath.dirname(place) or ".") + (f"#{anchor}" if anchor else "")

    return replaced(text, change)


def sources() -> dict[str, str]:
    """Every page that is written by hand, by its place in the site: its path in the repository."""
    docs = {path.relative_to(ROOT / "docs").as_posix(): path for path in sorted((ROOT / "docs").rglob("*.md"))}
    return {place: f"docs/{place}" for place in docs} | {place: source for source, place in INCLUDED.items()}


def shown() -> dict[str, str]:
    """Files that are no page themselves and that a page links to, by their place in the site."""
    found = {}
    for source in sources().values():
        for target in targets((ROOT / source).read_text("utf-8")):
            path = target.partition("#")[0]
            if not path or ELSEWHERE.match(target):
                continue
            linked = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
            page = page_of(linked)
            if page and page.startswith("files/"):
                found[page] = linked
    return found


def with_plain_bars(text: str) -> str:
    """The page with bars in the code of its tables as they are meant.

    Where the repository is read, a bar in a cell is escaped, in code too; in the site code keeps what stands in it.
    """

    def row(line: str) -> str:
        return CODE.sub(lambda match: match[0].replace("\\|", "|"), line)

    return "".join(row(line) if is_prose and line.startswith("|") else line for line, is_prose in prose(text))


def with_deep_lists(text: str) -> str:
    """The page with further paragraphs and tables of a list's point indented by four blanks, as the site needs it.

    Where the repository is read they are indented as far as the text of the point, by two or three.
    """
    lines, before, deep = [], "", False
    for line, is_prose in prose(text):
        if not before.strip():
            deep = is_prose
        deep = deep and bool(re.match(r" {2,3}\S", line))
        lines.append(f"    {line.lstrip()}" if deep else line)
        before = line
    return "".join(lines)


def page_of_file(source: str) -> str:
    """A page that shows a text file."""
    text = (ROOT / source).read_text("utf-8").rstrip()
    kind = {".py": "python", ".yaml": "yaml", ".json": "json", ".md": "markdown"}.get(Path(source).suffix, "text")
    return f"# `{source}`\n\n````{kind}\n{text}\n````\n"
