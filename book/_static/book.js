// A table that is wider than its page scrolls inside its own box; the keyboard must be able to reach it.
function reach() {
  const tables = [...document.querySelectorAll("article table")].filter((table) => table.checkVisibility());
  const wider = tables.map((table) => table.scrollWidth > table.clientWidth);
  tables.forEach((table, k) => (wider[k] ? (table.tabIndex = 0) : table.removeAttribute("tabindex")));
}

// Formulas are set after the page has loaded, and folds open later still: what counts is a change of size.
addEventListener("load", () => {
  const sizes = new ResizeObserver(reach);
  for (const table of document.querySelectorAll("article table")) {
    sizes.observe(table);
    for (const body of table.tBodies) sizes.observe(body);
  }
});

// Folded code is text until it is opened; then it gets its colours.
function colour(fold) {
  for (const pre of fold.querySelectorAll("pre[data-colours]")) {
    const text = pre.textContent;
    const runs = document.createDocumentFragment();
    let at = 0;
    for (const run of pre.dataset.colours.split(" ")) {
      const [name, length] = run.includes("-") ? run.split("-") : ["", run];
      const piece = text.slice(at, (at += Number(length)));
      if (name) {
        const span = document.createElement("span");
        span.className = name;
        span.textContent = piece;
        runs.append(span);
      } else runs.append(piece);
    }
    delete pre.dataset.colours;
    pre.replaceChildren(runs);
  }
}

addEventListener("toggle", (event) => event.target.open && colour(event.target), true);

// A formula that is wider than its column is set smaller, to three quarters at most; beyond that it scrolls in its box.
// All are measured before one is changed, and changed before one is measured: the page is laid out twice, not each time.
function fit(formulas) {
  for (const formula of formulas) formula.style.fontSize = "";
  const scales = formulas.map((formula) => formula.clientWidth / formula.scrollWidth);
  const tooWide = formulas.filter((formula, k) => scales[k] < 1);
  formulas.forEach((formula, k) => {
    if (scales[k] < 1) formula.style.fontSize = `${Math.max(0.75, 0.98 * scales[k])}em`;
    else formula.removeAttribute("tabindex");
  });
  const scrolls = tooWide.map((formula) => formula.scrollWidth > formula.clientWidth);
  tooWide.forEach((formula, k) => (scrolls[k] ? (formula.tabIndex = 0) : formula.removeAttribute("tabindex")));
}

// One in the text that would leave its column gets a box in which it scrolls. What is folded is not laid out for it.
function keepInside() {
  const leaves = (span) => {
    const edge = span.parentElement.closest("p, li, dd, figcaption, summary, section, article").getBoundingClientRect().right + 1;
    return [...span.children].some((piece) => piece.getBoundingClientRect().right > edge);
  };
  const inText = [...document.querySelectorAll("article span.math:not(.lr-long)")].filter((span) => !span.closest("table") && span.checkVisibility());
  for (const span of inText.filter(leaves)) span.classList.add("lr-long"); // all are measured before one is changed
}

addEventListener("toggle", keepInside, true);
addEventListener("resize", keepInside);
document.fonts.ready.then(() => {
  keepInside();
  const widths = new ResizeObserver((entries) => fit(entries.map((entry) => entry.target)));
  for (const formula of document.querySelectorAll(".lr-formula")) widths.observe(formula);
});

// Print shows what is folded, but code, and prints light from the dark theme.
let afterwards = [];
addEventListener("beforeprint", () => {
  const root = document.documentElement;
  const folds = [...document.querySelectorAll("article details:not(.hide):not([open])")];
  const theme = root.dataset.theme;
  folds.forEach((fold) => (fold.open = true));
  root.dataset.theme = "light";
  afterwards.push(() => {
    folds.forEach((fold) => (fold.open = false));
    root.dataset.theme = theme;
  });
});
addEventListener("afterprint", () => {
  afterwards.forEach((undo) => undo());
  afterwards = [];
});
