"""Formulas set at build, and pages that carry no more than they need."""

import html
import re
from xml.etree import ElementTree

import pytest

from leaning import code, head, images
from typesetting.core import broken, tidy
from typesetting.font import cut, italics
from typesetting.mathml import Typesetter


@pytest.fixture(scope="module")
def typesetter():
    made = Typesetter()
    yield made
    made.close()


def signs(mathml: str) -> list[tuple[str, dict[str, str]]]:
    return [(each.text, each.attrib) for each in ElementTree.fromstring(mathml).iter("mo")]


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\eta_L = \eta_{L_0}\frac{L_0}{L}", "ηL=ηL0L0L"),
        (r"\mathbb E\,\mathcal L + \mathbb 1", "𝔼ℒ+𝟙"),
        (r"\operatorname{tr} Q^2", "trQ2"),
    ],
)
def test_a_formula_keeps_its_characters(typesetter, tex, text):
    assert "".join(ElementTree.fromstring(typesetter.mathml(tex, False)).itertext()) == text


def test_nothing_is_left_that_browsers_do_not_know(typesetter):
    formula = typesetter.mathml(r"\begin{aligned} a &= \mathbf b\\ c &= \Bigl(\tfrac12\Bigr)^2 \end{aligned}", True)
    assert not re.search(r"data-|xmlns|columnalign|columnspacing|mathvariant=\"(?!normal)|\n", formula)
    assert 'class="lr-eqs"' in formula


def test_a_sign_before_its_term_has_no_space_and_between_terms_has_the_browsers(typesetter):
    (_, unary), (_, binary) = [s for s in signs(typesetter.mathml("x = -a - b", False)) if s[0] == "−"]
    assert unary == {"form": "prefix", "lspace": "0", "rspace": "0"}
    assert binary == {}


def test_signs_in_exponents_have_no_space(typesetter):
    ((_, sign),) = [s for s in signs(typesetter.mathml("w^{L-1}", False)) if s[0] == "−"]
    assert sign == {"lspace": "0", "rspace": "0"}


@pytest.mark.parametrize(
    ("tex", "spaces"),
    [(r"2\ln r", 2), (r"\ln r", 1), (r"\ln(1-a)", 0), (r"\log_2 x", 1), (r"\mathbb E\operatorname{tr}Q", 2)],
)
def test_functions_have_the_space_that_tex_leaves(typesetter, tex, spaces):
    assert typesetter.mathml(tex, False).count("<mspace") == spaces


def test_a_large_bracket_that_carries_a_script_grows(typesetter):
    base = ElementTree.fromstring(typesetter.mathml(r"\Bigl(x\Bigr)^4", True)).find("msup")[0]
    assert base.tag == "mrow" and base[0].get("minsize") == "1.623em" and base[0].get("stretchy") == "true"


def test_a_long_formula_breaks_after_relations_and_a_short_one_does_not(typesetter):
    long = broken(typesetter.mathml(r"\eta_0 = 0.00012 \approx 2^{-13} < \eta_1", False))
    assert ["".join(ElementTree.fromstring(piece).itertext()) for piece in long] == ["η0=", "0.00012≈", "2−13<", "η1"]
    assert len(broken(typesetter.mathml("L = 2", False))) == 1
    assert len(broken(typesetter.mathml(r"f(x = 1234567, y = 7654321)", False))) == 1


def test_a_displayed_formula_breaks_before_relations_at_gaps_and_in_long_sums(typesetter):
    pieces = broken(typesetter.mathml(r"a = b, \qquad c = \Bigl(1+\frac{p}{h}\Bigr)^4 + 12345678901234 + d", True))
    texts = ["".join(ElementTree.fromstring(piece).itertext()) for piece in pieces]
    assert texts == ["a", "=b,", "c", "=(1+ph)4+12345678901234", "+d"]
    assert all('displaystyle="true"' in piece for piece in pieces)
    assert 'class="lr-gap"' in pieces[1]


def test_what_is_no_tex_is_an_error_that_shows_it(typesetter):
    with pytest.raises(ValueError, match=r"\\frac\{1"):
        typesetter.mathml(r"\frac{1", False)


def test_a_formula_in_mathjaxs_words_becomes_one_in_the_browsers():
    mathml = '<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow data-mjx-texclass="ORD"><mo>/</mo></mrow></math>'
    assert tidy(mathml) == '<math><mo lspace="0" rspace="0">/</mo></math>'


