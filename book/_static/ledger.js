// The claims page: filters and order for its tables. Without this script both stand whole, in the order of the book.
// What is chosen stands in the address, so that a view can be linked: claims.html?chapter=depth&verdict=not+resolved

"use strict";
{
const ORDERS = {
  book: ["the book", () => 0],
  verdict: ["verdict", (row) => row.verdict],
  name: ["name", (row) => row.id],
  near: ["nearness to its limit, nearest first", (row) => -row.near],
};
const WHOSE = {
  paper: ["the paper's alone", (row) => row.ours === 0],
  ours: ["some of this book's own", (row) => row.ours > 0],
};

const read = (tr, chapter) => ({
  tr, chapter, id: tr.id, verdict: tr.dataset.verdict, ours: Number(tr.dataset.ours), near: Number(tr.dataset.near),
});

function select(form, name, label, options, changed) {
  const box = document.createElement("div"), words = document.createElement("label"), menu = document.createElement("select");
  menu.id = `lr-filter-${name}`;
  menu.name = name;
  words.htmlFor = menu.id;
  words.textContent = label;
  menu.append(...options.map(([value, text]) => new Option(text, value)));
  menu.addEventListener("change", changed);
  box.append(words, menu);
  form.append(box);
  return menu;
}

function enliven(table) {
  const bodies = [...table.tBodies];
  const rows = bodies.flatMap((body) => [...body.querySelectorAll("tr[id]")].map((tr) => read(tr, body.dataset.chapter)));
  const home = new Map(rows.map((row) => [row, row.tr.parentElement]));
  const chapters = bodies.map((body) => body.dataset.chapter);
  const title = (word) => word[0].toUpperCase() + word.slice(1);
  const form = document.createElement("form");
  form.className = "lr-filters";
  form.setAttribute("aria-label", "Filter and order the claims");
  form.addEventListener("submit", (event) => event.preventDefault());
  const verdicts = [...new Set([...document.querySelectorAll(".lr-counts a")].map((a) => new URL(a.href).searchParams.get("verdict")))];
  const menus = {
    chapter: select(form, "chapter", "Chapter", [["", "all"], ...chapters.map((c) => [c, title(c)])], apply),
    verdict: select(form, "verdict", "Verdict", [["", "all"], ...verdicts.map((v) => [v, v])], apply),
    whose: select(form, "whose", "Whose checks", [["", "any"], ...Object.entries(WHOSE).map(([k, [text]]) => [k, text])], apply),
    order: select(form, "order", "Order by", Object.entries(ORDERS).map(([k, [text]]) => [k, text]), apply),
  };
  const said = document.createElement("output"), all = document.createElement("button");
  all.type = "button";
  all.textContent = "show all";
  all.addEventListener("click", () => { for (const menu of Object.values(menus)) menu.selectedIndex = 0; apply(); });
  form.append(said);
  table.parentElement.before(form);
  const sorted = document.createElement("tbody");
  sorted.setAttribute("role", "rowgroup");

  function apply() {
    const chosen = Object.fromEntries(Object.entries(menus).map(([name, menu]) => [name, menu.value]));
    const shown = (row) => (!chosen.chapter || row.chapter === chosen.chapter)
      && (!chosen.verdict || row.verdict === chosen.verdict) && (!chosen.whose || WHOSE[chosen.whose][1](row));
    for (const row of rows) row.tr.hidden = !shown(row);
    const count = rows.filter(shown).length;
    said.textContent = `${count} of ${rows.length} claims `;
    if (count < rows.length || chosen.order !== "book") said.append(all);
    if (chosen.order === "book") {
      sorted.remove();
      for (const row of rows) home.get(row).append(row.tr);
    } else {
      const key = ORDERS[chosen.order][1];
      const order = [...rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
      sorted.replaceChildren(...order.map((row) => row.tr));
      table.append(sorted);
    }
    for (const body of bodies) body.hidden = !body.querySelector("tr[id]:not([hidden])");
    const query = new URLSearchParams(Object.entries(chosen).filter(([name, value]) => value && !(name === "order" && value === "book")));
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
  }

  const asked = new URLSearchParams(location.search);
  for (const [name, menu] of Object.entries(menus)) {
    if ([...menu.options].some((option) => option.value === asked.get(name))) menu.value = asked.get(name);
  }
  apply();
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

document.querySelectorAll("table.lr-ledger[data-table=claims]").forEach(enliven);
}
