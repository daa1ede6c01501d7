"""Answers are marked right where they are, wrong where they are not, and never told; bad input gets a sentence."""

import math
import re

import numpy as np
import pytest

from lrtransfer.exercises import answers
from lrtransfer.exercises.answers import CHAPTERS, Answer, check_answer, exercises, mark, sealed

# By hand, from the solutions' algebra: nothing here is computed by the engines that the references use.
RIGHT = {
    "depth.1": 1 / 16 + 1 + 1 + 16,
    "depth.2": 1,
    "depth.3": 0.1 * 2 ** (-2 * (1 / 8 - 1 / 64)),
    "depth.4": 8 / 3 * 5 * 26,
    "depth.5": [0.0222, 2.86],
    "depth.6": 10**-2,
    "depth.7": 10,
    "depth.8": [2 ** (-4 / 3), 0.0125 * 2 ** (7 / 24)],
    "depth.9": 2 * 1.9,
    "width.1": 3**4 * 2**3 / 4**3,
    "width.2": (3 - 36 / 14) / 6,
    "width.3": 1.1,
    "width.4": [1 / 6, 2 / 3],
    "width.5": 2,
    "width.6": [643, 0.16],
    "width.7": (1 + 4 ** (-1 / 3)) / (1 + 4 ** (-4 / 3)),
    "width.8": [1, 3, 12, 55],
    "residual.2": "below the best rate",
    "residual.3": (1 + 1 / 32) ** 16,
    "residual.4": [0.5, 1, 0.5],
    "residual.6": -0.5,
    "residual.7": [
        -math.log2((25 / 24) ** 24 * (2 + 24 / 25) / ((4 / 3) ** 3 * 2.75)),
        -math.log2(2**24 * 14 / (2**3 * 3.5)),
        -math.log2((1 + 24**-2) ** 24 * (2 + 24 / 577) / ((1 + 1 / 9) ** 3 * 2.3)),
    ],
    "residual.8": [2 / 5, 1 / 5, 2 / 5],
    "residual.9": 12,
    "layers.1": "train one layer only",
    "layers.2": 3,
    "layers.3": 3,
    "layers.4": 1 / 2,
    "layers.5": 2 / 10,
    "layers.6": [math.asinh(2 / 3 * 1e4) / 2, 1 / 3],
    "layers.7": [0.7384, 0.001],
    "layers.8": 7,
    "stages.1": [-1, -2],
    "stages.2": "each method at its own best rate",
    "stages.3": 0.1,
    "stages.4": [1.389, 1.414],
    "stages.5": -2,
    "stages.6": 2 / 4,
    "stages.7": "too early",
    "stages.8": 144,
    "stages.9": np.log(1e-3) / np.log([0.99, 0.99**0.5, 0.9]),
    "practice.1": [256 / 2048, 2048 / 256, 6 / 24],
    "practice.3": 1 / 16,
    "practice.4": 1 / 2,
    "practice.5": 1,
    "practice.7": "new losses, and the old ones stay",
    "synthesis.1": 8000,
    "synthesis.2": [4 / 13, 1 / 3],
    "synthesis.3": [-7 / 8, -7 / 8 + math.log2((2**0.5 - 1) / (2 ** (1 / 16) - 1))],
    "synthesis.4": [math.hypot(5 / 6, 11 / 6) / 10, math.hypot(2 / 9, 11 / 9) / 10],
    "synthesis.5": [2**2.25, 9 / 8 * 2**0.5],
    "synthesis.6": [1.8, 5],
}
KNOWN = {name: answer for chapter in CHAPTERS for name, answer in exercises(chapter).items()}
NUMBERS = [name for name, answer in KNOWN.items() if not answer.options]


def test_every_answer_is_known_by_hand():
    assert list(KNOWN) == [name for chapter in CHAPTERS for name in RIGHT if name.startswith(chapter)]


@pytest.mark.parametrize("name", KNOWN)
def test_right_answers(name):
    found = mark(name, RIGHT[name])
    assert found.right is True and found.sentence.startswith(f"`{name}`: right")


@pytest.mark.parametrize("name", NUMBERS)
def test_wrong_answers(name):
    right, answer = np.asarray(RIGHT[name], dtype=float), KNOWN[name]
    for wrong in (1.3 * right, right / 1.3, -right, 0 * right, 1e6 * right):
        found = mark(name, wrong)
        assert found.right is False and "right, within" not in found.sentence
    # What is off by twice the tolerance from the reference is wrong, what is off by half of it is right.
    reference = np.asarray(answer.reference(), dtype=float)
    size = answer.tolerance * np.abs(reference) + answer.absolute
    assert mark(name, reference + size / 2).right and not mark(name, reference + 2 * size).right


