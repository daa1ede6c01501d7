"""Findings: what this book found that no paper has, recorded as claims are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.page import claims, findings, ledger
from lrtransfer.page.checks import Check
from lrtransfer.page.findings import FINDING_TYPE, Finding, found

BOOK = Path(__file__).resolve().parents[2] / "book"


def page(*records: Finding) -> dict:
    outputs = [{"output_type": "display_data", "data": r._repr_mimebundle_()} for r in records]
    return {"cells": [{"cell_type": "code", "outputs": outputs}]}


def test_a_finding_has_a_name_of_its_own_a_chapter_and_a_sentence():
    assert not set(found()) & set(claims.statements())
    for row in found().values():
        assert row.id.startswith(f"{row.chapter}.") and (BOOK / f"{row.chapter}.md").is_file()
        assert row.sentence.endswith(".") and row.sentence.count("$") % 2 == 0


def test_its_outcome_is_that_of_its_worst_check():
    good, bad = Check("x", 1, 1), Check("y", 2, 1, 0.5)
    unknown = Check.of(Estimate(0.0, 2.0, 9), "it falls", "<=", 0)
    assert Finding("width.cost", (good,)).outcome == "holds"
    assert Finding("width.cost", (good, unknown)).outcome == "not resolved"
    assert Finding("width.cost", (good, unknown, bad)).outcome == "fails"


def test_it_shows_itself_and_needs_a_known_name_and_a_check(capsys):
    findings.finding("width.cost", Check("x", math.inf, 1, relation=">=", ours=True))
    assert "(ours)" not in capsys.readouterr().out
    bundle = Finding("width.cost", (Check("x", math.inf, 1, relation=">="),))._repr_mimebundle_()
    assert "Found here: ✓ holds" in bundle["text/markdown"] and 'id="finding-width-cost"' in bundle["text/markdown"]
    json.dumps(bundle[FINDING_TYPE], allow_nan=False)
    with pytest.raises(ValueError, match=r"^id = 'width.setup' is not allowed"):
        findings.finding("width.setup", Check("x", 1, 1))
    with pytest.raises(ValueError, match=r"^checks = "):
        findings.finding("width.cost")


def test_the_second_ledger_lists_every_finding_once_and_in_order():
    record = Finding("width.cost", (Check("x", 1, 1),))
    rows = ledger.assemble_findings({"book/width.html": page(record)})
    assert [row["id"] for row in rows] == list(found())
    by_id = {row["id"]: row for row in rows}
    assert by_id["width.cost"]["where"] == "book/width.html#finding-width-cost"
    assert {row["outcome"] for id, row in by_id.items() if id != "width.cost"} == {"open"}
    with pytest.raises(ValueError, match="stated twice"):
        ledger.assemble_findings({"book/width.html": page(record, record)})
    with pytest.raises(ValueError, match="belongs to the chapter 'width'"):
        ledger.assemble_findings({"book/depth.html": page(record)})
