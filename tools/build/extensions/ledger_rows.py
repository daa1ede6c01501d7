"""The tables of the claims page as nodes: HTML of our own, with the mathematics left to whatever sets it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes

from lrtransfer.page.boxes import check_list, in_words, item
from lrtransfer.page.checks import Check, strain
from lrtransfer.page.claims import CORRECTED, FAILED, MARKS, OPEN, REPRODUCED, UNRESOLVED, statements
from lrtransfer.page.findings import OUTCOMES
from lrtransfer.page.wording import typeset

PageOf = Callable[[str], str]
MEANING = {
    REPRODUCED: "the statement holds as printed, each check by more than its error",
    CORRECTED: "it holds once a slip or a missing condition is put right",
    UNRESOLVED: "no check fails, and the error of one reaches across its bound",
    FAILED: "a check of the paper's own statement fails by more than its error",
    OPEN: "no chapter shows it yet",
}
_NAME = re.compile(r'<code class="lr-id">([\w.-]+)</code>')


def pieces(*parts: str) -> list[nodes.Node]:
    """HTML, in which mathematics between dollar signs becomes a formula of the page."""
    out: list[nodes.Node] = []
    for k, text in enumerate("".join(parts).split("$")):
        if text:
            out.append(nodes.math(text, html.unescape(text)) if k % 2 else nodes.raw("", text, format="html"))
    return out


def linked_names(body: str, page: str) -> str:
    """The names in the boxes of a page, each linked to its row of the claims page."""
    link = f'<a class="lr-id" href="{page}#\\1" title="Its row on the claims page"><code>\\1</code></a>'
    return _NAME.sub(link, body)


def summary(rows: list[dict[str, Any]], page_of: PageOf) -> list[nodes.Node]:
    """How many claims have which verdict, each count a link to them, with what the verdict means."""
    items = []
    for verdict, mark in MARKS.items():
        n = sum(row["verdict"] == verdict for row in rows)
        if n or verdict != OPEN:
            target = f"{page_of('book/claims')}?verdict={verdict.replace(' ', '+')}#the-papers-claims"
            items.append(
                f'<li class="lr-{_kind(verdict)}"><a href="{target}"><strong>{n}</strong> {mark} {verdict}</a> '
                f"<span>{MEANING[verdict]}</span></li>"
            )
    return pieces(f'<ul class="lr-counts">{"".join(items)}</ul>')


def claims_table(rows: list[dict[str, Any]], page_of: PageOf) -> list[nodes.Node]:
    """Every claim of the papers, by chapter."""
    head = ("Claim", "Verdict", "What the paper states", "Nearest to its limit")
    return pieces(
        *_opening("claims", head),
        *(_group(chapter, mine, _claim_row, page_of) for chapter, mine in _by_chapter(rows)),
        "</table></div>",
    )


def findings_table(rows: list[dict[str, Any]], page_of: PageOf) -> list[nodes.Node]:
    """Every finding of the book, by chapter."""
    head = ("Finding", "Checks say", "What was found", "Nearest to its limit")
    return pieces(
        *_opening("findings", head),
        *(_group(chapter, mine, _finding_row, page_of) for chapter, mine in _by_chapter(rows)),
        "</table></div>",
    )


def _opening(name: str, head: Iterable[str]) -> list[str]:
    cells = "".join(f'<th scope="col" role="columnheader">{words}</th>' for words in head)
    return [
        f'<div class="lr-ledger-box"><table class="lr-ledger" role="table" data-table="{name}">',
        f'<thead role="rowgroup"><tr role="row">{cells}</tr></thead>',
    ]


def _by_chapter(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(name, [r for r in rows if r["chapter"] == name]) for name in dict.fromkeys(r["chapter"] for r in rows)]


def _group(chapter: str, rows: list[dict[str, Any]], row_of: Callable[..., str], page_of: PageOf) -> str:
    title = f'<a href="{page_of(f"book/{chapter}")}">{chapter.capitalize()}</a>'
    head = f'<tr class="lr-group" role="row"><th colspan="4" scope="rowgroup" role="rowheader">{title}</th></tr>'
    body = "".join(row_of(row, page_of, k) for k, row in enumerate(rows))
    return f'<tbody role="rowgroup" data-chapter="{chapter}">{head}{body}</tbody>'


def _kind(words: str) -> str:
    return words.replace(" ", "-")


def _checks(row: dict[str, Any]) -> list[Check]:
    return [
        Check(
            c["what"],
            float(c["measured"]),
            float(c["expected"]),
            c["tolerance"],
            c["relation"],
            c["ours"],
            c["undecided"],
        )
        for c in row["checks"]
    ]


def _nearest(checks: list[Check]) -> tuple[str, float]:
    """The check that came nearest to failing, of those that decide, and how near."""
    if not checks:
        return "", 0.0
    worst = max((c for c in checks if not c.ours), key=strain)
    return item(worst), strain(worst)


def _row(row: dict[str, Any], page_of: PageOf, order: int, verdict: str, mark: str, stated: str, label: str) -> str:
    checks = _checks(row)
    nearest, near = _nearest(checks)
    named = f"<code>{row['id']}</code>"
    if row["where"]:
        page, anchor = row["where"].split("#")
        named = f'<a href="{page_of(page[:-5])}#{anchor}">{named}</a>'
    ours = sum(c.ours for c in checks)
    more = (
        f'<details class="lr-checks"><summary>{in_words(checks)}</summary>{check_list(checks)}</details>'
        if checks
        else ""
    )
    here = f'<a class="lr-here" href="#{row["id"]}" aria-label="Link to the row {row["id"]}">#</a>'
    data = f'data-verdict="{verdict}" data-ours="{ours}" data-near="{near:.6g}" data-order="{order}"'
    return (
        f'<tr role="row" id="{row["id"]}" {data}>'
        f'<td role="cell" class="lr-name">{named} {here}{label}</td>'
        f'<td role="cell" class="lr-verdict lr-{_kind(verdict)}">{mark} {verdict}</td>'
        f'<td role="cell" class="lr-stated">{stated}</td>'
        f'<td role="cell" class="lr-nearest">{nearest}{more}</td></tr>'
    )


def _claim_row(row: dict[str, Any], page_of: PageOf, order: int) -> str:
    fix = _correction(row["correction"]) if row["correction"] else ""
    label = f'<span class="lr-label">{typeset(row["seed_label"])}</span>'
    verdict = row["verdict"]
    return _row(row, page_of, order, verdict, MARKS[verdict], statements()[row["id"]].sentence + fix, label)


def _correction(text: str) -> str:
    """The first sentence of a correction; the others in a fold."""
    first, _, rest = re.sub(r"(?<=[a-z0-9)'])\. (?=[A-Z'])", ".\n", text).partition("\n")
    shown = f"<em>Correction.</em> {typeset(first)}"
    if not rest:
        return f'<span class="lr-fix">{shown}</span>'
    return f'<details class="lr-fix"><summary>{shown}</summary>{typeset(rest.replace(chr(10), " "))}</details>'


def _finding_row(row: dict[str, Any], page_of: PageOf, order: int) -> str:
    outcome = row["outcome"]
    return _row(row, page_of, order, outcome, OUTCOMES.get(outcome, MARKS[OPEN]), row["sentence"], "")
