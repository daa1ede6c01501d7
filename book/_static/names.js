// Names of the package in code lead to the reference, once the code is open. The page carries their places, as written.
"use strict";
{
const places = JSON.parse(document.getElementById("lr-names").textContent);
const written = Object.keys(places).sort((a, b) => b.length - a.length).map((name) => name.replaceAll(".", "\\."));
const name = new RegExp(`(?<![\\w.])(?:${written.join("|")})(?![\\w])`, "g");

/** Put links into the code; it may lie in several pieces, of which one name spans three at most. */
function link(pre) {
  pre.dataset.named = "";
  pre.normalize();
  const pieces = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT), texts = [];
  while (pieces.nextNode()) texts.push(pieces.currentNode);
  for (const text of texts) {
    const found = [...text.data.matchAll(name)];
    if (!found.length || text.parentElement.closest("a, .s1, .s2, .c1, .sd")) continue;
    const parts = document.createDocumentFragment();
    let at = 0;
    for (const hit of found) {
      const a = document.createElement("a");
      a.className = "lr-ref";
      a.href = places[hit[0]];
      a.textContent = hit[0];
      parts.append(text.data.slice(at, hit.index), a);
      at = hit.index + hit[0].length;
    }
    parts.append(text.data.slice(at));
    text.replaceWith(parts);
  }
}

const visible = () => {
  for (const pre of document.querySelectorAll("article .cell_input pre:not([data-named])")) {
    if (pre.checkVisibility()) link(pre);
  }
};
addEventListener("load", visible);
addEventListener("toggle", () => setTimeout(visible), true); // after the fold has got its colours
}
