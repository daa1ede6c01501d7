// A table that is wider than its page scrolls inside its own box; the keyboard must be able to reach it.
function reach() {
  for (const table of document.querySelectorAll("article table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

// Formulas are set after the page has loaded, and folds open later still: what counts is a change of size.
addEventListener("load", () => {
  const sizes = new ResizeObserver(reach);
  for (const table of document.querySelectorAll("article table")) {
    sizes.observe(table);
    for (const body of table.tBodies) sizes.observe(body);
  }
});
