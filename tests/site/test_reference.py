"""The reference of the package: every name that a room hands out, and links between it and the chapters, both ways."""

from __future__ import annotations

import importlib
import json

import pytest
from bs4 import BeautifulSoup
from visits import Visit, serious_faults

import package_reference
import public_names


@pytest.fixture(scope="module")
def rooms(site):
    """The page of every room, parsed."""
    return {
        room: BeautifulSoup((site / "book" / "reference" / f"{room}.html").read_text(encoding="utf-8"), "html.parser")
        for room in public_names.ROOMS
    }


def test_every_room_of_the_package_has_a_page(rooms):
    package = importlib.import_module("lrtransfer")
    import pkgutil

    found = {module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg}
    assert found == set(rooms)


def test_every_public_name_has_a_section_with_its_summary(rooms):
    for room, page in rooms.items():
        names = public_names.of_room(room)
        for exported in getattr(importlib.import_module(f"lrtransfer.{room}"), "__all__", ()):
            value = getattr(importlib.import_module(f"lrtransfer.{room}"), exported)
            if callable(value) and getattr(value, "__module__", "").startswith("lrtransfer."):
                assert f"{room}.{exported}" in {name.short for name in names}
        for name in names:
            section = page.find(id=name.short)
            assert section and section.select_one(".lr-signature") and section.select_one(".lr-used"), name.path
            assert len(section.select_one(".lr-entry").get_text()) > len(name.short) + 5, name.path


def test_a_name_says_where_it_is_used_and_the_code_there_links_back(site, rooms):
    entry = rooms["depth"].find(id="depth.max_stable_lr")
    links = [link["href"] for link in entry.select(".lr-used a")]
    assert any(link.startswith("../depth.html#") for link in links)
    chapter = BeautifulSoup((site / "book" / "depth.html").read_text(encoding="utf-8"), "html.parser")
    places = json.loads(chapter.find(id="lr-names").string)
    assert places["depth.max_stable_lr"] == "reference/depth.html#depth.max_stable_lr"
    for link in links:
        page, anchor = link.split("#")
        target = (site / "book" / "reference" / page).resolve().read_text(encoding="utf-8")
        assert f'id="{anchor}"' in target


def test_uses_are_found_by_import_and_by_attribute():
    cells = [
        ("from lrtransfer import depth as d\nfrom lrtransfer.page.report import say", "one", "One"),
        ("say(d.max_stable_lr(2, 1.0))\nunknown.max_stable_lr", "two", "Two"),
    ]
    found = public_names.uses(cells, public_names.by_path())
    assert found.names == {
        "say": "lrtransfer.page.report.say",
        "d.max_stable_lr": public_names.defined_at(importlib.import_module("lrtransfer.depth").max_stable_lr),
    }
    assert found.sections["lrtransfer.page.report.say"] == {"two": "Two"}


def test_docstrings_are_escaped_and_keep_their_formulas():
    assert package_reference.paragraph("a < b and ``c_1``::") == "<p>a &lt; b and <code>c_1</code>:</p>"
    assert package_reference.paragraph("    f = x\n    g") == "<pre>    f = x\n    g</pre>"


def test_a_name_in_opened_code_leads_to_its_place(browser, address):
    with Visit(browser, address, "book/depth.html") as visit:
        fold = visit.page.locator("details.hide").filter(has_text="max_stable_lr").first
        fold.evaluate(
            "fold => { for (let one = fold; one; one = one.parentElement.closest('details')) one.open = true; }"
        )
        link = fold.locator("pre a.lr-ref[href$='#depth.max_stable_lr']").first
        link.wait_for()
        assert link.inner_text() == "max_stable_lr"
        assert serious_faults(visit.page, "details.hide[open]") == []
        link.click()
        visit.page.wait_for_url("**/reference/depth.html#depth.max_stable_lr")
        assert visit.complaints == []
