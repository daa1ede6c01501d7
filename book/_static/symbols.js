// A symbol in a formula shows what it means on this page: the pointer rests on it, or a tap. Formulas are no tab stops:
// for the keyboard a button lists the symbols of the page, those in view first; and with the focus on a link to an
// equation, or on a formula that scrolls, its symbols are listed.
// The meanings are those of the page on notation, read by the build into a file that is fetched when it is first wanted.
// A page that is about several chapters has them all: where a formula lies in a part that is named after one, its own.
"use strict";
{
const WAIT = 250; // milliseconds that the pointer must rest
const SCRIPTS = ["msub", "msup", "msubsup", "mover", "munder"];
const FORMULA = "article .math math";
const { src: PLACE, dataset: { symbols: FILE } } = document.currentScript;
let known, lit, timer;

/** What a piece of a formula says: w_l, μ_xx, x^⋆. */
function key(node) {
  const parts = [...node.children].map(key);
  switch (node.localName) {
    case "mspace": return "";
    case "msub": case "munder": return `${parts[0]}_${parts[1]}`;
    case "msup": return `${parts[0]}^${parts[1]}`;
    case "msubsup": return `${parts[0]}_${parts[1]}^${parts[2]}`;
    default: return parts.length ? parts.join("") : node.textContent.trim();
  }
}

const base = (name) => name.split(/[_^]/)[0];
const index = (name) => /_[\p{L}]$/u.test(name); // w_l stands for w_1 and w_{l+1} too

/** Lines of the notation by symbol and chapter. Of a chapter's, the first holds; every line is [name, words, place, chapter]. */
function read(lines) {
  const rooms = new Map();
  for (const line of lines) {
    const room = line[3] ?? "", box = document.createElement("div");
    if (!rooms.has(room)) rooms.set(room, { exact: new Map(), indexed: new Map() });
    const { exact, indexed } = rooms.get(room);
    box.innerHTML = line[0];
    for (const formula of box.querySelectorAll("math")) {
      const name = key(formula);
      if (!exact.has(name)) exact.set(name, line);
      if (index(name) && !indexed.has(base(name))) indexed.set(base(name), line);
    }
  }
  return rooms;
}

/** The lines to look in, in order: of the chapter that a part of the page is named after, of all, of every other one. */
function places(rooms, node) {
  const others = [...rooms.keys()].filter(Boolean), general = rooms.get("");
  for (let part = node.closest("[id]"); part; part = part.parentElement.closest("[id]")) {
    const own = others.find((room) => part.id.split(/[-.]/)[0] === room);
    if (own) return [[rooms.get(own)], [general]];
  }
  return others.length ? [[general], others.map((room) => rooms.get(room))] : [[general]];
}

function load() {
  known ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = new URL(`symbols/${FILE}.js`, PLACE);
    script.onload = () => done(read(window.lrSymbols));
    document.head.append(script);
  });
  return known;
}

function line({ exact, indexed }, node) {
  const name = key(node), plain = name.replace(/\^[^_]*$/, "");
  if (exact.has(name)) return exact.get(name);
  if (exact.has(plain)) return exact.get(plain);
  if (plain.includes("_") && indexed.has(base(plain))) return indexed.get(base(plain));
  const inner = SCRIPTS.includes(node.localName) ? node.firstElementChild : null;
  return inner ? line({ exact, indexed }, inner) : indexed.get(name);
}

/** The largest symbol around a letter that the notation has: w_l rather than w or l, but not the power that it stands in. */
function symbol(rooms, letter) {
  const around = [letter];
  for (let node = letter; ;) {
    const parent = node.parentElement, place = [...parent.children].indexOf(node);
    const subscript = ["msub", "msubsup"].includes(parent.localName) && place === 1;
    if (["mrow", "mstyle"].includes(parent.localName) && ["msub", "msubsup"].includes(parent.parentElement.localName) && parent === parent.parentElement.children[1]) node = parent;
    else if (subscript || (SCRIPTS.includes(parent.localName) && place === 0)) around.unshift((node = parent));
    else break;
  }
  for (const some of places(rooms, letter)) {
    for (const node of around) {
      const found = some.map((known) => line(known, node)).filter(Boolean);
      if (found.length) return { node, found };
    }
  }
  return null;
}

