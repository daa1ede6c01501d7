"""Slider figures, plots and reports: what a cell displays, in a page and in a live notebook."""

from __future__ import annotations

import base64
import json
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lrtransfer.depth.slider import TRAJECTORY
from lrtransfer.page import pictures, plots, report, sliders, style
from lrtransfer.page import scale as presets
from lrtransfer.page.ticks import PlainLocator
from lrtransfer.rates import BestLR, mean_curve


@pytest.fixture(autouse=True)
def no_window():
    import matplotlib

    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_a_slider_figure_is_whole_without_a_kernel():
    page = sliders.static_html(
        TRAJECTORY, sliders.drawn(TRAJECTORY.at_start()), caption="Look & see", alt='The "curve"'
    )
    controls = json.loads(re.search(r'data-sliders="(.*?)"', page)[1].replace("&quot;", '"'))
    assert [c["name"] for c in controls] == ["inv_tau", "depth", "r"]
    picture = base64.b64decode(re.search(r"base64,([^\"]+)", page)[1]).decode()
    assert picture.lstrip().startswith("<?xml") and "Look &amp; see" in page and "The &quot;curve&quot;" in page


def test_a_live_notebook_redraws_one_picture_from_the_engine():
    box = sliders.live_figure(TRAJECTORY, sliders.drawn(TRAJECTORY.at_start()), "caption")
    controls, (drawing, summary, tries, _) = box.children[:3], box.children[3:]
    before = drawing.value
    assert summary.value == TRAJECTORY.at_start().summary  # nothing is drawn twice for the start
    controls[0].value = 2.05
    assert drawing.value != before and drawing.value.count("<svg") == 1
    assert summary.value == TRAJECTORY.picture(2.05, controls[1].value, controls[2].value).summary
    assert [button.description for button in tries.children] == [one.words for one in TRAJECTORY.tries]
    tries.children[2].click()
    assert summary.value == TRAJECTORY.picture(**TRAJECTORY.start() | TRAJECTORY.tries[2].values).summary


def test_a_button_sets_only_what_a_slider_has():
    slider = pictures.Slider("a", "a", (0.0, 1.0))
    for values in ({"b": 0.0}, {"a": 0.5}):
        with pytest.raises(ValueError, match=r"^tries = .*control of 'room.figure'"):
            pictures.Model("room.figure", (slider,), TRAJECTORY.picture, (pictures.Try("words", values),))


@pytest.mark.parametrize(
    ("value", "text"), [(3.6e-7, "3.6 × 10⁻⁷"), (9.96, "1.0 × 10¹"), (1e5, "1.0 × 10⁵"), (0.25, "2.5 × 10⁻¹")]
)
def test_scientific(value, text):
    assert pictures.scientific(value) == text


