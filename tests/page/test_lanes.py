"""The map of lanes: what it draws, and that a phone can read it."""

import matplotlib.pyplot as plt
import pytest

from lrtransfer.page.lanes import HEIGHT, WIDTH, Lane, draw_lanes, stack

LANE = Lane("width", "size of the update", r"$\eta_n \to \eta_\infty$", "one line\nor two", stack(2), stack(5))


def test_every_lane_shows_its_words_and_both_pictures():
    figure = draw_lanes([LANE, LANE])
    assert tuple(figure.get_size_inches()) == (WIDTH, 2 * HEIGHT)
    for ax in figure.axes:
        words = [text.get_text() for text in ax.texts]
        assert {LANE.title, LANE.mechanism, LANE.rule, LANE.assumes} <= set(words)
        assert len(ax.patches) == 2 + 5
    # 4.8 inches are 461 px; a phone that shows them on 350 still has letters of 9 px
    assert (
        min(text.get_fontsize() for ax in figure.axes for text in ax.texts if text.get_text()) * 96 / 72 * 350 / 461 > 8
    )
    plt.close(figure)


def test_a_tower_lies_between_its_heights_without_overlap():
    bars = stack(4, width=0.5, low=0.2, high=0.6)
    assert len(bars) == 4 and bars[0][1] == pytest.approx(0.2)
    assert all(x == 0.25 and width == 0.5 for x, _, width, _ in bars)
    tops = [y + height for _, y, _, height in bars]
    assert all(top < bar[1] for top, bar in zip(tops, bars[1:], strict=False)) and tops[-1] < 0.6


def test_no_lane_is_refused():
    with pytest.raises(ValueError, match="lanes"):
        draw_lanes([])
