"""The built site in Chromium: what a reader sees, at a desk, on a phone and in the dark; the figures that move."""

from __future__ import annotations

import importlib
import itertools
import json
import pkgutil
import re

import numpy as np
import pytest
from visits import DESKTOP, PHONE, Visit, serious_faults

import execute
import lrtransfer
from lrtransfer.page.pictures import Model

PAGES = [name.removeprefix("book/") for name, _ in execute.toc_entries()]
MODELS = [
    value
    for module in pkgutil.walk_packages(lrtransfer.__path__, "lrtransfer.")
    if module.name.endswith(".slider")
    for value in vars(importlib.import_module(module.name)).values()
    if isinstance(value, Model)
]
MOVING = [f"book/{model.name.split('.')[0]}.html" for model in MODELS]


@pytest.fixture(params=PAGES)
def name(request):
    return f"book/{request.param}.html"


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    [(DESKTOP, "light"), (PHONE, "light"), (DESKTOP, "dark")],
    ids=["desktop", "phone", "dark"],
)
def test_a_page_is_quiet_whole_and_within_its_width(browser, address, name, viewport, scheme):
    with Visit(browser, address, name, viewport, color_scheme=scheme) as visit:
        visit.page.wait_for_load_state("networkidle")
        assert visit.outside == []
        assert visit.complaints == []
        assert visit.page.locator("merror").count() == 0
        width = visit.page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"], f"{width} px wide"
        assert visit.page.evaluate("document.documentElement.dataset.theme") == scheme
        alts = visit.page.evaluate("[...document.images].filter(i => i.closest('article')).map(i => i.alt.length)")
        assert 0 not in alts
        broken = visit.page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert broken == []


def test_there_is_one_search_field_and_it_finds_words(browser, address):
    with Visit(browser, address, "search.html?q=hypergeometric") as visit:
        visit.page.wait_for_selector("ul.search li a")
        assert "depth.html" in visit.page.locator("ul.search li a").first.get_attribute("href")
        assert visit.complaints == []
    with Visit(browser, address, "book/depth.html") as visit:
        assert visit.page.locator("form.bd-search:visible").count() <= 1


def drawing(page):
    """What the slider figure shows: the paths of its curves (a reference among them may stay) and its sentence."""
    page.wait_for_selector("figure.lr-slider[data-ready=true]")
    page.wait_for_timeout(60)  # one frame, in which the figure redraws
    return (
        page.locator("figure.lr-slider .lr-curve").evaluate_all("curves => curves.map(c => c.getAttribute('d'))"),
        page.locator("figure.lr-slider .lr-summary").inner_text(),
    )


@pytest.mark.parametrize("moving", MOVING)
def test_the_slider_moves_the_figure_by_keyboard(browser, address, moving):
    with Visit(browser, address, moving) as visit:
        before = drawing(visit.page)
        slider = visit.page.locator("figure.lr-slider input").first
        slider.focus()
        said = slider.get_attribute("aria-valuetext")
        visit.page.keyboard.press("End" if slider.input_value() != slider.get_attribute("max") else "Home")
        after = drawing(visit.page)
        assert before[0] != after[0] and before[1] != after[1]
        assert slider.get_attribute("aria-valuetext") != said
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("document.activeElement.id") == "lr-slider-0-1"


@pytest.mark.parametrize("moving", MOVING)
def test_the_slider_moves_the_figure_by_mouse(browser, address, moving):
    with Visit(browser, address, moving) as visit:
        before = drawing(visit.page)
        slider = visit.page.locator("figure.lr-slider input").nth(1)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        start, last = float(slider.input_value()), float(slider.get_attribute("max"))
        visit.page.mouse.move(box["x"] + box["width"] * 0.3, middle)
        visit.page.mouse.down()
        visit.page.mouse.move(box["x"] + box["width"] * (0.05 if start > last / 2 else 0.95), middle, steps=6)
        visit.page.mouse.up()
        assert drawing(visit.page)[0] != before[0]
        assert visit.complaints == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_buttons_show_what_they_say_and_nothing_below_jumps(browser, address, model):
    assert 2 <= len(model.tries) <= 3
    for viewport in (DESKTOP, PHONE):
        with Visit(browser, address, f"book/{model.name.split('.')[0]}.html", viewport) as visit:
            drawing(visit.page)
            figure = visit.page.locator("figure.lr-slider")
            height = figure.bounding_box()["height"]
            for one in model.tries:
                visit.page.get_by_role("button", name=one.words).click()
                assert same_sentence(drawing(visit.page)[1], model.picture(**model.start() | one.values).summary)
                assert abs(figure.bounding_box()["height"] - height) < 1
            for slider in figure.locator("input").all():
                for key in ("Home", "End"):
                    slider.press(key)
                    drawing(visit.page)
                    assert abs(figure.bounding_box()["height"] - height) < 1


@pytest.mark.parametrize("moving", MOVING)
def test_the_figure_moves_when_the_site_is_opened_from_a_folder(browser, site, moving):
    page = browser.new_context().new_page()
    page.goto((site / moving).as_uri())
    before = drawing(page)
    page.locator("figure.lr-slider input").first.press("End")
    assert drawing(page)[0] != before[0]
    page.context.close()