def test_the_font_is_cut_and_keeps_lone_letters_and_stretched_brackets(tmp_path):
    from fontTools.ttLib import TTFont

    assert italics(set("aZhη∂1")) == {"𝑎", "𝑍", "ℎ", "𝜂", "𝜕"}
    cut(set("aη(√"), tmp_path / "f.woff")
    with TTFont(tmp_path / "f.woff") as font:
        held = {chr(each) for each in font.getBestCmap()}
        assert set("aη(√𝑎𝜂") <= held and "b" not in held
        assert "MATH" in font and len(font.getGlyphOrder()) > len(held)  # the larger brackets have no character


CSS = """
html[data-theme="light"] .highlight { background: #fff; color: #080808 }
html[data-theme="light"] .highlight .n { color: #080808 }
html[data-theme="light"] .highlight .k { color: #6730C5 }
html[data-theme="light"] .highlight .gs { color: #080808; font-weight: bold }
html[data-theme="dark"] .highlight { background: #000; color: #fff }
html[data-theme="dark"] .highlight .n { color: #fff }
html[data-theme="dark"] .highlight .k { color: #fff }
"""
CODE = (
    '<pre><span></span><span class="k">if</span><span class="w"> </span><span class="n">a</span> &lt; '
    '<span class="k">é𝜂</span>\n</pre>'
)


def test_tokens_of_the_texts_own_colour_are_text():
    plain = code.plain_classes(CSS)
    assert plain == {"n", "w"}
    assert code.lean(CODE, plain) == '<pre><span class="k">if</span> a &lt; <span class="k">é𝜂</span>\n</pre>'


def test_folded_code_is_text_with_its_colours_noted_in_the_units_of_a_script():
    folded = code.lean(f'<details class="admonition hide above-input">{CODE}</details>{CODE}', {"n", "w"})
    fold, rest = folded.split("</details>")
    assert '<pre data-colours="k-2 5 k-3 1">if a &lt; é𝜂\n</pre>' in fold
    assert "<span" not in fold and "<span" in rest
    text = html.unescape(re.search(r">([^<]*)</pre>", fold)[1])
    assert len(text.encode("utf-16-le")) // 2 == 2 + 5 + 3 + 1


def test_style_sheets_become_one_with_addresses_that_hold(tmp_path):
    (tmp_path / "styles").mkdir()
    (tmp_path / "styles" / "theme.css").write_text('@import "../basic.css";\n.a { src: url(../fonts/f.woff) }')
    (tmp_path / "basic.css").write_text('.b { src: url("g.png"); x: url(data:image/png) }')
    icons = '.fa-bars:before,.fa-menu:before{content:"\\f0c9"}.fa-cat:before{content:"\\f111"}'
    (tmp_path / "c.css").write_text(icons)
    css = (
        tmp_path / head.bundled(tmp_path, ["styles/theme.css", "c.css"], {"fa-bars"}, {"a", "b", "fa-bars"})
    ).read_text()
    assert "url(fonts/f.woff)" in css and "url(g.png)" in css and "url(data:image/png)" in css
    assert "fa-bars" in css and "fa-cat" not in css and "@import" not in css


PAGE = """<head>
<link rel="stylesheet" type="text/css" href="../_static/a.css?v=1" />
<link rel="stylesheet" type="text/css" href="../_static/b.css" />
<script defer src="../_static/scripts/fontawesome.js?x"></script>
<script src="../_static/documentation_options.js?v=9"></script>
<script src="../_static/doctools.js"></script>
<script src="../searchindex.js"></script>
</head>"""


def test_a_page_waits_for_no_script_and_only_the_search_reads_the_index():
    assert head.styles(PAGE) == ["a.css", "b.css"]
    page = head.lean(PAGE, "site.css", "const O = {};", is_search=False)
    assert page.count("stylesheet") == 1 and "fontawesome" not in page and "searchindex" not in page
    assert "<script>const O = {};</script>" in page and '<script defer src="../_static/doctools.js">' in page
    search = head.lean(PAGE, "site.css", "const O = {};", is_search=True)
    assert '<script src="../searchindex.js">' in search


def test_figures_keep_their_place_and_load_when_they_are_near(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "f.svg").write_text('<svg height="216pt" width="518.4pt" viewBox="0 0 518.4 216">')
    page = '<img alt="a" src="_images/f.svg" /><img alt="b" src="x.png" />'
    lean = images.lean(page, tmp_path)
    for theme in ("light", "dark"):
        names = f'class="lr-on-{theme} dark-light"'
        assert f'<img {names} loading="lazy" decoding="async" width="691" height="288" alt="a"' in lean
    assert '<img alt="b"' in lean
