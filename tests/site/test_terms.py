"""The glossary and the links to it: two sentences a term, a place that uses it, first uses linked, an index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import terms

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "book" / "glossary.md").read_text("utf8")


def entries() -> list[tuple[list[str], str]]:
    """The names and the text of every entry."""
    body = GLOSSARY.partition("```{glossary}\n")[2].partition("\n```")[0]
    split = [entry.splitlines() for entry in body.split("\n\n")]
    return [([n for n in lines if n[:1] != " "], " ".join(n.strip() for n in lines if n[:1] == " ")) for lines in split]


def test_a_term_has_two_sentences_and_a_place():
    assert len(entries()) >= 60
    for names, text in entries():
        words, _, place = text.partition(" Used in ")
        assert len(re.findall(r"[.?](?= |$)", words)) == 2, (names, words)
        assert re.fullmatch(r"\{(ref|doc)\}`[^`]+`\.", place), (names, place)


def test_terms_are_in_order_and_no_name_stands_twice():
    names = [names for names, _ in entries()]
    first = [each[0].lower().replace("μ", "m") for each in names]
    assert first == sorted(first)
    everything = [name for each in names for name in each]
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize("path", terms.pages(), ids=lambda path: path.stem)
def test_terms_are_linked_from_their_first_use(path):
    text = path.read_text("utf8")
    assert terms.linked(text, path.stem) == text, "run python tools/notebooks/terms.py write"


def test_links_go_to_running_text_only(monkeypatch):
    monkeypatch.setattr(terms, "glossary", lambda: [["chain"], ["residual network"], ["branch"], ["SP"]])
    page = (
        "---\nchain: 1\n---\n\n# A chain\n\n:::{admonition} At a glance\nchain\n:::\n\n(sec-chain)=\n$chain$ `chain` "
        "{ref}`chain`\n\n```{code-cell} ipython3\nchain = 1\n```\n\n| chain |\n\n"
        "Keychain, Chains and a chain in a Residual\nnetwork. SP, not SPs, and branches.\n"
    )
    linked = terms.linked(page)
    assert linked.endswith(
        "Keychain, {term}`Chains <chain>` and a chain in a {term}`Residual\nnetwork <residual network>`. "
        "{term}`SP`, not SPs, and {term}`branches <branch>`.\n"
    )
    assert linked.startswith(page.partition("Keychain")[0])
    assert terms.linked(linked) == linked
    assert "{term}`Chains" not in terms.linked(page.replace("Chains", "chain"), "width")


def test_the_index_leads_to_every_chapter_that_links_a_term(site):
    index = BeautifulSoup((site / "genindex.html").read_text("utf8"), "html.parser")
    rows = {
        row.find("a").get_text(): [a["href"] for a in row.find_all("a")] for row in index.select("table.indextable li")
    }
    for path in terms.pages():
        page = BeautifulSoup((site / "book" / f"{path.stem}.html").read_text("utf8"), "html.parser")
        for text, name in terms.TERM.findall(path.read_text("utf8")):
            places = [href.split("#")[1] for href in rows[name or text] if href.startswith(f"book/{path.stem}.html#")]
            assert len(places) == 1 and page.find(id=places[0]) is not None, (path.stem, name or text)
