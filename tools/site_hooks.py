"""Hooks of mkdocs: the pages of the reference made from code, and links that lead out of docs/.

mkdocs runs this file (`hooks` in mkdocs.yml). What the pages say is in `site_pages`, which knows nothing of mkdocs.
"""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from site_pages import GENERATED, links


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages that do not lie below docs/."""
    for place, make in GENERATED.items():
        files.append(File.generated(config, place, content=make()))
    for source, place in links.INCLUDED.items():
        text = (links.ROOT / source).read_text("utf-8")
        files.append(File.generated(config, place, content=links.for_site(text, source, place)))
    for place, source in links.shown().items():
        files.append(File.generated(config, place, content=links.page_of_file(source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What is otherwise in the site than in the repository: links, bars in tables, lists."""
    place = page.file.src_uri
    written = links.sources().get(place, "")
    here = links.for_site(markdown, written, place) if written.startswith("docs/") else markdown
    return links.with_deep_lists(links.with_plain_bars(here))
