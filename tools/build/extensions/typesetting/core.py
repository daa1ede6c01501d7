"""MathJax's MathML in the words of MathML Core, which browsers set by themselves.

Core knows no alphabets by attribute, no alignment of columns and none of TeX's classes. Letters become characters,
alignment a class for the style sheet, and the space that TeX leaves around a sign or a function is said.
"""

from __future__ import annotations

import re
import unicodedata
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

# Letters that MathML names by an attribute and Unicode by a character; those that it had before it had the alphabets.
ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "script": "SCRIPT", "bold": "BOLD", "fraktur": "FRAKTUR"}
EARLIER = {
    "SCRIPT": dict(zip("BEFHILMR", "ℬℰℱℋℐℒℳℛ", strict=True)),
    "DOUBLE-STRUCK": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
    "FRAKTUR": dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True)),
}
KEPT = {
    "math": ("display",),
    "mo": ("stretchy", "minsize", "maxsize", "symmetric", "movablelimits", "lspace", "rspace"),
    "mi": ("mathvariant",),
    "mspace": ("width",),
    "mstyle": ("displaystyle", "scriptlevel"),
    "mtable": ("displaystyle", "columnalign"),
    "mfrac": ("linethickness",),
}
RELATIONS = "=<>≤≥≈∼∝→←≪≫≠∈≲⟶↦"
OPENING, CLOSING = "([{⟨⌊", ")]}⟩⌋"
BARS = "|‖∥∣"
ACCENTS = "˙¯˜^~ˉ→"
APPLY = "\u2061"
SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
THIN = "0.167em"
# An inline formula with more characters than this may break after its relations.
LONG = 14


def tidy(mathml: str) -> str:
    """Return the formula as MathML Core on one line."""
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", mathml))
    _clean(root, script=False)
    return _written(root)


def broken(mathml: str) -> list[str]:
    """Return a formula as the pieces between which a line may end, outside of brackets.

    Browsers do not break a formula; on a phone a long one would run out of its column. A long formula in the text may
    break after its relations and the signs of a long sum; a displayed one before them, and at its wide spaces.
    """
    root = ElementTree.fromstring(mathml)
    display = root.get("display") == "block"
    if not display and len("".join(root.itertext())) <= LONG:
        return [mathml]
    pieces: list[list[Element]] = [[]]
    inside = 0
    for child in root:
        core = _core(child)
        sign = (core.text or "") if core.tag == "mo" else ""
        inside += (sign in OPENING) - (sign in CLOSING) if sign else 0
        relation = bool(sign) and sign in RELATIONS and not inside
        sum_sign = sign in ("+", "−") and not inside and child.get("form") != "prefix" and _length(pieces[-1]) > LONG
        if display and pieces[-1] and (relation or sum_sign):
            child.set("form", "infix")  # where a piece begins it would be a prefix, with other space around
            pieces.append([])
        if display and child.tag == "mspace" and child.get("width") == "2em" and not inside:
            pieces.append([])
            continue
        pieces[-1].append(child)
        if (relation or sum_sign) and not display:
            child.set("form", "infix")
            pieces.append([])
    return [_piece(piece, display, last=place == len(pieces) - 1) for place, piece in enumerate(pieces) if piece]


def _core(node: Element) -> Element:
    """Return what a script is attached to, or the thing itself."""
    while (node.tag in SCRIPTS or node.tag == "mrow") and len(node):
        if node.tag == "mrow" and len(node) > 1:
            return node
        node = node[0]
    return node


def _length(piece: list[Element]) -> int:
    return sum(len("".join(child.itertext())) for child in piece)


def _piece(children: list[Element], display: bool, last: bool) -> str:
    math = Element("math", displaystyle="true") if display else Element("math")
    math.extend(children)
    if display and not last and (children[-1].text or "").endswith((",", ";")):
        math.set("class", "lr-gap")
    return _written(math)


