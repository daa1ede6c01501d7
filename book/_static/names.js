// Names of the package in code lead to the reference, once the code is open. The page carries their places, as written.
"use strict";
{
const places = JSON.parse(document.getElementById("lr-names").textContent);
const written = Object.keys(places).sort((a, b) => b.length - a.length).map((name) => name.replaceAll(".", "\\."));
const name = new RegExp(`(?<![\\w.])(?:${written.join("|")})(?![\\w])`, "g");

/** Put links into the code, from its end to its beginning. Its colours cut it into pieces: the last part of a dotted name
 *  lies in one. */
function link(pre) {
  pre.dataset.named = "";
  pre.normalize();
  const pieces = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT), texts = [];
  for (let at = 0; pieces.nextNode(); at += pieces.currentNode.length) texts.push({ node: pieces.currentNode, at });
  for (const hit of [...pre.textContent.matchAll(name)].reverse()) {
    const last = hit[0].split(".").at(-1), from = hit.index + hit[0].length - last.length;
    const { node, at } = texts.findLast((text) => text.at <= from);
    if (from + last.length > at + node.length || node.parentElement.closest("a, .s1, .s2, .c1, .sd")) continue;
    const part = node.splitText(from - at), a = document.createElement("a");
    part.splitText(last.length);
    a.className = "lr-ref";
    a.href = places[hit[0]];
    part.replaceWith(a);
    a.append(part);
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
