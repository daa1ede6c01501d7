"""Valid calls of ``lrtransfer.exercises``."""

from broken_calls import Call, call

from lrtransfer.exercises import exercises

NAME = next(iter(exercises("depth")))
ONE = call()
CALLS: dict[str, Call] = {
    "exercises": ONE(chapter="depth"),
    "mark": ONE(exercise=NAME, value=0.5),
    "check_answer": ONE(exercise=NAME, value=0.5),
}
