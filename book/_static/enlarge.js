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
  const images = [...document.querySelectorAll("article figure img")].filter((image) => !image.closest(".lr-drawing, a") && image.checkVisibility());
  const sizes = images.map(small); // all are measured before one is changed
  images.forEach((image, k) => {
    image.classList.toggle("lr-enlargeable", sizes[k]);
    if (sizes[k]) {
      image.tabIndex = 0;
      image.setAttribute("role", "button");
      image.setAttribute("aria-haspopup", "dialog");
    } else {
      image.removeAttribute("tabindex");
      image.removeAttribute("role");
      image.removeAttribute("aria-haspopup");
    }
  });
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
// Once a frame, however many figures have come: measuring lays out the page.
let due;
const soon = () => { due ??= requestAnimationFrame(() => { due = undefined; mark(); }); };
addEventListener("load", soon, true); // of the page and of each figure
addEventListener("resize", soon);
addEventListener("toggle", soon, true); // a figure in a closed fold has no size
new MutationObserver(soon).observe(document.documentElement, { attributeFilter: ["data-theme"] });