@pytest.mark.parametrize("name", NUMBERS)
def test_the_answer_cannot_be_read_off(name):
    """A sentence is the same for all wrong answers of a band: at least 30 per cent wide, or several tolerances."""
    right = np.asarray(KNOWN[name].reference(), dtype=float)
    if KNOWN[name].absolute:
        step = KNOWN[name].absolute * np.ones_like(right)
        wrong = [right + far * step for far in (12.0, 30.0, 90.0)]
    else:
        wrong = [right * far for far in (1.23, 1.41, 1.73)]
    assert len({mark(name, each).sentence for each in wrong}) == 1


@pytest.mark.parametrize("name", NUMBERS)
def test_slips_are_wrong_and_named(name):
    for slip in KNOWN[name].slips:
        found = mark(name, slip.value())
        assert found.right is False and found.sentence == f"`{name}`: not yet. {slip.why}"


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in NUMBERS])
def test_choices(name):
    words = KNOWN[name].options
    assert [word for word in words if mark(name, word).right] == [RIGHT[name]]
    wrong = next(word for word in words if word != RIGHT[name])
    assert mark(name, wrong).sentence == f"`{name}`: not this one."
    with pytest.raises(ValueError, match=f"value = 'neither' is not allowed.*{words[0]}"):
        mark(name, "neither")


def test_what_is_asked_is_said():
    asked = mark("depth.3")
    assert asked.right is None
    assert asked.sentence == (
        '`check_answer("depth.3", your_answer)` checks the rate for 64 blocks: one number, right within 0.1 %.'
    )
    assert "a list of 3 numbers" in mark("stages.9").sentence
    assert 'one of "too early", "too late"' in mark("stages.7").sentence


def test_distances_are_told_by_bands():
    answer = Answer("x", lambda: 2.0)
    told = {v: answers.measured(answer, v)[1] for v in (2.01, 2.1, 1.7, 0.5, 300.0, -1.0, 0.0)}
    assert told == {
        2.01: "right, within 1 %.",
        2.1: "not yet: too large, by less than 10 %.",
        1.7: "not yet: too small, by less than a factor of 2.",
        0.5: "not yet: too small, by less than a factor of 10.",
        300.0: "not yet: too large, by more than a factor of 10.",
        -1.0: "not yet: too small, and of the wrong sign.",
        0.0: "not yet: too small: zero.",
    }
    several = answers.measured(Answer("x", lambda: [1.0, 2.0]), [1.0, 3.0])
    assert several == (False, "1 of 2 numbers are right; entry 2 is too large, by less than a factor of 2.")


@pytest.mark.parametrize(
    ("exercise", "value", "said"),
    [
        ("detph.3", 1.0, r"exercise = 'detph.3' is not allowed: .*such as \"depth.3\""),
        ("quantum.1", 1.0, r"such as \"depth.3\", \"width.3\""),
        (3, 1.0, r"exercise = 3 is not allowed: exercise must be a chapter's word and a number"),
        ("depth.77", 1.0, r"of this chapter \"depth.1\", \"depth.2\""),
        ("residual.1", 1.0, r"one whose answer can be checked; of this chapter \"residual.2\""),
        ("depth.3", "0.1", r"value = '0.1' is not allowed: value must be a finite number"),
        ("depth.3", float("nan"), r"value = nan is not allowed"),
        ("depth.3", [1.0, 2.0], r"value = \[1.0, 2.0\] is not allowed: value must be one number, right within 0.1 %"),
        ("depth.8", 1.0, r"value must be a list of 2 numbers"),
    ],
)
def test_bad_input(exercise, value, said):
    with pytest.raises(ValueError, match=said):
        mark(exercise, value)


def test_a_seal_fits_one_option():
    with pytest.raises(ValueError, match=r"digest = '00000000' is not allowed"):
        sealed("stages.7", ("too early", "too late"), "00000000")


def test_it_is_shown(capsys):
    check_answer("depth.6", 0.01)
    assert re.fullmatch(r"depth\.6: right, within 0\.1 %\.\n", capsys.readouterr().out)
    assert mark("depth.6", 0.01)._repr_markdown_() == "`depth.6`: right, within 0.1 %."
