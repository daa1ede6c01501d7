"""Figures that follow the theme and load when they are near, in a place that is kept for them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path

from leaning import themes

IMAGE = re.compile(r'<img\b[^>]*?src="([^"]*?_images/[^"#]+\.svg)"[^>]*>')
INLINE = re.compile(r'src="data:image/svg\+xml;base64,([^"]+)"')
SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"', re.DOTALL)
SIZE_REVERSED = re.compile(r'<svg\b[^>]*?\bheight="([\d.]+)pt"[^>]*?\bwidth="([\d.]+)pt"', re.DOTALL)
POINT = 4 / 3  # pixels


def size(svg: Path) -> tuple[int, int] | None:
    """Return width and height of a drawing in pixels, where it says them in points."""
    start = svg.read_text(encoding="utf-8")[:2000]
    found, reversed_ = SIZE.search(start), SIZE_REVERSED.search(start)
    if found:
        return round(float(found[1]) * POINT), round(float(found[2]) * POINT)
    if reversed_:
        return round(float(reversed_[2]) * POINT), round(float(reversed_[1]) * POINT)
    return None


def written_out(page: str, folder: Path, images: Path) -> str:
    """Return the page, which lies in ``folder``, with the drawings that it carries in files of their own."""

    def filed(found: re.Match[str]) -> str:
        svg = base64.b64decode(found[1])
        path = images / f"{hashlib.sha256(svg).hexdigest()}.svg"
        images.mkdir(exist_ok=True)
        path.write_bytes(svg)
        return f'src="{Path(os.path.relpath(path, folder)).as_posix()}"'

    return INLINE.sub(filed, page)


def follow_themes(images: Path) -> None:
    """Give the drawings of a folder their two sets of colours; ValueError names one that the house does not have."""
    for path in sorted(images.glob("*.svg")):
        svg = path.read_text(encoding="utf-8")
        if "matplotlib" in svg[:1500]:
            path.write_text(themes.themed(svg), encoding="utf-8")


def lean(page: str, folder: Path) -> str:
    """Return the page, which lies in ``folder``, with each figure light and dark, sized, and loaded when it is near."""

    def sized(found: re.Match[str]) -> str:
        measured = size(folder / found[1]) if "width=" not in found[0] else None
        said = f' width="{measured[0]}" height="{measured[1]}"' if measured else ""
        image = found[0].replace("<img", f'<img loading="lazy" decoding="async"{said}', 1)
        return _shown(image, "light") + _shown(image.replace('.svg"', f'.svg#{themes.NAME}"', 1), "dark")

    return IMAGE.sub(sized, page)


def _shown(image: str, theme: str) -> str:
    """Return an image that the style sheet shows in one theme; the theme's own rules let it be."""
    names = f"lr-on-{theme} dark-light"
    if 'class="' in image:
        return image.replace('class="', f'class="{names} ', 1)
    return image.replace("<img", f'<img class="{names}"', 1)
