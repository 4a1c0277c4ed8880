"""The page in a real browser: no errors, it steps, sorts and filters, and axe finds no serious fault."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from report_toys import HOSTILE, results_of

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install 'clearsched[page]'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: pip install 'clearsched[page]'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a student whose name means harm."""
    root = tmp_path_factory.mktemp("browser")
    results_of(root, "dag_jobs", student=HOSTILE)
    return root / "report" / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, of which there is one for all tests."""
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(params=["light", "dark"])
def page(browser: Any, file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page, open; at the end nothing was said on the console, and nothing was asked of a network."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1280, "height": 900})
    opened, said, asked = context.new_page(), [], []
    opened.set_default_timeout(60_000)
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
    opened.on("request", lambda made: asked.append(made.url))
    opened.goto(file.as_uri())
    opened.wait_for_selector(".decision h4")
    yield opened
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def heading(page: Any) -> str:
    return page.locator(".decision h4").first.inner_text()


def test_it_steps_by_buttons_keys_and_clicks(page: Any) -> None:
    assert heading(page).startswith("Decision 1 of ")
    page.get_by_role("button", name="Next decision").click()
    assert heading(page).startswith("Decision 2 of ")
    page.keyboard.press("ArrowRight")
    assert heading(page).startswith("Decision 3 of ")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert heading(page).startswith("Decision 1 of ")
    page.keyboard.press("End")
    last = heading(page)
    assert last.split()[1] == last.split()[3].rstrip(",")
    page.keyboard.press("Home")
    page.locator(".gantt canvas").first.click(position={"x": 700, "y": 40})
    assert not heading(page).startswith("Decision 1 of ")
    page.get_by_label("Decision", exact=True).fill("0")
    assert heading(page).startswith("Decision 1 of ")


def test_another_policy_can_be_walked_through(page: Any) -> None:
    page.get_by_label("Walk through").select_option("fair")
    page.get_by_label("Beside it").select_option("capped_srpt")
    page.wait_for_function("document.querySelector('.gantt .title').innerText.startsWith('fair')")
    page.get_by_label("Step through").select_option("differ")
    page.get_by_role("button", name="Next decision").click()
    assert "answers otherwise" in page.locator(".decision p").first.inner_text()


def test_a_candidate_says_which_rule_speaks(page: Any) -> None:
    page.get_by_label("Step through").select_option("real")
    page.get_by_role("button", name="Next decision").click()
    page.locator(".candidates .link").last.click()
    assert "speaks" in page.locator(".reasons").inner_text()
    assert page.locator("tr.looked-at").count() == 1
    page.get_by_label("Step through").select_option("told")
    page.get_by_role("button", name="First decision").click()
    assert "The student answers" in page.locator(".account").first.inner_text()


def test_the_comparison_sorts_and_filters(page: Any) -> None:
    rows = page.locator(".comparison tbody tr")
    first = rows.first.inner_text()
    by_worst = page.locator(".comparison thead button", has_text="Worst")
    by_worst.click()
    assert page.locator(".comparison th[aria-sort=ascending]").count() == 1
    lowest = rows.first.inner_text()
    by_worst.click()
    assert page.locator(".comparison th[aria-sort=descending]").count() == 1
    assert {first} == {rows.first.inner_text()} != {lowest}
    page.locator(".comparison input[type=search]").fill("fair")
    assert page.locator(".comparison tbody tr:visible").count() == 1
    assert page.locator(".comparison .count").inner_text() == "1 of 3 policies"
    page.locator(".comparison input[type=search]").fill("")
    page.locator(".comparison input[value=heuristic]").uncheck()
    assert page.locator(".comparison tbody tr:visible").count() == 1


def test_the_theme_is_told_and_kept(page: Any) -> None:
    button = page.locator("#theme")
    assert button.inner_text() == "Theme: as the system"
    button.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    button.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 20, 23)"


def test_axe_finds_no_serious_fault(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    found = axe.Axe().run(page).response["violations"]
    serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
    assert not serious, [(fault["id"], [node["html"][:200] for node in fault["nodes"][:3]]) for fault in serious]


def test_it_fits_a_narrow_screen(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


PAPER = 688
"""Pixels between the margins of A4, 210 mm - 2 x 14 mm at 96 to the inch."""


def test_it_prints_in_light_without_controls(page: Any, tmp_path: Path) -> None:
    page.locator("#theme").click()
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.set_viewport_size({"width": PAPER, "height": 970})
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    for hidden in ("nav", ".filters", ".choose", ".steps", "#theme"):
        assert not page.locator(hidden).first.is_visible(), hidden
    for shown in (".comparison table", "figure img", ".gantt canvas", ".decision h4", ".candidates", ".account, .none"):
        assert page.locator(shown).first.is_visible(), shown
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    for wide in page.locator(".wide:visible table").all():
        assert wide.evaluate("table => table.getBoundingClientRect().right") <= PAPER, wide.inner_text()[:80]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.policy").count() == page.locator("details.policy[open]").count() > 0
    assert page.evaluate("document.documentElement.dataset.theme") == "light", "charts are drawn for white paper"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    printed = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert printed.startswith(b"%PDF-") and printed.count(b"/Type /Page\n") > 1
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
