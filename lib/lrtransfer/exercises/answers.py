"""Marking: is an answer right, and if not, how far off is it? Never what it should have been."""

from __future__ import annotations

import difflib
import hashlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics.arguments import choice, finite, refuse
from lrtransfer.numerics.arrays import Array

CHAPTERS = ("depth", "width", "residual", "layers", "stages", "practice", "synthesis")
_BANDS = ((1.1, "less than 10 %"), (2.0, "less than a factor of 2"), (10.0, "less than a factor of 10"))


@dataclass(frozen=True)
class Slip:
    """A wrong answer that is often given, and what leads to it.

    Attributes
    ----------
    value
        a function without arguments that computes it
    why
        a sentence that says what was computed instead, and not what should have been
    """

    value: Callable[[], ArrayLike]
    why: str


@dataclass(frozen=True)
class Answer:
    """What an exercise asks for.

    Attributes
    ----------
    asks
        in words, with the unit
    reference
        a function without arguments that computes the answer: a number, a short vector, or one of ``options``
    tolerance
        relative distance within which an answer is right
    absolute
        distance within which it is right as well, for answers near zero; where it is given, distances are told in it
    options
        the words to choose from; empty for numbers
    slips
        frequent wrong answers
    """

    asks: str
    reference: Callable[[], ArrayLike]
    tolerance: float = 0.01
    absolute: float = 0.0
    options: tuple[str, ...] = ()
    slips: tuple[Slip, ...] = ()

    @property
    def form(self) -> str:
        """What may be given, in words."""
        if self.options:
            return "one of " + ", ".join(f'"{word}"' for word in self.options)
        size = np.size(self.reference())
        within = f"within {self.absolute:g}" if self.absolute else f"within {100 * self.tolerance:g} %"
        return f"one number, right {within}" if size == 1 else f"a list of {size} numbers, each right {within}"


