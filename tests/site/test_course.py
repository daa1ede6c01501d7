"""The course uses every exercise, its numbers add up, and every open question says what would settle it."""

from __future__ import annotations

import re
from pathlib import Path

import book_numbers

ROOT = Path(__file__).resolve().parents[2]
COURSE = (ROOT / "book" / "course.md").read_text("utf8")
QUESTIONS = (ROOT / "book" / "open.md").read_text("utf8")


def part(label: str) -> str:
    """The text of the section of the course with a label."""
    return COURSE.partition(f"({label})=\n")[2].partition("\n(sec-")[0]


def test_the_self_test_has_ten_questions_with_answers():
    test = part("sec-course-test")
    assert re.findall(r"^\*\*(\d+)\.\*\*", test, re.M) == [str(k) for k in range(1, 11)]
    assert test.count(":::{dropdown} Answer\n") == 10


def test_every_exercise_is_in_the_plan():
    labels = {name for name, label in book_numbers.read_book(ROOT).labels.items() if label.kind == "exercise"}
    assert labels == set(re.findall(r"\{numref\}`(ex-[\w-]+)`", COURSE))


def test_every_week_has_reading_exercises_project_and_a_check():
    weeks = re.split(r"^### Week ", part("sec-course-plan"), flags=re.M)[1:]
    assert [week.partition(".")[0] for week in weeks] == [str(k) for k in range(1, 11)]
    for week in weeks:
        words = " ".join(week.split())
        assert "*Read*" in words and "*Project:*" in words and "*Check yourself:*" in words, week
        assert "*Do*" in words, week


def test_points_and_minutes_add_up():
    rubric = part("sec-course-projects").partition("### The rubric")[2].partition("###")[0]
    assert sum(map(int, re.findall(r"^\| (\d+) \|", rubric, re.M))) == 100
    assert sum(map(int, re.findall(r"^\| (\d+) \|", part("sec-course-practice"), re.M))) == 120


def test_every_open_question_says_what_is_known_what_would_settle_it_and_the_cost():
    questions = re.split(r"^### ", QUESTIONS, flags=re.M)[1:]
    assert len(questions) >= 12
    for question in questions:
        marks = re.findall(r"\*(Known|Would settle it|Cost)\.\*", question)
        assert marks == ["Known", "Would settle it", "Cost"] and question.splitlines()[0].endswith("?"), question