function meaning([name, words, defined, room]) {
  const p = document.createElement("p"), of = room && ` in ${room[0].toUpperCase()}${room.slice(1)}`;
  p.innerHTML = `<b>${name}</b>${of ?? ""}: ${words}${defined ? ` <small>${defined}</small>` : ""}`;
  for (const part of p.querySelectorAll("[id]")) part.removeAttribute("id");
  return p;
}

function card(lines) {
  const box = document.createElement("div");
  box.className = "lr-meaning";
  box.append(...lines.map(meaning));
  return box;
}

function dark() {
  clearTimeout(timer);
  lit?.classList.remove("lr-lit");
  lit = undefined;
}

async function show(letter) {
  const lines = await load(), hit = symbol(lines, letter);
  if (!hit || !(letter.matches(":hover") || letter === lit)) return;
  lit?.classList.remove("lr-lit");
  lit = hit.node;
  lit.classList.add("lr-lit");
  window.lrCard.put(card(hit.found), lit, lit.getBoundingClientRect());
}

const letterOf = (event) => {
  const letter = event.target.closest?.("mi, mtext, mn");
  return letter?.closest(FORMULA) && !letter.closest(".lr-hover, a, summary, button") ? letter : null;
};

document.addEventListener("pointerover", (event) => {
  const letter = letterOf(event);
  if (!letter || event.pointerType === "touch") return;
  load();
  clearTimeout(timer);
  if (lit?.contains(letter)) return window.lrCard.stay();
  timer = setTimeout(() => show(letter), WAIT);
});
document.addEventListener("pointerout", (event) => {
  if (!letterOf(event)) return;
  clearTimeout(timer);
  if (lit && !lit.contains(event.relatedTarget)) { dark(); window.lrCard.leave(); }
});
document.addEventListener("click", (event) => {
  const letter = letterOf(event);
  if (letter) { lit = letter; show(letter); }
  else if (lit && !event.target.closest?.(".lr-hover")) { dark(); window.lrCard.close(); }
});

/** The lines of all symbols in a formula, or in several, each once, in their order. */
function linesIn(rooms, formulas) {
  const letters = formulas.flatMap((formula) => [...formula.querySelectorAll("mi, mtext")]);
  return [...new Set(letters.flatMap((letter) => symbol(rooms, letter)?.found ?? []))];
}

/** What the symbols of a formula mean, as a card; nothing where none is known. */
window.lrSymbolsIn = async (formula) => {
  const found = linesIn(await load(), [formula]);
  return found.length ? card(found) : null;
};

/** Show what the symbols of the page mean: those of formulas in view, then all others. */
window.lrSymbolList = async () => {
  const rooms = await load(), all = [...document.querySelectorAll(FORMULA)];
  const inView = all.filter((formula) => {
    const { top, bottom } = formula.getBoundingClientRect();
    return bottom > 0 && top < innerHeight && formula.checkVisibility();
  });
  const here = linesIn(rooms, inView), others = linesIn(rooms, all).filter((line) => !here.includes(line));
  const dialog = document.createElement("dialog");
  dialog.className = "lr-symbols";
  dialog.setAttribute("aria-label", "What the symbols mean");
  dialog.innerHTML = '<form method="dialog"><button>Close</button></form><div tabindex="0" role="region" aria-label="Symbols"></div>';
  for (const [title, lines] of [["In view", here], ["Elsewhere on this page", others]]) {
    if (!lines.length) continue;
    const head = document.createElement("h2");
    head.textContent = title;
    dialog.lastElementChild.append(head, card(lines));
  }
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("a")) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation(); // Sphinx's script for searched words would keep the browser from closing it
    dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove()); // the focus is then where it was
  document.body.append(dialog);
  dialog.showModal();
  dialog.lastElementChild.focus();
};

const scrolls = (event) => event.target.matches?.(".lr-formula[tabindex]") && event.target;
document.addEventListener("focusin", async (event) => {
  const formula = scrolls(event), box = formula && (await window.lrSymbolsIn(formula));
  if (box && formula === document.activeElement) window.lrCard.put(box, formula, formula.getBoundingClientRect());
});
document.addEventListener("focusout", (event) => { if (scrolls(event)) window.lrCard.leave(); });
}
