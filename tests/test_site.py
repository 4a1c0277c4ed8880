"""The documentation site: generated pages say all that is registered, links lead somewhere, it works offline."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.figures import figures_of
from clearsched.imports import PACKAGE
from clearsched.paper.published import CLAIMS
from clearsched.problems import PROBLEMS, find_problem
from clearsched.registry import Registry
from snakemake_runs import environment

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from site_pages import GENERATED, command_line, links, markdown, tables

ROOT = Path(__file__).parents[1]


class Settings(yaml.SafeLoader):
    """Reads mkdocs.yml without the objects that mkdocs makes."""


Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Settings)
    return found


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The generated pages by their place in the site."""
    return {place: make() for place, make in GENERATED.items()}


def places(nav: Any) -> Iterator[str]:
    """The pages of a nav."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from places(entry)


def test_every_page_stands_once_in_the_nav(settings: dict[str, Any]) -> None:
    assert sorted(places(settings["nav"])) == sorted([*links.sources(), *GENERATED])
    assert [next(iter(part)) for part in settings["nav"]][1:] == ["Tutorial", "How-to", "Explanation", "Reference"]


def test_the_theme_and_the_search_load_nothing_from_elsewhere(settings: dict[str, Any]) -> None:
    assert settings["theme"]["font"] is False and settings["use_directory_urls"] is False
    assert "offline" in settings["plugins"] and "repo_url" not in settings
    for script in settings["extra"]["polyfills"]:
        assert (ROOT / "docs" / script).is_file()


def test_plain_text_keeps_its_meaning_as_markdown() -> None:
    assert markdown.escaped("a <b> * c [d]") == "a &lt;b> \\* c \\[d\\]"
    assert markdown.escaped("see `x <y> *`, 2 * 3") == "see `x <y> *`, 2 \\* 3"
    assert markdown.escaped("an ` alone") == "an \\` alone"
    assert markdown.table(["a"], [["x | y\nz"]])[-1] == "| x \\| y z |"
    assert markdown.sentence("what  it\nis") == "What it is."


def test_links_that_leave_the_docs_lead_to_pages_of_the_site() -> None:
    page = "[a](../README.md#b) [c](traces.md) [d](../examples/maskable_ppo.py) [e](https://x.y/z) [f](#g) `](../X)`"
    assert links.for_site(page, "docs/environment.md", "environment.md") == (
        "[a](readme.md#b) [c](traces.md) [d](files/examples/maskable_ppo.py.md) [e](https://x.y/z) [f](#g) `](../X)`"
    )
    picture = "![p](docs/images/jct_by_policy.svg)"
    assert links.for_site(picture, "README.md", "readme.md") == "![p](images/jct_by_policy.svg)"
    assert links.for_site("[p](../docs/traces.md)", "benchmarks/README.md", "x/y.md") == "[p](../traces.md)"
    block = "```\n[a](../README.md)\n```\n~~~\n```\n[a](../README.md)\n~~~\n"
    assert links.for_site(block, "docs/a.md", "a.md") == block
    assert links.for_site("[a](nowhere.md)", "docs/a.md", "a.md") == "[a](nowhere.md)"


def test_bars_in_the_code_of_tables_are_bars() -> None:
    page = "| `a \\| b` | c \\| d |\n`a \\| b`\n```\n| `a \\| b` |\n```\n"
    assert links.with_plain_bars(page) == "| `a | b` | c \\| d |\n`a \\| b`\n```\n| `a \\| b` |\n```\n"


def test_what_belongs_to_a_point_of_a_list_is_indented_for_the_site() -> None:
    page = "* a\n  b\n\n  | c |\n  | d |\n\n  e\n* f\n\n1. g\n\n   h\n\n```\n\n  i\n```\n"
    wanted = "* a\n  b\n\n    | c |\n    | d |\n\n    e\n* f\n\n1. g\n\n    h\n\n```\n\n  i\n```\n"
    assert links.with_deep_lists(page) == wanted


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings as they are on GitHub: of twins the second gets -1."""
    found: dict[str, int] = {}
    answer = set()
    for line, is_prose in links.prose(text):
        if is_prose and re.match(r"#{1,6} ", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip()).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            answer.add(f"{slug}-{found[slug]}" if slug in found else slug)
            found[slug] = found.get(slug, 0) + 1
    return answer


