"""Figures that load when they are near, in a place that is kept for them."""

from __future__ import annotations

import re
from pathlib import Path

IMAGE = re.compile(r'<img\b[^>]*?src="([^"]*?_images/[^"]+\.svg)"[^>]*>')
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


def lean(page: str, folder: Path) -> str:
    """Return the page, which lies in ``folder``, with its figures' sizes said and their loading put off."""

    def sized(found: re.Match[str]) -> str:
        measured = size(folder / found[1]) if "width=" not in found[0] else None
        said = f' width="{measured[0]}" height="{measured[1]}"' if measured else ""
        return found[0].replace("<img", f'<img loading="lazy" decoding="async"{said}', 1)

    return IMAGE.sub(sized, page)
