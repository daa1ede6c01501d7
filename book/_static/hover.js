// A link to an equation, a statement, a claim or a term shows what it leads to, on hover and on focus; Escape closes it.
// What lies on another page of the book is fetched from there; where that cannot be (from a folder), the link is a link.
"use strict";
{
const WAIT = 200; // milliseconds that the pointer must rest
const SHOWN = "div.math, div.proof, tr[id], dt, figure";
const pages = new Map([[location.pathname, Promise.resolve(document)]]);
let card, owner, timer;

const pageOf = (url) => {
  if (!pages.has(url.pathname)) {
    const parsed = (text) => new DOMParser().parseFromString(text, "text/html");
    pages.set(url.pathname, fetch(url.pathname).then((answer) => (answer.ok ? answer.text() : "")).then(parsed).catch(() => null));
  }
  return pages.get(url.pathname);
};

/** What a link shows: a copy of its target without the names in it, or nothing for what is no statement. */
function content(page, id) {
  const found = page?.getElementById(id);
  const target = found && (found.matches(SHOWN) ? found : found.closest("div.math, div.proof, dt") ?? found.querySelector(":scope > div.proof"));
  if (!target || target.matches("figure")) return null;
  const box = document.createElement("div");
  if (target.matches("tr")) {
    for (const name of ["lr-verdict", "lr-stated"]) box.append(copyOf(target.querySelector(`.${name}`), "p"));
  } else if (target.matches("dt")) {
    box.append(copyOf(target, "strong"), copyOf(target.nextElementSibling, "div"));
  } else box.append(target.cloneNode(true));
  for (const part of box.querySelectorAll(".headerlink, .lr-fix, details, script")) part.remove();
  for (const part of [box, ...box.querySelectorAll("[id]")]) part.removeAttribute("id");
  return box.textContent.trim() ? box : null;
}

function copyOf(element, tag) {
  const copy = document.createElement(tag);
  copy.append(...(element ? element.cloneNode(true).childNodes : []));
  return copy;
}

function close() {
  clearTimeout(timer);
  owner?.removeAttribute("aria-describedby");
  card?.remove();
  card = owner = undefined;
}

async function show(link, focused) {
  const url = new URL(link.href), id = decodeURIComponent(url.hash.slice(1));
  const box = content(await pageOf(url), id);
  const meant = box && focused && url.pathname === location.pathname && box.querySelector("div.math") ? await window.lrSymbolsIn?.(box) : null;
  if (meant) box.append(meant);
  if (box && timer !== undefined) put(box, link, link.getClientRects()[0]);
}

/** Show a card beside a place of the window; where something that can have the focus has it, the card describes it. */
function put(box, of, at) {
  close();
  owner = of;
  card = Object.assign(document.createElement("div"), { className: "lr-hover", id: "lr-hover" });
  card.setAttribute("role", "tooltip");
  card.append(box);
  document.querySelector("article").append(card);
  if (of.matches("a, [tabindex]")) of.setAttribute("aria-describedby", "lr-hover");
  const home = card.offsetParent.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - card.offsetWidth - 16));
  const above = at.bottom + card.offsetHeight + 12 > innerHeight && at.top > card.offsetHeight + 12;
  card.style.left = `${left - home.left}px`;
  card.style.top = `${(above ? at.top - card.offsetHeight - 6 : at.bottom + 6) - home.top}px`;
  card.addEventListener("pointerleave", leave);
  card.addEventListener("pointerenter", () => clearTimeout(timer));
}

function leave() {
  clearTimeout(timer);
  timer = setTimeout(close, WAIT);
}

function within(event) {
  const link = event.target.closest?.("article a[href*='#']");
  const url = link && new URL(link.href);
  const inBook = url?.origin === location.origin && url.hash.length > 1 && !link.matches(".headerlink, .lr-here") && !link.closest(".lr-hover");
  return inBook ? link : null;
}

for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const link = within(event);
    if (!link || link === owner || event.pointerType === "touch") return;
    clearTimeout(timer);
    timer = setTimeout(() => show(link, kind === "focusin"), kind === "focusin" ? 0 : WAIT);
  });
}
for (const kind of ["pointerout", "focusout"]) document.addEventListener(kind, (event) => { if (within(event)) leave(); });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
window.lrCard = { put, close, leave, stay: () => clearTimeout(timer) }; // for the symbols
}