def test_anchors_are_found_as_they_are_shown() -> None:
    assert anchors("# Small jobs: `a/b.yaml`, 0.85\n```\n# code\n```\n## A\n## A\n") == {
        "small-jobs-abyaml-085",
        "a",
        "a-1",
    }


@pytest.mark.parametrize("source", links.sources().values())
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(source: str) -> None:
    text = (ROOT / source).read_text("utf-8")
    for target in links.targets(text):
        if links.ELSEWHERE.match(target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / source).parent / path if path else ROOT / source
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text("utf-8")), target


def test_every_picture_is_a_figure_of_the_workflow() -> None:
    page = (ROOT / "docs/figures.md").read_text("utf-8")
    for picture in (ROOT / "docs/images").iterdir():
        assert any(picture.stem in figures_of(find_problem(problem)) for problem in PROBLEMS), picture
        assert f"`docs/images/{picture.name}`" in page, "which command makes it"


def registries() -> Iterator[Registry[Any]]:
    """All that stand in modules, and those of the problems."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"Registry(\[\w+\])?( =|\()", path.read_text("utf-8")):
            module = import_module(".".join(["clearsched", *path.relative_to(PACKAGE).with_suffix("").parts]))
            yield from (value for value in vars(module).values() if isinstance(value, Registry))
    for name in PROBLEMS:
        for attribute in dir(find_problem(name)):
            value = getattr(find_problem(name), attribute)
            if isinstance(value, Registry):
                yield value


def test_every_entry_of_every_registry_is_told(pages: dict[str, str]) -> None:
    told = pages["reference/registries.md"] + pages["reference/claims.md"]
    found = list(registries())
    assert any(registry is CLAIMS for registry in found) and len({id(each) for each in found}) >= 15
    for registry in found:
        for name in registry:
            assert f"| `{name}` |" in told, f"{registry.kind} {name}"


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_feature_and_measure_of_a_problem_is_told(problem: str, pages: dict[str, str]) -> None:
    features, registries = pages["reference/features.md"], pages["reference/registries.md"]
    for choice in find_problem(problem).choices:
        assert choice.question in features
        for feature in choice.features:
            begin = f"| `{feature.name}` | {feature.unit} |"
            row = next(line for line in features.splitlines() if line.startswith(begin))
            assert markdown.escaped(feature.meaning) in row and feature.formula.replace("|", "\\|") in row
    for measure in find_problem(problem).measures:
        assert f"| `{measure.name}` | {measure.label} |" in registries


def test_every_schema_of_a_module_is_told_with_all_its_columns(pages: dict[str, str]) -> None:
    page = pages["reference/tables.md"]
    defined = {each.name: each for each in tables.defined()}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in re.findall(r"^([A-Z_]+)(?:: [\w.]+)? = pa\.schema\(", path.read_text("utf-8"), re.MULTILINE):
            module = ".".join(["clearsched", *path.relative_to(PACKAGE).with_suffix("").parts])
            room = page.split(f"\n## {module.removeprefix('clearsched.')}\n")[1].split("\n## ")[0]
            section = room.split(f"### {name}\n")[1].split("\n### ")[0]
            for field in defined[f"{module}.{name}"].schema:
                assert f"| `{field.name}` | {markdown.escaped(str(field.type))} |" in section
    assert tables.PLACES.keys() <= defined.keys()


def test_every_command_is_told_with_all_its_options(pages: dict[str, str]) -> None:
    root = get_command(app)
    found = list(command_line.commands(root, ("clearsched",), root.context_class(root, info_name="clearsched")))
    assert len(found) > 40
    page = pages["reference/command-line.md"]
    for words, command, _ in found:
        section = page.split(f"## {' '.join(words)}\n")[1].split("\n## ")[0]
        if hasattr(command, "commands"):
            continue
        answer = CliRunner().invoke(app, [*words[1:], "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", re.sub(r"\x1b\[[0-9;]*m", "", answer.output)))
        assert options - {"--help"} <= set(re.findall(r"--[a-z][a-z-]*", section)), words
        assert "--help" in options, answer.output
        for parameter in command.params:
            if not parameter.opts[0].startswith("-"):
                assert f"| `{parameter.metavar or parameter.name}" in section, (words, parameter.name)


def test_every_shipped_scenario_has_its_card(pages: dict[str, str]) -> None:
    folders = sorted(path.parent for path in (PACKAGE / "shipped").glob("*/card.md"))
    assert folders
    for folder in folders:
        assert pages[f"reference/cards/{folder.name}.md"] == (folder / "card.md").read_text("utf-8")


class Page(HTMLParser):
    """What a page of the site loads, where it links to, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.classes: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.ids |= {told[key] for key in ("id", "name") if key in told}
        self.classes |= set(told.get("class", "").split())
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        elif tag == "link" and told.get("rel") not in ("canonical", "next", "prev", "alternate"):
            self.loads.append(told.get("href", ""))
        self.loads += [told[key] for key in ("src", "srcset", "poster", "data") if key in told]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    told = environment() | {"NO_MKDOCS_2_WARNING": "1"}
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=told, timeout=300)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "WARNING" not in answer.stderr and "DeprecationWarning" not in answer.stderr, answer.stderr
    return folder


