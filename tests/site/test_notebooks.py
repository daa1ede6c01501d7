"""The generator of notebooks/: each construct translated, stable files, the chapters' own notebooks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import book_numbers
import notebooks
from myst_blocks import DialectError

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "data" / "sample"
ENTRIES = [("book/intro", False), ("book/first", True), ("book/second", True), ("book/plain", False)]
GENERATED = sorted((ROOT / "notebooks").glob("*.ipynb"))


def sample(root=SAMPLE):
    return book_numbers.read_book(root, ENTRIES)


def made(root=SAMPLE, doc="book/first", address=""):
    book = sample(root)
    return notebooks.notebook(book, book.pages[doc], address)


def markdown(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


@pytest.fixture(scope="module")
def first():
    return "\n\n".join(markdown(made()))


@pytest.fixture
def page(tmp_path):
    """Translate a snippet as if it were a page of the sample book; with ``line`` 11 as its first line."""
    shutil.copytree(SAMPLE, tmp_path / "root")
    front = (SAMPLE / "book" / "second.md").read_text("utf8").split("---\n")[1]

    def translate(text):
        (tmp_path / "root" / "book" / "second.md").write_text(
            f"---\n{front}---\n{text}\n\n$$ e $$ (eq-second)\n", "utf8"
        )
        cells = markdown(made(tmp_path / "root", "book/second"))
        return "\n\n".join(cells).replace("$$\ne\n\\tag{2.1}\n$$", "").strip()

    shutil.copy(SAMPLE / "book" / "plain.md", tmp_path / "root" / "book" / "plain.md")
    first = tmp_path / "root" / "book" / "first.md"
    first.write_text(first.read_text("utf8").replace("{numref}`fig-two`, ", ""), "utf8")
    return translate


@pytest.mark.parametrize(
    "expected",
    [
        "# 1. First *page*\n\nA paragraph that a section and [a link](#sec-tail) lead away from;",
        "[the other](second.ipynb), *Plain page*, *A section of $x$* and *Tail*.",
        "$$\nx = 1\n\\tag{1.1}\n$$\n\n$$\n\\begin{aligned}",
        "  $$\n  u = 4\n  \\tag{1.2}\n  $$\n\n- Another. (1.1), (1.2), (2.1), (2).",
        "> **Note *this***\n>\n> Inside, $a + b$ and\n>\n> $$ v = 5 \\tag{1.3} $$\n>\n> <details>\n"
        "> <summary>More <code>code</code> and <em>stress</em> in $x_1$</summary>\n>\n"
        "> Folded.\n>\n> </details>",
        "> **Note**\n>\n> A plain note with Müller et al. (2022).",
        "*Figure 1.1.* A caption with $c$ and (One, 2020; One and de Two, 2021).",
        "> **Definition 1.1** (A *thing*).\n>\n> It is.",
        "> **Theorem 1.2** (Main).\n>\n> Given $p$,\n>\n> $$ p = q \\tag{1.4} $$",
        "<details>\n<summary>Proof</summary>\n\nBy Definition 1.1 and (1.4).\n\n</details>",
        "> **Lemma 1.3**.\n>\n> No title and no label.",
        "*Table 1.1.* Numbers\n\n| a | b |\n|---|---|\n| 1 | $2$ |",
        "- **term**: what it means",
        "See Figure 1.1, Table 1.1, Theorem 1.2, Figure 2.1, Exercise 1.1.",
        '## Tail\n\n<a id="sec-tail"></a>',
        "#### Exercise 1.1 (Do it)\n\nShow (1.2).",
        "#### Solution to Exercise 1.1\n\nWords of the solution.",
        "#### Exercise 1.2\n\nAgain.",
        "## References\n\n- Cy Müller, Ada One and Bo de Two (2022). *Three*. Proceedings of Samples. <https://example.org/three>.\n"
        "- Ada One (2020). *A µ Title*. [arXiv:2001.00001](https://arxiv.org/abs/2001.00001).\n"
        "- Ada One and Bo de Two (2021). *Two of Them*. Journal of Samples. [doi:10.1000/182](https://doi.org/10.1000/182).",
    ],
)
def test_sample_page(first, expected):
    assert expected in first


def test_sample_page_keeps_nothing_else(first):
    for gone in ("nobody sees", "place-here", "class:", "dropdown", "fig-one", "eq-one", "solution-"):
        assert gone not in first


@pytest.mark.parametrize(
    ("myst", "plain"),
    [
        ("$$ a \\\\ b $$", "$$\n\\begin{aligned}\na \\\\ b\n\\end{aligned}\n$$"),
        ("\\begin{align*}\na &= b\n\\end{align*}", "$$\n\\begin{aligned}\na &= b\n\\end{aligned}\n$$"),
        ("`{eq} ::` in code, \\$5, $x$ and ``a`b``", "`{eq} ::` in code, \\$5, $x$ and ``a`b``"),
        ("```python\n{not} (a role)=\n```", "```python\n{not} (a role)=\n```"),
        ("{.wide}\nA [span]{.small} and `code`{l=python}.", "A span and `code`."),
        ("before <!-- hidden --> after", "before  after"),
        ("a {term}`plateau` and {term}`Plateaus <plateau>`", "a plateau and Plateaus"),
        ("[](plain.md), [words](plain.md), [](#eq-one), [it](#eq-one)", "*Plain page*, *words*, (1.1), it"),
        ("[site](https://example.org/a_b)", "[site](https://example.org/a_b)"),
        (
            ":::{tip}\n:class: dropdown\nBody.\n:::",
            "<details>\n<summary>Tip</summary>\n\nBody.\n\n</details>",
        ),
        (":::{note} On the first line.\n:::", "> **Note**\n>\n> On the first line."),
        (
            "- item\n\n  :::{warning}\n  Careful.\n  :::\n- next",
            "- item\n\n  > **Warning**\n  >\n  > Careful.\n\n- next",
        ),
        (
            ":::{prf:remark} R\n:class: dropdown\nBody.\n:::",
            "<details>\n<summary>Remark 2.1 (R)</summary>\n\nBody.\n\n</details>",
        ),
        ("t\n: one\n: two\n\ns\n: three", "- **t**: one\n\n  two\n\n- **s**: three"),
        ("a\n\n+++\n\nb", "a\n\nb"),
        (
            "| a {eq}`eq-one` | `|` |\n|---|---|\n| [$x$](plain.md) | {eq}`eq-two` |",
            "| a (1.1) | `|` |\n|---|---|\n| *$x$* | (1.2) |",
        ),
        ("> - {eq}`eq-one`\n>   {eq}`eq-two`", "> - (1.1)\n>   (1.2)"),
        ("1. a\n\n       {eq}`eq-one`\n   b", "1. a\n\n       {eq}`eq-one`\n   b"),
        ("[a {eq}`eq-one` **b**](https://example.org)", "[a (1.1) **b**](https://example.org)"),
        (":::{admonition} T\n- a\n\n  $$\n  x\n  $$\n:::", "> **T**\n>\n> - a\n>\n>   $$ x $$"),
        ("\\$1 and <https://example.org>&amp;", "\\$1 and <https://example.org>&amp;"),
        ("1\n\n(lone)=\n\n## H", "1\n\n## H"),
        ("{ref}`text <ex-one>` {cite:t}`one2020,two2021`\n\n```{bibliography}\n```", None),
        ("![alt](dot.svg){width=9}", None),
    ],
)
def test_construct(page, myst, plain):
    text = page(myst)
    if "bibliography" in myst:  # the list stands where the chapter asks for it, and only there
        assert text.startswith("text One (2020), One and de Two (2021)\n\n- Ada One (2020).")
        assert "References" not in text
    elif "dot.svg" in myst:
        assert re.fullmatch(r"!\[alt\]\(data:image/svg\+xml;base64,[\w+/=]+\)", text)
    else:
        assert text == plain


@pytest.mark.parametrize(
    ("myst", "message"),
    [
        ("a\n\n:::{grid} 2\n:::", r"second\.md:13: \{grid\} has no translation"),
        (":::{note}\n\nDeep {abbr}`x`.\n:::", r"second\.md:13: the role \{abbr\}"),
        ("one\ntwo {eq}`eq-none`", r"second\.md:12: no equation is called 'eq-none'"),
        ("{eq}`thm-main`", r"no equation is called 'thm-main'"),
        ("{ref}`place-here`", "nothing with a title is called 'place-here'"),
        ("{cite:p}`nobody`", "no 'nobody'"),
        ("{cite}`one2020`", r"the role \{cite\}"),
        ("{doc}`third`", "third is no page"),
        ("[x](../lib/a.py)", "leads to no page"),
        ("[x](#nowhere)", "leads to no page"),
        ("text[^1]", "has no translation"),
        ("text\n\n[^1]: note", r"second\.md:13: \[\^1\]: note has no translation"),
        ("text\n\n[x]: https://example.org", r"second\.md:13: \[x\]: https://example.org has no translation"),
        ("costs $5", r"second\.md:11: \$"),
        ("- $$\n  x\n  $$", r"- \$\$ has no translation"),
        (":::{note}\n---\na: [\n---\n:::", r"second\.md:11: note: Invalid options"),
        ("{{ name }}", "has no translation"),
        ('<img src="x.png">', "has no translation"),
        ("a $$x$$ b", "has no translation"),
        ("$$\na\n\nb\n$$", "an empty line"),
        ("$$ a $$ b", r"second\.md:11: \$\$ must open its own line"),
        ("$\\onlyhere$", r"does not know \\onlyhere"),
        ("\\begin{align}\na\n\\end{align}", "numbered without a label"),
        (":::{note}\nnever closed", "is not closed"),
        (":::note\n:::", "no directive"),
        ("````{solution-start} ex-none\n````", "no exercise 'ex-none'"),
        (":::{note}\n```{code-cell}\n1\n```\n:::", r"\{code-cell\} has no translation"),
        ("(eq-one)=\n## Twice", "the label eq-one exists twice"),
        ("> (a)=\n> $$ x $$ (eq-q)", r"> \(a\)= has no translation"),
        ("![a](https://example.org/a.png)", "another host"),
        ("![a](none.png)", "no image"),
    ],
)
def test_outside_the_dialect(page, myst, message):
    with pytest.raises(DialectError, match=message) as caught:
        page(myst)
    assert re.match(r"book/second\.md:\d+: ", str(caught.value))


def test_ids_do_not_depend_on_other_cells(tmp_path):
    before = made()
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "book" / "first.md"
    text = file.read_text("utf8")
    # A new equation in front changes every number after it, and one code cell changes its source.
    file.write_text(
        text.replace("$$ x = 1 $$", "$$ w = 0 $$ (eq-new)\n\n$$ x = 1 $$").replace("answer = 42", "answer = 43"),
        "utf8",
    )
    after = made(tmp_path)
    ids = [[cell.id for cell in notebook.cells] for notebook in (before, after)]
    assert len(set(ids[0])) == len(ids[0]) == len(ids[1])
    changed = [k for k, (one, other) in enumerate(zip(*ids, strict=True)) if one != other]
    assert [before.cells[k].source.splitlines()[0] for k in changed] == ["# 1. First *page*", "answer = 42"]


def test_equal_cells_get_different_ids(page, tmp_path):
    page("```{code-cell}\n1\n```\n\n```{code-cell}\n1\n```")
    notebook = made(tmp_path / "root", "book/second")
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_files_are_stable_and_differences_are_named(tmp_path):
    texts = notebooks.generate(sample(), "https://example.com/a/b")
    assert texts == notebooks.generate(sample(), "https://example.com/a/b")
    assert sorted(texts) == ["first.ipynb", "second.ipynb"]
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf8")
    assert notebooks.differences(texts, tmp_path) == []
    moved = notebooks.generate(sample(), "")
    assert len(notebooks.differences(moved, tmp_path)) == 2
    (tmp_path / "first.ipynb").write_text(
        texts["first.ipynb"].replace("nobody", "somebody").replace("Tail", "Tale"), "utf8"
    )
    (tmp_path / "second.ipynb").rename(tmp_path / "third.ipynb")
    assert notebooks.differences(texts, tmp_path) == [
        "second.ipynb is missing",
        "first.ipynb is stale",
        "third.ipynb belongs to no chapter",
    ]
