"""The book's exercises: what each asks for, and whether an answer is right.

``answers``   what an answer is (numbers or a choice), how it is marked, in which words
``depth`` .. ``synthesis``   the answers of a chapter: computed when asked, by the engines that the chapter uses

``check_answer("depth.3", 0.05)`` says *right*, or how far off; ``check_answer("depth.3")`` says what is asked for.
Numbers are those of the book: depth.3 is Exercise 1.3.
"""

from lrtransfer.exercises.answers import Answer, Mark, Slip, check_answer, exercises, mark

__all__ = ["Answer", "Mark", "Slip", "check_answer", "exercises", "mark"]
