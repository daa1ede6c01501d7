"""What the site needs beyond the theme: everything from its own files, launch and download buttons, slider scripts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "build"))

import execute  # noqa: E402
import repository  # noqa: E402


def _configure(app: Sphinx, config: Config) -> None:
    config.nb_execution_cache_path = str(execute.cache_folder() / "cache")
    address = repository.address(ROOT)
    if address:
        config.html_theme_options |= {"repository_url": address, "use_repository_button": True}


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
    if address.startswith("https://github.com/"):
        place = address.removeprefix("https://github.com/")
        context["header_buttons"].insert(
            0,
            {
                "type": "link",
                "url": f"https://colab.research.google.com/github/{place}/blob/main/notebooks/{name}.ipynb",
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
    if 'class="lr-slider"' in context.get("body", ""):
        app.add_js_file("slider.js", type="module")


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        out = Path(app.outdir)
        (out / ".nojekyll").touch()
        shutil.copytree(ROOT / "notebooks", out / "notebooks", dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", _configure, priority=100)
    app.connect("html-page-context", _body_and_scripts)
    app.connect("html-page-context", _buttons, priority=900)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
