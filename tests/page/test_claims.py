"""The claim record and the ledger: a verdict is what the checks say, and nothing is hidden."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.page import claims, ledger
from lrtransfer.page.claims import CORRECTED, FAILED, MEDIA_TYPE, OPEN, REPRODUCED, UNRESOLVED, Check, judge

finite = st.floats(-1e6, 1e6)


def page(*records: claims.Claim) -> dict:
    outputs = [{"output_type": "display_data", "data": r._repr_mimebundle_()} for r in records]
    return {"cells": [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]}


@given(measured=finite, expected=finite, tolerance=st.floats(0, 1e6))
def test_check_passes_exactly_within_its_tolerance(measured, expected, tolerance):
    assert Check("x", measured, expected, tolerance).passed == (abs(measured - expected) <= tolerance)
    assert Check("x", measured, expected, tolerance, "<=").passed == (measured - expected <= tolerance)
    assert Check("x", measured, expected, tolerance, ">=").passed == (expected - measured <= tolerance)


def test_check_of_an_array_keeps_the_worst_entry():
    check = Check("x", [1.0, 1.3, 0.9], 1.0, 0.2)
    assert (check.measured, check.passed) == (1.3, False)


@pytest.mark.parametrize("relation", ["=", "<=", ">="])
def test_nan_never_passes(relation):
    assert not Check("x", math.nan, 1.0, 1e9, relation).passed


def test_infinity_passes_only_where_it_is_a_bound():
    assert Check("x", math.inf, 1e6, relation=">=").passed
    assert not Check("x", math.inf, 1.0, 1e9).passed


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (dict(tolerance=-1), "tolerance"),
        (dict(tolerance=math.nan), "tolerance"),
        (dict(tolerance=math.inf), "tolerance"),
        (dict(tolerance="small"), "tolerance"),
        (dict(relation="<"), "relation"),
        (dict(measured=[]), "measured"),
        (dict(ours="no"), "ours"),
    ],
)
def test_bad_checks_name_the_argument(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} = .* is not allowed"):
        Check(**{"what": "x", "measured": 1, "expected": 1} | arguments)


def test_verdicts():
    good, bad = Check("x", 1, 1), Check("y", 2, 1, 0.5)
    assert judge("depth.model", good).verdict == REPRODUCED
    assert judge("depth.model", good, correction="a sign").verdict == CORRECTED
    assert judge("depth.model", good, bad, correction="a sign").verdict == FAILED
    assert "fails:" in judge("depth.model", bad)._repr_mimebundle_()["text/markdown"]


def test_only_the_paper_s_checks_decide():
    good, bad = Check("x", 1, 1), Check("y", 2, 1, 0.5)
    ours = Check("z", 2, 1, 0.5, ours=True)
    found = judge("depth.model", good, ours)
    assert found.verdict == REPRODUCED and "fails:</strong> (ours) z" in found._repr_mimebundle_()["text/markdown"]
    assert found.as_dict()["measured"] == 1.0 and found.as_dict()["checks"][1]["ours"]
    assert judge("depth.model", bad, ours).verdict == FAILED
    with pytest.raises(ValueError, match=r"^checks = .*paper's own statement"):
        judge("depth.model", ours)


@pytest.mark.parametrize(("value", "outcome", "verdict"), [(-1.0, "holds", REPRODUCED), (1.0, "fails", FAILED)])
def test_what_seeds_cannot_tell_is_not_resolved(value, outcome, verdict):
    told = Check.of(Estimate(value, 0.1, 9), "it falls", "<=", 0)
    assert (told.outcome, judge("depth.model", told).verdict) == (outcome, verdict)
    open_one = Check.of(Estimate(value, 2.0, 9), "it falls", "<=", 0)
    assert open_one.outcome == "not resolved" and not open_one.passed
    found = judge("depth.model", told, open_one, correction="a sign")
    assert found.verdict == (UNRESOLVED if verdict == REPRODUCED else FAILED)
    shown = found._repr_mimebundle_()
    assert "not resolved:</strong> it falls" in shown["text/markdown"] and "?? " in shown["text/plain"]
    aside = Check.of(Estimate(value, 2.0, 9), "it falls", "<=", 0, ours=True)
    assert judge("depth.model", told, aside).verdict == verdict


def test_the_scalar_fields_are_those_of_the_failing_check():
    record = judge("depth.model", Check("a", 1, 1, 0.1), Check("b", 3, 1, 0.5), Check("c", 1.09, 1, 0.1)).as_dict()
    assert (record["measured"], record["verdict"], len(record["checks"])) == (3.0, FAILED, 3)
    slack = judge("depth.model", Check("bound", 0, 5, relation="<="), Check("b", 1.05, 1, 0.1)).as_dict()
    assert slack["measured"] == 1.05
    tight = judge("depth.model", Check("bound", 4.9, 5, relation="<="), Check("b", 1.05, 1, 0.1)).as_dict()
    assert (tight["measured"], tight["relation"]) == (4.9, "<=")


def test_a_record_is_json_whatever_its_numbers_are():
    checks = (Check("a", np.float64(1.0), np.float32(1.0), np.float64(0.1)), Check("b", math.inf, 1.0, relation=">="))
    text = json.dumps(judge("depth.model", *checks).as_dict(), allow_nan=False)
    assert json.loads(text)["checks"][1]["measured"] == "inf"


def test_unknown_ids_and_empty_claims_are_refused():
    with pytest.raises(ValueError, match=r"^id = 'depth.nothing' is not allowed"):
        judge("depth.nothing", Check("x", 1, 1))
    with pytest.raises(ValueError, match=r"^checks = "):
        judge("depth.model")


def test_ledger_lists_every_statement_once_and_in_order():
    entries = ledger.assemble({"book/depth.html": page(judge("depth.model", Check("x", 1, 1)))})
    assert [e["id"] for e in entries] == list(claims.statements())
    assert entries[0]["verdict"] == REPRODUCED and entries[0]["where"] == "book/depth.html#claim-depth-model"
    assert {e["verdict"] for e in entries[1:]} == {OPEN} and entries[1]["where"] is None


def test_ledger_prints_a_failed_claim():
    entries = ledger.assemble({"book/depth.html": page(judge("depth.max-lr", Check("x", 2, 1)))})
    assert {e["id"]: e["verdict"] for e in entries}["depth.max-lr"] == FAILED


def test_ledger_refuses_a_claim_stated_twice_or_in_the_wrong_chapter():
    record = judge("depth.model", Check("x", 1, 1))
    with pytest.raises(ValueError, match="stated twice"):
        ledger.assemble({"book/depth.html": page(record, record)})
    with pytest.raises(ValueError, match="belongs to the chapter 'depth'"):
        ledger.assemble({"book/residual.html": page(record)})


def test_scorecard_shows_what_is_open(capsys):
    claims.session.clear()
    claims.claim("depth.model", Check("x", 1, 1))
    card = claims.scorecard("depth")
    assert dict((s.id, v) for s, v in card.rows)["depth.model"] == REPRODUCED
    assert sum(v == OPEN for _, v in card.rows) == len(card.rows) - 1
    lines = card._repr_markdown_().splitlines()
    assert '| ✓ reproduced | <a href="#claim-depth-model"><code>depth.model</code></a> |' in lines[2]
    assert lines[3].startswith("| ○ open | <code>depth.sharpness</code> |")
    with pytest.raises(ValueError, match=r"^chapter = 'deepness'"):
        claims.scorecard("deepness")


def test_the_record_travels_as_json_beside_what_a_reader_sees():
    bundle = judge("depth.model", Check("x", 1, 1))._repr_mimebundle_()
    assert bundle[MEDIA_TYPE]["id"] == "depth.model"
    assert 'id="claim-depth-model"' in bundle["text/markdown"] and "reproduced" in bundle["text/plain"]


def test_every_claim_has_one_sentence_with_closed_mathematics():
    for statement in claims.statements().values():
        assert statement.sentence.endswith(".") and statement.sentence.count("$") % 2 == 0, statement.id


def test_a_box_shows_verdict_and_sentence_and_folds_the_rest():
    checks = Check("power of n, n >= 2^7", -0.5, -0.5, 0.1), Check("of ours", 2, 1, 0.5, ours=True)
    text = judge("width.coefficients", *checks, correction="eta_n must read eta_inf.")._repr_mimebundle_()[
        "text/markdown"
    ]
    shown, folded = text.split("<details")
    assert "✓* reproduced with a correction" in shown and claims.statements()["width.coefficients"].sentence in shown
    assert "<summary>2 checks, 1 holds, 1 fails; 1 of them ours; what is corrected</summary>" in folded
    assert "<i>η</i><sub><i>n</i></sub> must read <i>η</i><sub>∞</sub>." in folded
    assert "<i>n</i> ≥ 2<sup>7</sup>: measured −0.5, expected −0.5\u00a0±\u00a00.1" in folded


def test_last_build_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="make book"):
        ledger.last_build(tmp_path)
    target = tmp_path / "_build" / "html"
    target.mkdir(parents=True)
    rows = [{"id": "a", "chapter": "depth", "verdict": "open", "where": None}]
    (target / "claims.json").write_text(json.dumps(rows))
    below = tmp_path / "book"
    below.mkdir()
    assert ledger.last_build(below) == rows
