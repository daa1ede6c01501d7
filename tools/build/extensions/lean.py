"""The last step of the build: every page leaves out what it does not need to be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from fontTools import subset
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

from leaning import code, head, images, sheets, tables

FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")
# The theme's own script and style sheet ask for these.
ALWAYS = {"fa-solid", "fa-regular", "fa-brands", "fa-xmark", "fa-lg", "fa-fw"}


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    pages = {
        path: path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html")) if static not in path.parents
    }
    pages = {path: text for path, text in pages.items() if head.styles(text)}
    used = ALWAYS | {name for text in pages.values() for name in re.findall(r"\b(fa-[a-z0-9-]+)", text)}
    plain = code.plain_classes((static / "pygments.css").read_text(encoding="utf-8"))
    options = (static / "documentation_options.js").read_text(encoding="utf-8").strip()
    known = sheets.names(pages.values(), (path.read_text(encoding="utf-8") for path in static.rglob("*.js")))
    bundles: dict[tuple[str, ...], str] = {}
    pages = {path: images.written_out(text, path.parent, out / "_images") for path, text in pages.items()}
    images.follow_themes(out / "_images")
    for path, text in pages.items():
        names = tuple(head.styles(text))
        if names not in bundles:
            bundles[names] = head.bundled(static, list(names), used, known)
        leaner = code.lean(tables.lean(images.lean(text, path.parent)), plain)
        leaner = head.lean(head.named(leaner), bundles[names], options, is_search=path.name == "search.html")
        path.write_text(leaner, encoding="utf-8")
    _cut_icons(static, {(static / sheet).read_text(encoding="utf-8") for sheet in bundles.values()})


def _cut_icons(static: Path, sheets: set[str]) -> None:
    """Cut the icons' fonts to the characters that the style sheets name."""
    folder = static / "vendor" / "fontawesome" / "webfonts"
    asked = {each for sheet in sheets for each in re.findall(r'"\\?([^"]{1,5})"', sheet)}
    characters = {chr(int(each, 16)) for each in asked if re.fullmatch(r"[0-9a-fA-F]{4,5}", each)}
    characters |= {each for each in asked if len(each) == 1 and ord(each) > 0xE000}
    for name in FONTS:
        options = subset.Options(flavor="woff", hinting=False)
        cutter = subset.Subsetter(options)
        cutter.populate(text="".join(characters))
        with subset.load_font(str(folder / f"{name}.ttf"), options) as font:
            cutter.subset(font)
            subset.save_font(font, str(folder / f"{name}.woff"), options)
    for sheet in static.glob("site.*.css"):
        css = sheet.read_text(encoding="utf-8")
        css = re.sub(r"url\(([^)]*fa-[\w-]+)\.woff2\) format\(\"woff2\"\)", r'url(\1.woff) format("woff")', css)
        sheet.write_text(css, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
