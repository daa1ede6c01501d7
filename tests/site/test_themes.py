"""Figures follow the theme: colours that are told from the ground in both, no filter, and print that is light."""

from __future__ import annotations

import base64
import io
import itertools
import re

import numpy as np
import pytest
from PIL import Image
from visits import DESKTOP, Visit

import execute
import pdf
from leaning import images, themes
from lrtransfer.page import style

NAMED = (style.BLUE, style.ORANGE, style.GREEN, style.VERMILION, style.PURPLE, style.SKY, style.BLACK)
LEAST = 3.0  # of a line against its ground
PARTS = re.compile(r'<g id="(?P<group>[\w.]+)_\d+"|style="(?P<look>[^"]*)"')


def mixed(colour: str, opacity: float, ground: str) -> str:
    """The colour that a part of ``opacity`` shows on its ground."""
    pairs = ((int(c[at : at + 2], 16) for c in (colour, ground)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(opacity * a + (1 - opacity) * b):02x}" for a, b in pairs)


def recorded(theme: str) -> str:
    """The grey ground of recorded axes."""
    grey = "#808080" if theme == "light" else themes.twin("#808080")
    return mixed(grey, style.SHADE, themes.GROUND[theme])


def seen(colour: str, theme: str) -> str:
    return colour if theme == "light" else themes.twin(colour)


@pytest.mark.parametrize("theme", themes.GROUND)
def test_every_colour_of_the_house_is_told_from_white_dark_and_recorded_ground(theme):
    from matplotlib.colors import to_hex

    colours = [*NAMED, *map(to_hex, style.ordered_colors(9)), *(to_hex(grey) for grey in (style.GUIDE, style.NOTE))]
    for colour, ground in itertools.product(colours, (themes.GROUND[theme], recorded(theme))):
        assert themes.contrast(seen(colour, theme), ground) >= LEAST, (colour, ground)


def lab(colour: str, sight: str) -> np.ndarray:
    """CIELAB of a colour as an eye sees it to which ``sight`` maps linear light."""
    light = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    xyz = matrix(TO_XYZ) @ np.clip(matrix(sight) @ light, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


SIGHTS = {  # rows for red, green and blue; Machado, Oliveira and Fernandes (2009), full severity
    "all": "1 0 0  0 1 0  0 0 1",
    "no red": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  -0.003882 -0.048116 1.051998",
    "no green": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  -0.01182 0.04294 0.968881",
    "no blue": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602  0.004733 0.691367 0.3039",
}
TO_XYZ = "0.4124564 0.3575761 0.1804375  0.2126729 0.7151522 0.0721750  0.0193339 0.1191920 0.9503041"


def matrix(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=float).reshape(3, 3)


@pytest.mark.parametrize(("theme", "least"), [("light", 16), ("dark", 13)])
def test_colours_are_told_apart_by_the_colour_blind_too(theme, least):
    for name, sight in SIGHTS.items():
        places = [lab(seen(colour, theme), sight) for colour in NAMED]
        nearest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2))
        assert nearest >= least, f"{name}: {nearest:.1f}"


def test_families_go_from_dark_to_light_on_both_grounds():
    from matplotlib.colors import to_hex

    family = [to_hex(colour) for colour in style.ordered_colors(8)]
    for theme in themes.GROUND:
        lights = [themes.luminance(seen(colour, theme)) for colour in family]
        assert lights == sorted(lights)