def test_a_missing_ipywidgets_leaves_the_static_figure(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert sliders.live_figure(TRAJECTORY, sliders.drawn(TRAJECTORY.at_start()), "caption") is None


def test_a_slider_refuses_a_start_outside_its_values():
    with pytest.raises(ValueError, match=r"^start = 3 is not allowed"):
        pictures.Slider("x", "x", (1.0, 2.0), start=3)


@given(st.floats(1e-6, 999, allow_subnormal=False))
def test_numbers_of_a_summary_are_rounded_to_their_last_digit(value):
    assert float(pictures.significant(value, 3)) == pytest.approx(value, rel=5.001e-3)
    assert abs(float(pictures.fixed(value, 3)) - value) <= 0.5001e-3


def test_ties_are_rounded_as_the_script_rounds_them():
    assert (pictures.significant(0.03125, 3), pictures.fixed(0.0625, 3)) == ("0.0313", "0.063")
    assert pictures.significant(0.5, 3) == "0.500"


def test_the_mean_curve_leaves_out_rates_at_which_a_seed_diverged():
    losses = np.array([[1.0, 1.1], [0.5, 0.6], [0.7, np.inf]])
    curve = mean_curve([0.1, 0.2, 0.4], losses)
    np.testing.assert_allclose(curve.lrs, [0.1, 0.2])
    np.testing.assert_allclose(curve.middle, np.sqrt(losses[:2].prod(axis=1)))
    np.testing.assert_allclose(curve.high / curve.middle, np.sqrt(losses[:2, 1] / losses[:2, 0]))  # of two seeds
    np.testing.assert_allclose(curve.low * curve.high, curve.middle**2)
    assert curve.at(0.1 * math.sqrt(2)) == pytest.approx(math.sqrt(curve.middle.prod()))
    one = mean_curve([1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(one.low, one.high)
    assert mean_curve([1.0, 2.0], np.full((2, 2), np.inf)).lrs.size == 0


@pytest.mark.parametrize("losses", [[1.0], np.ones((2, 0)), np.ones((2, 1, 1)), [1.0, math.nan]])
def test_bad_curves_are_refused_by_name(losses):
    with pytest.raises(ValueError, match="losses"):
        mean_curve([1.0, 2.0], losses)


def test_a_sweep_leaves_out_rates_at_which_a_seed_diverged():
    _, ax = style.panels(1, 1)
    losses = np.array([[1.0, 1.1], [0.5, 0.6], [0.7, np.inf]])
    plots.rate_sweep(ax, [0.1, 0.2, 0.4], losses, label="x", color="k", best=(0.15, 0.2, 0.25))
    curve, bar, marker = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), np.sqrt(losses[:2].prod(axis=1)))
    assert list(bar.get_xdata()) == [0.15, 0.25] and list(marker.get_xdata()) == [0.2]
    assert len(ax.collections) == 1, "the band over seeds"


def test_a_sweep_that_diverged_at_every_rate_draws_nothing():
    _, ax = style.panels(1, 1)
    plots.rate_sweep(ax, [0.1, 0.2], np.full((2, 3), np.inf), label="x", color="k", best=(0.1, 0.1, 0.1))
    assert [line.get_xdata().size for line in ax.lines] == [0] and ax.get_legend_handles_labels()[1] == ["x"]


def test_sweeps_of_several_sizes_mark_no_minimum_that_is_only_a_bound():
    _, ax = style.panels(1, 1)
    rates, losses = np.array([0.1, 0.2, 0.4]), np.array([[1.0], [0.5], [0.7]])
    best = [BestLR(0.2, 0.15, 0.25, False), BestLR(0.4, 0.4, 0.4, True)]
    plots.rate_sweeps(ax, [rates, rates], [losses, losses], best, plots.labels("L", [3, 6]))
    assert ax.get_legend_handles_labels()[1] == ["L = 3", "L = 6"]
    assert len(ax.lines) == 4, "two curves, one marker with its bar"
    style.plain_ticks(ax)
    ax.set_ylim(0.3, 3)
    assert {"0.5", "1", "2"} <= {label.get_text() for label in ax.get_yticklabels()}


def test_the_same_drawing_gives_the_same_file():
    style.use_house_style()
    first, second = (plots.save_svg(plots.draw_picture(TRAJECTORY.at_start())) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("low", "high", "between"), [(1e-6, 1.0, False), (0.01, 1.0, True)])
def test_powers_are_plain_text_and_minor_ticks_need_a_short_axis(low, high, between):
    style.use_house_style()
    figure, ax = style.panels(1, 1)
    ax.loglog([low, high], [low, high])
    figure.canvas.draw()
    texts = [label.get_text() for label in ax.get_yticklabels()]
    assert "10⁻²" in texts and "10⁰" in texts and not any("$" in text for text in texts)
    assert bool(len(ax.yaxis.get_minorticklocs())) == between
    ax.set_xscale("log", base=2)
    figure.canvas.draw()
    assert any(label.get_text().startswith("2⁻") for label in ax.get_xticklabels())


@given(st.floats(-6, 6), st.floats(0.02, 4))
def test_plain_ticks_are_a_few_round_numbers_within_the_axis(start, span):
    low, high = 10.0**start, 10.0 ** (start + span)
    shown = PlainLocator().tick_values(low, high)
    assert 2 <= len(shown) <= 3 * span + 5 and (np.diff(shown) > 0).all()
    assert (shown >= low * (1 - 1e-8)).all() and (shown <= high * (1 + 1e-8)).all()
    spelled = [float(f"{x:g}") for x in shown]  # the label says where the tick is
    np.testing.assert_allclose(spelled, shown, rtol=1e-6)


def test_tables_show_infinity_words_and_rounded_numbers():
    text = report.markdown_table(["a", "b", "c"], [[np.float64(1.23456), np.inf, np.str_("word")], [3, "x", 0.5]])
    assert text.splitlines()[2:] == ["| 1.235 | ∞ | word |", "| 3 | x | 0.5 |"]
    with pytest.raises(ValueError, match="rows of 2 entries"):
        report.markdown_table(["a", "b"], [[1]])


def test_a_cell_shows_html_and_bars_as_written_and_its_mathematics_typeset():
    cells = ["<b>x</b> & y", "a|b", r"a\|b", "`a|b<c`", r"$|x|<1$", r"$\|x\|$ of **a**", "two\nlines", "costs $5"]
    head, _, row = report.markdown_table(["c|d", *"1234567"], [cells]).splitlines()
    assert head == r"| c\|d | 1 | 2 | 3 | 4 | 5 | 6 | 7 |"
    shown = r"&lt;b&gt;x&lt;/b&gt; &amp; y | a\|b | a\|b | `a\|b<c` | $\vert x\vert <1$ | $\Vert x\Vert $ of **a**"
    assert row == f"| {shown} | two lines | costs $5 |"


def test_a_row_has_as_many_cells_as_it_was_given_whatever_is_in_them():
    row = ["|", r"\|", "`|`", "$|a|$", "<script>alert(1)</script>", "&lt;", "a|b|c\n|"]
    page = MarkdownIt("commonmark").enable("table").render(report.markdown_table([*"abcdefg"], [row]))
    assert page.count("<td>") == page.count("<th>") == 7 and "<script>" not in page
    assert "&amp;lt;" in page  # what was written, not what it would stand for


def test_what_is_said_is_the_text_even_where_it_names_a_file(tmp_path, monkeypatch):
    shown: list[object] = []
    monkeypatch.setattr("IPython.display.display", lambda *data, **how: shown.append((data, how)))
    (tmp_path / "secret.txt").write_text("not to be shown")
    for text in (str(tmp_path / "secret.txt"), "http://localhost/nothing", "$a$ **b**"):
        report.say(text)
        assert shown.pop() == (({"text/markdown": text, "text/plain": text},), {"raw": True})


def test_the_preset_is_one_of_three_words(monkeypatch):
    monkeypatch.delenv(presets.VARIABLE, raising=False)
    assert presets.preset() == "book"
    monkeypatch.setenv(presets.VARIABLE, "smoke")
    assert presets.choose(smoke=1, book=2, full=3) == 1
    monkeypatch.setenv(presets.VARIABLE, "quick")
    with pytest.raises(ValueError, match="LRTRANSFER_PRESET = 'quick' is not allowed"):
        presets.preset()


def test_recorded_axes_stand_out_and_say_so():
    _, (built, kept) = style.panels(1, 2)
    style.recorded_ground(kept)
    assert kept.get_facecolor() != built.get_facecolor() and 0 < kept.get_facecolor()[3] < 0.3
    assert [text.get_text() for text in kept.texts] == ["recorded"]