@pytest.mark.parametrize("moving", MOVING)
def test_no_tick_stands_on_the_name_of_its_axis(browser, address, moving):
    with Visit(browser, address, moving) as visit:
        drawing(visit.page)
        overlaps = """() => [...document.querySelectorAll('figure.lr-slider svg.lr-panel')].flatMap((svg) => {
            const boxes = (name) => [...svg.querySelectorAll(name)].map((text) => text.getBoundingClientRect());
            const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
            return boxes('.lr-label').flatMap((label) => boxes('.lr-tick').filter((tick) => !apart(label, tick)));
        }).length"""
        assert visit.page.evaluate(overlaps) == 0


@pytest.mark.parametrize("moving", MOVING)
def test_the_slider_moves_the_figure_by_touch(browser, address, moving):
    with Visit(browser, address, moving, PHONE, has_touch=True, is_mobile=True) as visit:
        before = drawing(visit.page)
        slider = visit.page.locator("figure.lr-slider input").first
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        start, last = float(slider.input_value()), float(slider.get_attribute("max"))
        place = 0.05 if start > last / 2 else 0.95  # the far side
        visit.page.touchscreen.tap(box["x"] + box["width"] * place, box["y"] + box["height"] / 2)
        assert drawing(visit.page)[0] != before[0]


def test_without_scripts_the_figure_shows_its_first_picture(browser, address):
    with Visit(browser, address, "book/depth.html", java_script_enabled=False) as visit:
        image = visit.page.locator("figure.lr-slider img:visible")  # that of the theme
        assert image.count() == 1 and image.get_attribute("alt")
        assert "JavaScript" in visit.page.locator("figure.lr-slider noscript p").inner_text()
        assert not visit.page.locator(".lr-tries button").first.is_visible()


def settings(model):
    """Combinations of slider values: every other value of each slider, and its last."""
    choices = [sorted({*slider.values[::2], slider.values[-1]}) for slider in model.sliders]
    chosen = [dict(zip([s.name for s in model.sliders], values, strict=True)) for values in itertools.product(*choices)]
    # Beyond the end of the two-cycle the map is chaotic, and two roundings of it part.
    return [c for c in chosen if not (model.name == "depth.trajectory" and c["inv_tau"] > 2.45)]


def same_sentence(one, other):
    """Equal words and, to the last digit shown, equal numbers: a tie may round either way."""
    number = re.compile(r"\d+\.\d+")
    if number.sub("#", one) != number.sub("#", other):
        return False
    pairs = zip(number.findall(one), number.findall(other), strict=True)
    return all(abs(float(a) - float(b)) < 1.01 * 10.0 ** -len(a.split(".")[1]) for a, b in pairs)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_script_draws_what_the_engine_computes(browser, address, model):
    room, figure = model.name.split(".")
    chosen = settings(model)
    with Visit(browser, address, f"book/{room}.html") as visit:
        drawn = visit.page.evaluate(
            """([room, figure, chosen]) => {
                const model = window.lrModels[room][figure];
                const plain = (key, v) => (typeof v === 'number' && !Number.isFinite(v) ? String(v) : v);
                return chosen.map((values) => JSON.stringify(model(values), plain));
            }""",
            [room, figure, chosen],
        )
    assert len(drawn) == len(chosen) > 20
    for values, text in zip(chosen, drawn, strict=True):
        theirs, ours = json.loads(text), model.picture(**values).as_dict()
        assert same_sentence(theirs["summary"], ours["summary"]), values
        for panel, twin in zip(theirs["panels"], ours["panels"], strict=True):
            numbers = ("curves", "xlim", "ylim")
            assert {k: v for k, v in panel.items() if k not in numbers} == {
                k: v for k, v in twin.items() if k not in numbers
            }
            np.testing.assert_allclose([*panel["xlim"], *panel["ylim"]], [*twin["xlim"], *twin["ylim"]], rtol=1e-12)
            for curve, other in zip(panel["curves"], twin["curves"], strict=True):
                assert (curve["label"], curve["points"]) == (other["label"], other["points"])
                for axis in "xy":
                    mine = np.array([float(v) for v in curve[axis]])
                    # On a stable orbit 60 steps amplify the last bit of a power by a few hundred at most.
                    where = f"{values} {curve['label']} {axis}"
                    np.testing.assert_allclose(mine, other[axis], rtol=1e-9, atol=1e-11, err_msg=where)


def test_a_chapter_downloads_as_a_notebook(browser, address):
    with Visit(browser, address, "book/depth.html") as visit:
        link = visit.page.locator("a[href$='notebooks/depth.ipynb']").first.get_attribute("href")
        answer = visit.page.request.get(f"{address}/book/{link}")
        assert answer.ok and json.loads(answer.text())["nbformat"] == 4


def test_print_shows_what_is_folded(browser, address):
    with Visit(browser, address, "book/depth.html") as visit:
        visit.page.emulate_media(media="print")
        folded = visit.page.locator("div.solution p:not(.admonition-title)").first
        assert folded.is_visible()
        assert not visit.page.locator("figure.lr-slider input").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation_in_an_article(browser, address, name, scheme):
    with Visit(browser, address, name, color_scheme=scheme) as visit:
        assert serious_faults(visit.page, "article") == []
