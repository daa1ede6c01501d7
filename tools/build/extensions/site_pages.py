"""What the site needs beyond the theme: everything from its own files, launch and download buttons, slider scripts."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "build"))

import execute  # noqa: E402
import preview  # noqa: E402
import publishing  # noqa: E402
import repository  # noqa: E402


def _configure(app: Sphinx, config: Config) -> None:
    config.nb_execution_cache_path = str(execute.cache_folder() / "cache")
    address = repository.address(ROOT)
    if address:
        config.html_theme_options |= {"repository_url": address, "use_repository_button": True}
        config.html_baseurl = config.html_baseurl or publishing.site_address(address)


def _write_on_all_cores(app: Sphinx, env: Any) -> None:
    """Pages are read one by one, for two of the extensions cannot do otherwise, and written by as many as there are."""
    app.parallel = os.cpu_count() or 1


def _is_chapter(pagename: str) -> bool:
    return (ROOT / "notebooks" / f"{Path(pagename).name}.ipynb").is_file() and pagename.startswith("book/")


def _buttons(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add what the theme cannot know: the generated notebook, to download and, with an address, to open in Colab."""
    if not _is_chapter(pagename) or "header_buttons" not in context:
        return
    name = Path(pagename).name
    for group in context["header_buttons"]:
        if group.get("label") == "download-buttons":
            group["buttons"].insert(
                0,
                {
                    "type": "link",
                    "url": context["pathto"](f"notebooks/{name}.ipynb", 1),
                    "text": ".ipynb",
                    "icon": "fas fa-code",
                    "tooltip": "Download the notebook",
                    "label": "download-notebook-button",
                },
            )
    address = repository.address(ROOT)
    if colab := publishing.colab_address(address, name):
        context["header_buttons"].insert(
            0,
            {
                "type": "link",
                "url": colab,
                "text": "Open in Colab",
                "icon": "fas fa-rocket",
                "tooltip": "Open this chapter in Colab",
                "label": "launch-colab-button",
            },
        )


def _is_live_code(script: Any) -> bool:
    attributes = getattr(script, "attributes", {})
    return "thebe" in str(getattr(script, "filename", "")) or "THEBE" in str(attributes.get("body", ""))


def _body_and_scripts(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the slider script only on pages that have a slider figure; drop that of live code, which is not used.

    Jupyter Book always loads sphinx-thebe, and its script declares a name twice: an error on every page.
    """
    files = context.get("script_files", [])
    files[:] = [f for f in files if not _is_live_code(f)]  # in place: Sphinx hands out its own list for this page
    body = context.get("body", "")
    # docutils calls the list of references a list without list items, which a screen reader stumbles over.
    context["body"] = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')
    for room in sorted(set(re.findall(r'class="lr-slider" data-model="(\w+)\.', context["body"]))):
        app.add_js_file(f"models/{room}.js", priority=600, loading_method="defer")
        app.add_js_file("slider.js", priority=700, loading_method="defer")


def _tags(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Say what a page is about to search engines and to whoever passes its link on."""
    if doctree is None:
        return
    words = publishing.description(context["body"])
    title = re.sub(r"<[^>]+>", "", context["title"])
    tags = publishing.preview_tags(title, words, app.config.html_baseurl, f"{pagename}.html")
    context["metatags"] = context.get("metatags", "") + tags


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Add what is no page: notebooks that know their repository, and the files of a published site."""
    if error is not None or app.builder.format != "html":
        return
    from lrtransfer.page.scale import preset

    out, site = Path(app.outdir), app.config.html_baseurl
    address, revision = repository.address(ROOT), repository.revision(ROOT)
    (out / ".nojekyll").touch()
    (out / "notebooks").mkdir(exist_ok=True)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = notebook.read_text(encoding="utf-8")
        text = publishing.with_address(text, address, revision) if address else text
        (out / "notebooks" / notebook.name).write_text(text, encoding="utf-8")
    names = [name for name, _ in execute.toc_entries()]
    titles = [(f"{name}.html", app.env.titles[name].astext()) for name in names]
    (out / "404.html").write_text(publishing.not_found(site, titles), encoding="utf-8")
    (out / "robots.txt").write_text(publishing.robots(site), encoding="utf-8")
    if site:
        pages = ["", *(f"{name}.html" for name in sorted(app.env.found_docs))]
        preview.draw(out / "_static" / "preview.png")
        (out / "sitemap.xml").write_text(publishing.sitemap(pages, site), encoding="utf-8")
    made = {"repository": address, "revision": revision, "site": site, "preset": preset()}
    (out / "build.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", _configure, priority=100)
    app.connect("env-updated", _write_on_all_cores)
    app.connect("html-page-context", _body_and_scripts)
    app.connect("html-page-context", _buttons, priority=900)
    app.connect("html-page-context", _tags)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
