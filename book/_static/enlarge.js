// On a narrow screen a figure is drawn so small that its text cannot be read: a tap opens it at its own size.
const READABLE = 0.85; // of its own size

// A figure that has not been loaded yet says its size by its attribute.
function ownWidth(image) {
  return image.naturalWidth || Number(image.getAttribute("width"));
}

function small(image) {
  return image.clientWidth > 0 && image.clientWidth < READABLE * ownWidth(image);
}

function mark() {
  for (const image of document.querySelectorAll("article figure img")) {
    if (image.closest(".lr-drawing, a")) continue;
    const is = small(image);
    image.classList.toggle("lr-enlargeable", is);
    if (is) {
      image.tabIndex = 0;
      image.setAttribute("role", "button");
      image.setAttribute("aria-haspopup", "dialog");
    } else {
      image.removeAttribute("tabindex");
      image.removeAttribute("role");
      image.removeAttribute("aria-haspopup");
    }
  }
}

function open(image) {
  const dialog = document.createElement("dialog");
  dialog.className = "lr-enlarged";
  dialog.setAttribute("aria-label", "Figure at its own size");
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  const box = document.createElement("div");
  box.tabIndex = 0;
  const large = new Image();
  large.src = image.src;
  large.alt = image.alt;
  large.style.width = `${ownWidth(image)}px`;
  large.style.aspectRatio = String(image.clientWidth / image.clientHeight); // has its place before it is loaded
  box.append(large);
  dialog.append(close, box);
  document.querySelector("article").append(dialog);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    image.focus();
  });
  dialog.showModal();
}

function wanted(event) {
  return event.target.classList?.contains("lr-enlargeable") ? event.target : null;
}

document.addEventListener("click", (event) => wanted(event) && open(wanted(event)));
document.addEventListener("keydown", (event) => {
  if (wanted(event) && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    open(wanted(event));
  }
});
addEventListener("load", mark, true); // of the page and of each figure
addEventListener("resize", mark);
addEventListener("toggle", mark, true); // a figure in a closed fold has no size
new MutationObserver(mark).observe(document.documentElement, { attributeFilter: ["data-theme"] });
mark();
