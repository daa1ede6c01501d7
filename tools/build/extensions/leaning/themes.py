"""Figures that follow the theme: every colour of a drawing is a variable with a value on light and one on dark ground.

A drawing is one file. Asked for as it is, it is the light one; asked for as ``figure.svg#dark``, the dark one. So a
page has each figure twice, and its style sheet shows one; a browser fetches the file once, and neither a script nor
the system's own theme is asked. On maps of colours (an image under the curves) nothing but words and axes changes.
"""

from __future__ import annotations

import base64
import io
import itertools
import re
from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image

from lrtransfer.page import style

GROUND = {"light": "#ffffff", "dark": "#121212"}
INK = {"light": "#222222", "dark": "#e6e6e6"}
# The page's own colours (book.css) are the first four.
DARK = {
    style.BLUE: "#4f93ff",
    style.VERMILION: "#e8683c",
    style.GREEN: "#45e6a4",
    style.PURPLE: "#d85ca4",
    style.ORANGE: "#fdbb2d",
    style.SKY: "#38c6ff",
    style.BLACK: INK["dark"],
    "#000000": INK["dark"],
    "#ffffff": GROUND["dark"],
}
FAMILY_DARK = 0.42, 1.0  # the part of the map of ordered families that is 3:1 on dark ground
NAME = "dark"  # what an address ends in

COLOUR = re.compile(r"\b(fill|stroke|stop-color|flood-color): ?(#[0-9a-fA-F]{6})\b")
AXES = re.compile(r'^  <g id="axes_', re.MULTILINE)
PART = re.compile(r'^   <(?:g id="|image\b)', re.MULTILINE)
RASTER = re.compile(r'<image xlink:href="data:image/png;base64,([^"]+)"')
FURNITURE = ("matplotlib.axis", "patch", "text", "legend")


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, as the rules for contrast define it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Ratio of the lighter to the darker of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@cache
def _families() -> dict[str, str]:
    """From every colour of the ordered families on light ground to that on dark: dark to light on both."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colours, (low, high) = colormaps[style.FAMILY], FAMILY_DARK
    last = int(style.LIGHTEST * colours.N)
    return {to_hex(colours(k)): to_hex(colours(low + (high - low) * k / last)) for k in range(last + 1)}


@cache
def twin(colour: str) -> str:
    """The colour on dark ground that stands for one on light ground.

    Raises
    ------
    ValueError
        Where the house style has no such colour.
    """
    colour = colour.lower()
    found = DARK.get(colour) or _families().get(colour)
    if found is None and colour[1:3] == colour[3:5] == colour[5:7]:
        greys = (f"#{3 * f'{level:02x}'}" for level in range(256))
        wanted = contrast(colour, GROUND["light"])
        found = min(greys, key=lambda grey: abs(contrast(grey, GROUND["dark"]) - wanted))
    if found is None:
        raise ValueError(f"{colour} has no twin on dark ground: figures take their colours from lrtransfer.page.style.")
    return found


def themed(svg: str) -> str:
    """Return a drawing of matplotlib whose colours are variables."""
    names: dict[str, str] = {"#000000": "--k"}

    def variable(found: re.Match[str]) -> str:
        colour = found[2].lower()
        name = names.setdefault(colour, f"--{len(names):x}")
        return f"{found[1]}:var({name})"

    def recoloured(text: str) -> str:
        return COLOUR.sub(variable, text)

    start, *axes = _split(AXES, svg)
    body = recoloured(start) + "".join(_axes(each, recoloured) for each in axes)
    light = ";".join(f"{name}:{colour if colour != '#000000' else INK['light']}" for colour, name in names.items())
    dark = ";".join(f"{name}:{twin(colour)}" for colour, name in names.items())
    rules = f":root{{{light};fill:var(--k)}}:root:target{{{dark}}}"
    body = body.replace("<svg ", f'<svg id="{NAME}" ', 1)
    return body.replace("</style>", f"{rules}</style>", 1)


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return a text in pieces, each but the first beginning with the pattern."""
    places = [0, *(found.start() for found in pattern.finditer(text)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(places)]


def _axes(text: str, recoloured: Callable[[str], str]) -> str:
    """Return a panel with its colours as variables; of a map of colours, its words and axes alone."""
    images = RASTER.findall(text)
    if not images:
        return recoloured(text)
    hues = [_hue(base64.b64decode(each)) for each in images]
    if all(hues):
        for hue in set(hues):
            text = _filled(text, str(hue))
        return recoloured(text)
    first, *parts = _split(PART, text)
    kept = (part if not _is_furniture(part) else recoloured(part) for part in parts)
    return recoloured(first) + "".join(kept)


def _is_furniture(part: str) -> bool:
    return part.startswith(tuple(f'   <g id="{name}' for name in FURNITURE))


def _hue(png: bytes) -> str | None:
    """The one colour of a cloud of dots, where it is one of the house style's; None for a map of colours."""
    with Image.open(io.BytesIO(png)) as image:
        rgba = np.asarray(image.convert("RGBA")).reshape(-1, 4)
    laid_on = rgba[rgba[:, 3] > 99, :3].astype(int)  # where there is less, colours are rounded
    for colour in DARK:
        own = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        if laid_on.size and np.abs(laid_on - own).max() <= 3:
            return colour
    return None


def _filled(text: str, hue: str) -> str:
    """Return a panel whose dots are filled with a colour that is named, by a filter of the drawing's own."""
    name = f"f{hue[1:]}"
    flood = (
        f'<filter id="{name}" x="0" y="0" width="1" height="1" color-interpolation-filters="sRGB">'
        f'<feFlood style="flood-color: {hue}"/><feComposite in2="SourceAlpha" operator="in"/></filter>'
    )
    opened, rest = text.split(">", 1)
    return f"{opened}>{flood}" + rest.replace("<image ", f'<image filter="url(#{name})" ')