@dataclass(frozen=True)
class Mark:
    """What became of an answer; displays itself as a sentence.

    Attributes
    ----------
    exercise
        such as "depth.3"
    right
        True or False; None where only the question was asked
    sentence
        Markdown
    """

    exercise: str
    right: bool | None
    sentence: str

    def _repr_markdown_(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence.replace("`", "")


def sealed(exercise: str, options: Sequence[str], digest: str) -> str:
    """The option with a digest: a choice that the source does not tell at a glance.

    Parameters
    ----------
    exercise
        its number
    options
        the words
    digest
        the first eight hexadecimal digits of SHA-256 of ``"exercise: option"``

    Returns
    -------
    str
        one of ``options``.

    Raises
    ------
    ValueError
        where no option has this digest.
    """
    for option in options:
        if hashlib.sha256(f"{exercise}: {option}".encode()).hexdigest().startswith(digest):
            return option
    raise refuse("digest", digest, f"that of an option of {exercise}")


def exercises(chapter: str) -> Mapping[str, Answer]:
    """The exercises of a chapter whose answers can be checked.

    Parameters
    ----------
    chapter
        "depth", "width", "residual", "layers", "stages", "practice" or "synthesis"

    Returns
    -------
    Mapping
        ``Answer`` by number, such as "depth.3", in the order of the page.

    Raises
    ------
    ValueError
        for another chapter.
    """
    choice("chapter", chapter, CHAPTERS)
    answers: Mapping[str, Answer] = importlib.import_module(f"lrtransfer.exercises.{chapter}").ANSWERS
    return answers


def find(exercise: object) -> Answer:
    """The answer of an exercise.

    Parameters
    ----------
    exercise
        such as "depth.3"

    Returns
    -------
    Answer
        of that number.

    Raises
    ------
    ValueError
        with the known ones near it.
    """
    chapter = exercise.partition(".")[0].strip().lower() if isinstance(exercise, str) else ""
    if chapter not in CHAPTERS:
        near = difflib.get_close_matches(chapter, CHAPTERS, 1, 0.5) or CHAPTERS
        known = ", ".join(f'"{name}.3"' for name in near)
        raise refuse("exercise", exercise, f"a chapter's word and a number, such as {known}")
    answers = exercises(chapter)
    if exercise not in answers:
        known = ", ".join(f'"{name}"' for name in answers)
        raise refuse("exercise", exercise, f"one whose answer can be checked; of this chapter {known}")
    return answers[str(exercise)]


def mark(exercise: str, value: ArrayLike | None = None) -> Mark:
    """The mark of an answer, as a value (``check_answer`` displays it).

    Parameters
    ----------
    exercise, value
        as in ``check_answer``

    Returns
    -------
    Mark
        with its sentence.

    Raises
    ------
    ValueError
        as ``check_answer`` does.
    """
    answer = find(exercise)
    if value is None:
        call = f'`check_answer("{exercise}", your_answer)`'
        return Mark(exercise, None, f"{call} checks {answer.asks}: {answer.form}.")
    right, words = chosen(answer, value) if answer.options else measured(answer, value)
    return Mark(exercise, right, f"`{exercise}`: {words}")


def check_answer(exercise: str, value: ArrayLike | None = None) -> None:
    """Say whether an answer to an exercise of this book is right, or how far off; it does not say what is right.

    Parameters
    ----------
    exercise
        its number, "depth.3" for Exercise 1.3
    value
        a number, a list of numbers, or a word, as the exercise asks; without it, what is asked for is said

    Raises
    ------
    ValueError
        for an exercise that is not known, with those near it; for a value of another form, with that form.
    """
    from IPython.display import display

    display(mark(exercise, value))


def chosen(answer: Answer, value: object) -> tuple[bool, str]:
    """Whether a word is the right one of the options, and what to say."""
    word = choice("value", value, answer.options)
    return (True, "right.") if word == answer.reference() else (False, "not this one.")


def measured(answer: Answer, value: ArrayLike) -> tuple[bool, str]:
    """Whether numbers are right, and what to say; ``ValueError`` for numbers of another count."""
    reference = np.asarray(answer.reference(), dtype=np.float64)
    given = finite("value", value)
    if given.size != reference.size:
        raise refuse("value", value, answer.form)
    given = given.reshape(reference.shape)
    if _right(answer, given, reference).all():
        within = f"{answer.absolute:g}" if answer.absolute else f"{100 * answer.tolerance:g} %"
        return True, f"right, within {within}."
    for slip in answer.slips:
        if _right(answer, given, np.asarray(slip.value(), dtype=np.float64)).all():
            return False, f"not yet. {slip.why}"
    if reference.size == 1:
        return False, f"not yet: {_distance(answer, given.item(), reference.item())}."
    good = _right(answer, given, reference).ravel()
    pairs = zip(given.ravel(), reference.ravel(), good, strict=True)
    parts = [f"entry {k} is {_distance(answer, g, r)}" for k, (g, r, ok) in enumerate(pairs, 1) if not ok]
    return False, f"{good.sum()} of {good.size} numbers are right; {'; '.join(parts)}."


def _right(answer: Answer, given: Array, reference: Array) -> NDArray[np.bool_]:
    return np.isclose(given, reference, rtol=answer.tolerance, atol=answer.absolute)


def _distance(answer: Answer, given: float, reference: float) -> str:
    """Direction and a coarse distance: enough to look for a mistake, not enough to read the answer off."""
    direction = "too large" if given > reference else "too small"
    if answer.absolute:
        away = abs(given - reference) / answer.absolute
        far = next((f"by less than {k} tolerances" for k in (3, 10, 100) if away < k), "by more than 100 tolerances")
        return f"{direction}, {far}"
    if given * reference <= 0:
        return f"{direction}, and of the wrong sign" if given else f"{direction}: zero"
    ratio = max(given / reference, reference / given)
    return f"{direction}, by " + next((words for most, words in _BANDS if ratio < most), "more than a factor of 10")