def test_the_pages_colours_are_the_figures():
    sheet = (execute.ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    for start, theme in ((":root {", "light"), ('html[data-theme="dark"] {', "dark")):
        rule = next(line for line in sheet.splitlines() if line.startswith(start))
        said = dict(re.findall(r"--lr-(ink|c[0-3]): (#[0-9a-f]+)", rule))
        figures = [seen(colour, theme) for colour in (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE)]
        assert [said[f"c{k}"] for k in range(4)] == figures
        assert said["ink"].replace("#222", "#222222")[:7] == themes.INK[theme]


def test_a_colour_that_is_not_of_the_house_is_refused_by_name():
    with pytest.raises(ValueError, match="#123456 has no twin"):
        themes.themed('<svg ><style></style><path style="stroke: #123456"/></svg>')


def png(*colours: tuple[int, int, int, int]) -> str:
    data = io.BytesIO()
    Image.fromarray(np.array([colours], dtype=np.uint8)).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def drawing(image: str) -> str:
    return (
        '<svg width="1pt"><style>*{}</style>\n  <g id="axes_1">\n   <g id="patch_2">\n'
        f'   <image xlink:href="data:image/png;base64,{image}"/>\n   <g id="line2d_9">\n'
        f'    <path style="fill: none; stroke: {style.BLUE}"/>\n'
        '   <g id="text_1">\n    <path style="fill: #595959"/>\n</svg>'
    )


def test_on_a_map_of_colours_lines_stay_and_words_follow():
    themed = themes.themed(drawing(png((1, 2, 3, 255), (200, 2, 3, 255))))
    assert f"stroke: {style.BLUE}" in themed and "fill: #595959" not in themed
    assert f":root:target{{--k:{themes.INK['dark']}" in themed


def test_a_cloud_of_dots_of_one_colour_follows():
    own = tuple(int(style.BLUE[at : at + 2], 16) for at in (1, 3, 5))
    themed = themes.themed(drawing(png((*own, 255), (0, 0, 0, 0), (*own, 120))))
    assert style.BLUE not in themed.partition("</style>")[2] and "feFlood" in themed


def test_each_figure_stands_once_for_each_theme_and_is_one_file(tmp_path):
    (tmp_path / "_images").mkdir()
    svg = base64.b64encode(b"<svg height='1pt'>matplotlib</svg>").decode()
    page = images.written_out(f'<img alt="a" src="data:image/svg+xml;base64,{svg}">', tmp_path, tmp_path / "_images")
    light, dark = re.findall(r"<img[^>]*>", images.lean(page, tmp_path))
    address = re.search(r'src="(_images/\w+\.svg)"', light)[1]
    assert (tmp_path / address).is_file() and f'src="{address}#dark"' in dark and 'alt="a"' in dark


def strokes(svg: str) -> set[tuple[str, float, bool]]:
    """Colour, opacity and ground (recorded or not) of the lines of a drawing, on maps of colours left off."""
    found = set()
    for panel in re.split(r'^  <g id="axes_', svg, flags=re.MULTILINE)[1:]:
        if "<image" in panel and "feFlood" not in panel:
            continue
        grey = f"fill-opacity: {style.SHADE:g}" in panel
        group = ""
        for part in PARTS.finditer(panel):
            group = part["group"] or group
            look = dict(each.split(":", 1) for each in (part["look"] or "").replace(" ", "").split(";") if ":" in each)
            stroke = look.get("stroke", "none")
            if group in ("line2d", "LineCollection", "QuadContourSet") and stroke != "none" and "fill" in look:
                opacity = float(look.get("opacity", 1)) * float(look.get("stroke-opacity", 1))
                if look["fill"] == "none" or opacity == 1:  # a cloud of dots is no line
                    found.add((stroke, opacity, grey))
    return found


def values(svg: str) -> dict[str, dict[str, str]]:
    """What the variables of a drawing stand for in each theme."""
    rules = re.search(r":root\{(.*?);fill:.*?\}:root:target\{(.*?)\}", svg).groups()
    pairs = [re.findall(r"(--\w+):(#\w+)", rule) for rule in rules]
    return {theme: {f"var({k})": v for k, v in each} for theme, each in zip(themes.GROUND, pairs, strict=True)}


@pytest.fixture(scope="module")
def drawings(site):
    drawn = {path.name: path.read_text(encoding="utf-8") for path in sorted((site / "_images").glob("*.svg"))}
    return {name: svg for name, svg in drawn.items() if "matplotlib" in svg[:1500]}


def test_every_line_of_every_figure_is_told_from_its_ground_in_both_themes(drawings):
    assert len(drawings) > 50
    faint, lines = [], 0
    for name, svg in drawings.items():
        for theme, known in values(svg).items():
            for stroke, opacity, grey in strokes(svg):
                ground = recorded(theme) if grey else themes.GROUND[theme]
                assert stroke in known, f"{name}: {stroke} does not follow the theme"
                if known[stroke] == themes.GROUND[theme]:
                    continue  # the rim that sets a mark off
                shown = mixed(known[stroke], opacity, ground)
                lines += 1
                if themes.contrast(shown, ground) < LEAST:
                    faint.append((name, theme, stroke, known[stroke], opacity))
    assert not faint and lines > 200


WITH_FIGURES = ("intro", "depth", "width", "residual", "layers", "stages", "synthesis", "practice")
LOOK = """async (image) => {
  image.loading = 'eager';
  await image.decode();
  const canvas = document.createElement('canvas'), scale = 2;
  canvas.width = scale * image.getAttribute('width');
  canvas.height = scale * image.getAttribute('height');
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(pen.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const opaque = new Map();
  for (const pixel of pixels) if (pixel >>> 24 === 255) opaque.set(pixel, (opaque.get(pixel) ?? 0) + 1);
  let filters = '';
  for (let e = image; e; e = e.parentElement) filters += getComputedStyle(e).filter.replace('none', '');
  return { src: image.src, filters, shown: image.checkVisibility(),
           colours: [...opaque].filter(([, n]) => n > 8).map(([c]) => [c & 255, c >> 8 & 255, c >> 16 & 255]) };
}"""


@pytest.mark.parametrize("name", WITH_FIGURES)
def test_a_figure_is_drawn_in_the_colours_of_its_theme_and_fetched_once(browser, address, drawings, name):
    with Visit(browser, address, f"book/{name}.html", DESKTOP) as visit:
        fetched: list[str] = []
        visit.page.on("request", lambda request: fetched.append(request.url) if "_images" in request.url else None)
        visit.page.evaluate("document.querySelectorAll('article details').forEach((fold) => { fold.open = true; })")
        for theme in themes.GROUND:
            visit.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            figures = visit.page.locator(f"article img.lr-on-{theme}")
            assert figures.count() > 0 or name == "intro"
            for figure in figures.all():
                found = figure.evaluate(LOOK)
                assert found["filters"] == "" and found["shown"]
                assert found["src"].endswith("#dark") == (theme == "dark")
                colours = np.array(found["colours"])
                svg = drawings[found["src"].split("/")[-1].removesuffix("#dark")]
                lines = {values(svg)[theme][stroke] for stroke, opacity, _ in strokes(svg) if opacity == 1}
                for colour in {themes.INK[theme], *lines} - {themes.GROUND[theme]}:
                    own = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
                    assert np.abs(colours - own).max(axis=1).min() <= 6, f"{found['src']} has no {colour}"
        assert len({url.partition("#")[0] for url in fetched}) == len(fetched)


def test_print_from_the_dark_shows_the_light_figures_without_a_script_too(browser, address):
    with Visit(browser, address, "book/depth.html", DESKTOP) as visit:
        visit.page.evaluate("document.documentElement.dataset.theme = 'dark'")
        visit.page.emulate_media(media="print")
        visible = "images => images.filter((image) => image.checkVisibility()).length"
        assert visit.page.locator("article img.lr-on-dark").evaluate_all(visible) == 0
        assert visit.page.locator("article img.lr-on-light").evaluate_all(visible) > 10


def test_the_pdf_holds_the_light_figures_alone(site):
    assert "#dark" not in pdf.document()
