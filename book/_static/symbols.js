// A symbol in a formula shows what it means on this page: the pointer rests on it, or a tap. Formulas are no tab stops:
// with the focus on a link to an equation, or on a formula that scrolls, all of its symbols are listed.
// The meanings are those of the page on notation, read by the build into a file that is fetched when it is first wanted.
"use strict";
{
const WAIT = 250; // milliseconds that the pointer must rest
const SCRIPTS = ["msub", "msup", "msubsup", "mover", "munder"];
const FORMULA = "article .math math";
const PLACE = document.currentScript.src;
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

/** Lines of the notation by symbol. The page's own come first and hold. */
function read(lines) {
  const exact = new Map(), indexed = new Map();
  for (const line of lines) {
    const box = document.createElement("div");
    box.innerHTML = line[0];
    for (const formula of box.querySelectorAll("math")) {
      const name = key(formula);
      if (!exact.has(name)) exact.set(name, line);
      if (index(name) && !indexed.has(base(name))) indexed.set(base(name), line);
    }
  }
  return { exact, indexed };
}

function load() {
  known ??= new Promise((done) => {
    const script = document.createElement("script");
    const page = location.pathname.split("/").at(-1).replace(".html", "");
    script.src = new URL(`symbols/${page}.js`, PLACE);
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
function symbol(lines, letter) {
  const around = [letter];
  for (let node = letter; ;) {
    const parent = node.parentElement, place = [...parent.children].indexOf(node);
    const subscript = ["msub", "msubsup"].includes(parent.localName) && place === 1;
    if (["mrow", "mstyle"].includes(parent.localName) && ["msub", "msubsup"].includes(parent.parentElement.localName) && parent === parent.parentElement.children[1]) node = parent;
    else if (subscript || (SCRIPTS.includes(parent.localName) && place === 0)) around.unshift((node = parent));
    else break;
  }
  for (const node of around) {
    const found = line(lines, node);
    if (found) return { node, found };
  }
  return null;
}

function meaning([name, words, defined]) {
  const p = document.createElement("p");
  p.innerHTML = `<b>${name}</b>: ${words}${defined ? ` <small>${defined}</small>` : ""}`;
  return p;
}

function card(lines) {
  const box = document.createElement("div");
  box.className = "lr-meaning";
  box.append(...lines.map(meaning));
  for (const part of box.querySelectorAll("[id]")) part.removeAttribute("id");
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
  window.lrCard.put(card([hit.found]), lit, lit.getBoundingClientRect());
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

/** What the symbols of a formula mean, each once, as a card; nothing where none is known. */
window.lrSymbolsIn = async (formula) => {
  const lines = await load(), letters = [...formula.querySelectorAll("mi, mtext")];
  const found = new Set(letters.map((letter) => symbol(lines, letter)?.found).filter(Boolean));
  return found.size ? card([...found]) : null;
};

const scrolls = (event) => event.target.matches?.(".lr-formula[tabindex]") && event.target;
document.addEventListener("focusin", async (event) => {
  const formula = scrolls(event), box = formula && (await window.lrSymbolsIn(formula));
  if (box && formula === document.activeElement) window.lrCard.put(box, formula, formula.getBoundingClientRect());
});
document.addEventListener("focusout", (event) => { if (scrolls(event)) window.lrCard.leave(); });
}
