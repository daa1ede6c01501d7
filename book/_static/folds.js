// What is folded opens for whoever is led there; one button unfolds all that is read, and folds it again.
const FOLDS = "article details.lr-further, article details.proof, article details.sd-dropdown:not(.quiz):not(.solution)";

function reveal(target) {
  const own = target.matches("section") && target.querySelector(":scope > details.lr-further");
  if (own) own.open = true;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

function aimed() {
  return location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
}

function go() {
  const target = aimed();
  if (!target) return;
  reveal(target);
  target.scrollIntoView();
}

// A link reaches its place also where figures, loaded later, push it down: until the reader scrolls.
let moved = false;
for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(kind, () => { moved = true; }, { once: true, passive: true });
const again = () => { if (!moved) go(); };
go();
addEventListener("load", again);
document.fonts.ready.then(again);
addEventListener("hashchange", go);
// A second click on the same link changes no address.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href*="#"]');
  if (link && link.href === location.href) go();
});

const button = document.querySelector(".lr-unfold");
if (button) {
  const KEY = "lr-unfold";
  const folds = [...document.querySelectorAll(FOLDS)];
  const show = () => {
    const open = folds.every((fold) => fold.open);
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Fold it all again" : "Unfold everything";
  };
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    folds.forEach((fold) => { fold.open = open; });
    try { sessionStorage.setItem(KEY, open ? "open" : ""); } catch { /* storage may be closed to a page: it forgets */ }
  });
  try {
    if (sessionStorage.getItem(KEY)) folds.forEach((fold) => { fold.open = true; });
  } catch { /* as above */ }
  addEventListener("toggle", (event) => folds.includes(event.target) && show(), true);
  show();
  button.classList.add("lr-ready");
  again();
}
