// A table that is wider than its page scrolls inside its own box; the keyboard must be able to reach it.
function reach() {
  for (const table of document.querySelectorAll("article table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

addEventListener("load", reach);
addEventListener("resize", reach);