@pytest.fixture(scope="module")
def built(site: Path) -> dict[Path, Page]:
    """Its pages; that for addresses that are not found belongs to servers."""
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


@pytest.mark.slow
def test_every_page_is_built(site: Path, built: dict[Path, Page]) -> None:
    for place in [*links.sources(), *GENERATED, *links.shown()]:
        assert (site / place).with_suffix(".html") in built


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site: Path, built: dict[Path, Page]) -> None:
    for path, page in built.items():
        assert page.loads, path
        for target in page.loads:
            assert not urlsplit(target).netloc, f"{path}: {target}"
            if not target.startswith("data:"):
                assert (path.parent / unquote(urlsplit(target).path)).is_file(), f"{path}: {target}"
        assert "mermaid" not in page.classes, "the theme would load its library from a server"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8")), sheet


@pytest.mark.slow
def test_no_link_of_the_site_is_broken(built: dict[Path, Page]) -> None:
    for path, page in built.items():
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert aim.exists(), f"{path}: {target}"
            if parts.fragment and aim in built:
                assert unquote(parts.fragment) in built[aim].ids, f"{path}: {target}"


MARKUP = re.compile(r"\*\*|`|\]\(|^\s*\||\|---|(?<=[.)] )\* \w", re.MULTILINE)


@pytest.mark.slow
def test_no_markup_is_left_in_the_text_of_a_page(built: dict[Path, Page]) -> None:
    """A list or table that the site reads otherwise than the repository's readers do."""
    for path in built:
        article = re.search(r"<article.*?</article>", path.read_text("utf-8"), re.DOTALL)
        if article is None:  # the page of the search
            continue
        prose = re.sub(r"<[^>]+>", "", re.sub(r"<(pre|code).*?</\1>", "", article[0], flags=re.DOTALL))
        left = MARKUP.search(prose)
        assert left is None, f"{path}: {prose[max(0, left.start() - 60) : left.end() + 40]}"


@pytest.mark.slow
def test_the_search_answers_without_a_server(site: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = browser.new_page()
            faults: list[str] = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("request", lambda asked: faults.append(asked.url) if asked.url.startswith("http") else None)
            page.goto((site / "index.html").as_uri())
            page.locator("[data-md-component=search-query]").fill("parked executors")
            first = page.locator(".md-search-result__link").first
            first.wait_for(state="attached", timeout=20_000)
            assert "simulator.html" in {
                urlsplit(link).path.rpartition("/")[2]
                for link in page.locator(".md-search-result__link").evaluate_all("all => all.map(each => each.href)")
            }
            assert faults == []
        finally:
            browser.close()