def _written(root: Element) -> str:
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _clean(node: Element, script: bool) -> None:
    """Rewrite ``node`` and what it holds; ``script`` says that it is set small, where signs have no space around."""
    node.tail = None
    if len(node):
        node.text = None
    for place, child in enumerate(node):
        small = script or (node.tag in SCRIPTS and place > 0)
        _clean(child, small)
    kind = node.get("data-mjx-texclass", "")
    if node.tag in ("mi", "mn") and node.get("mathvariant", "") in ALPHABETS:
        alphabet = ALPHABETS[node.attrib.pop("mathvariant")]
        node.text = "".join(_letter(alphabet, each) for each in node.text or "")
    if node.tag == "mtable":
        columns = node.attrib.pop("columnalign", "").split()
        node.set("class", "lr-eqs" if columns[:1] == ["right"] else "lr-cases" if columns else "lr-matrix")
    if node.tag in ("mover", "munderover") and node[-1].tag == "mo" and (node[-1].text or " ") in ACCENTS:
        node.set("accent", "true")
    bar = (node.text or "") in BARS and kind != "REL"
    if node.tag == "mo" and (bar or kind in ("ORD", "OPEN", "CLOSE")):
        _no_space(node)
    if node.tag == "mo" and (node.text or "") in ("…", "⋯"):
        node.set("lspace", "0.1em")
        node.set("rspace", "0.1em")
    children = [_alone(child) for child in node]
    if node.tag in SCRIPTS and children[0].tag == "mo" and children[0].get("minsize"):
        base = Element("mrow")  # a bracket that carries a script grows in a row of its own alone
        base.append(children[0])
        children[0] = base
    if node.tag in ("math", "mrow", "mtd", "mstyle", "msqrt"):
        children = _spaced(children, script)
    node[:] = children
    if node.tag == "mo" and node.get("minsize"):
        node.set("stretchy", "true")
    if node.tag == "mrow" and kind == "ORD" and len(node) == 1 and node[0].tag == "mo":
        _no_space(node[0])  # a sign that TeX was told to treat as a letter
    node.attrib = {
        name: value
        for name, value in node.attrib.items()
        if name in (*KEPT.get(node.tag, ()), "class", "accent", "form")
    }


def _no_space(sign: Element) -> None:
    sign.set("lspace", "0")
    sign.set("rspace", "0")


def _alone(node: Element) -> Element:
    """Return what a group of one thing holds."""
    group = node.tag == "mrow" or (node.tag == "mstyle" and len(node) and node[0].tag == "mspace")
    return node[0] if group and len(node) == 1 else node


def _spaced(row: list[Element], script: bool) -> list[Element]:
    """Return a row with TeX's spaces: thin ones beside functions, none between a sign and what it belongs to."""
    spaced: list[Element] = []
    for place, node in enumerate(row):
        before = spaced[-1] if spaced else None
        if node.tag == "mo" and node.text in ("−", "+", "±") and not _is_term(before):
            node.set("form", "prefix")
            _no_space(node)
        elif script and node.tag == "mo" and node.text not in (None, "", ",", APPLY):
            _no_space(node)
        named = node.tag == "mi" and (node.text or "").isalpha() and len(node.text or "") > 1
        function = named or (place + 1 < len(row) and row[place + 1].text == APPLY and row[place + 1].tag == "mo")
        if function and before is not None and _is_term(before) and before.tag != "mspace":
            spaced.append(Element("mspace", width=THIN))
        spaced.append(node)
        if (named or (node.tag == "mo" and node.text == APPLY)) and place + 1 < len(row):
            after = row[place + 1]
            if after.tag not in ("mo", "mspace") and not (
                after.tag == "mrow" and len(after) and after[0].text in tuple(OPENING)
            ):
                spaced.append(Element("mspace", width=THIN))
    return spaced


def _is_term(node: Element | None) -> bool:
    """Whether what stands before a sign is a term, so that the sign is an operation."""
    if node is None or node.tag == "mspace":
        return False
    return (
        node.tag != "mo"
        or (node.text or "") in CLOSING
        or (node.text or "") in BARS
        or (node.text or "") in ("…", "⋯", "!")
    )


def _letter(alphabet: str, letter: str) -> str:
    if letter in EARLIER.get(alphabet, {}):
        return EARLIER[alphabet][letter]
    name = unicodedata.name(letter).replace("LATIN ", "").replace("LETTER ", "")  # CAPITAL E, SMALL E, DIGIT ONE
    try:
        return unicodedata.lookup(f"MATHEMATICAL {alphabet} {name}")
    except KeyError:
        return letter
