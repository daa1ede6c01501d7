"""How a judged statement is shown: its verdict and one sentence, and the checks behind it in a fold.

The text is Markdown with a little HTML in it, which the site, Jupyter and Colab all set, mathematics included.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

from lrtransfer.numerics.estimates import FAILS, HOLDS
from lrtransfer.numerics.estimates import OPEN as UNDECIDED
from lrtransfer.page.checks import Check, sentence
from lrtransfer.page.wording import comparison, typeset

STYLE = "border-left:4px solid; padding:.3em .8em; margin:1em 0"  # for notebooks, which lack the book's style sheet


def in_words(checks: Sequence[Check]) -> str:
    """How many checks there are and what became of them.

    Parameters
    ----------
    checks
        one at least

    Returns
    -------
    str
        such as "4 checks, all hold; 1 of them ours".
    """
    found = Counter(check.outcome for check in checks)
    n = len(checks)
    if found[HOLDS] == n:
        became = "which holds" if n == 1 else "all hold"
    else:
        parts = {"hold" if found[HOLDS] > 1 else "holds": found[HOLDS]}
        parts |= {"fail" if found[FAILS] > 1 else "fails": found[FAILS], "not resolved": found[UNDECIDED]}
        became = ", ".join(f"{count} {word}" for word, count in parts.items() if count)
    ours = sum(check.ours for check in checks)
    return f"{n} check{'s' * (n > 1)}, {became}" + (f"; {ours} of them ours" if 0 < ours < n else "")


def check_list(checks: Sequence[Check]) -> str:
    """The checks one by one.

    Parameters
    ----------
    checks
        in the order in which they are shown

    Returns
    -------
    str
        an HTML list; what does not hold says so first.
    """
    return "<ul>" + "".join(f"<li>{item(check)}</li>" for check in checks) + "</ul>"


def item(check: Check) -> str:
    """One check in a line.

    Parameters
    ----------
    check
        any

    Returns
    -------
    str
        HTML: what was measured, and how it compares.
    """
    state = "" if check.passed else f"<strong>{check.outcome}:</strong> "
    whose = "(ours) " if check.ours else ""
    numbers = comparison(float(check.measured), float(check.expected), check.tolerance, check.relation)  # type: ignore[arg-type]
    return f"{state}{whose}{typeset(check.what)}: {numbers}"


def box(anchor: str, kind: str, lead: str, text: str, checks: Sequence[Check], correction: str = "") -> str:
    """A statement with its verdict, as Markdown.

    Parameters
    ----------
    anchor
        the id of the place
    kind
        a word for the style sheet
    lead
        HTML: the verdict, the name, where it stands
    text
        the sentence, with its mathematics between dollar signs
    checks
        what the verdict rests on
    correction
        what must change in the statement, in plain words

    Returns
    -------
    str
        the box, with the checks and the correction folded.
    """
    fold = in_words(checks) + ("; what is corrected" if correction else "")
    more = f"<p><em>Correction.</em> {typeset(correction)}</p>" if correction else ""
    return (
        f'<div class="lr-claim lr-{kind}" id="{anchor}" style="{STYLE}">\n'
        f'<p class="lr-lead">{lead}</p>\n\n{text}\n\n'
        f'<details class="lr-checks"><summary>{fold}</summary>{more}{check_list(checks)}</details>\n</div>'
    )


def plain(head: str, checks: Sequence[Check], correction: str = "") -> str:
    """The same for a terminal.

    Parameters
    ----------
    head
        first line
    checks, correction
        as in ``box``

    Returns
    -------
    str
        one line a check, marked by its outcome.
    """
    marks = {HOLDS: "ok ", UNDECIDED: "?? ", FAILS: "NO "}
    lines = [f"  {marks[c.outcome]} {'(ours) ' * c.ours}{c.what}: {sentence(c)}" for c in checks]
    return "\n".join([head, *lines] + ([f"  correction: {correction}"] if correction else []))


def name(id: str) -> str:
    """The name of a statement, as HTML.

    Parameters
    ----------
    id
        ``chapter.name``

    Returns
    -------
    str
        marked, so that the site can link it to its row of the claims page.
    """
    return f'<code class="lr-id">{html.escape(id)}</code>'
