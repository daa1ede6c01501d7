// Slider figures: figures a reader moves by mouse, touch or keyboard, with no kernel behind them.
//
// The page carries <figure class="lr-slider" data-model="depth.trajectory" data-sliders='[...]'>, written by
// lrtransfer.page.sliders with a picture at the start values. models/depth.js gives lrModels.depth.trajectory, from
// {name: value, ...} to a picture as lrtransfer.page.pictures defines it; everything else about a slider figure is here.
// Plain scripts, not modules: a browser runs them from a folder too.
"use strict";
{
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 340, HEIGHT = 280, LEFT = 58, RIGHT = 10, TOP = 26, BOTTOM = 44;

function element(name, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

/** Map data to pixels along one axis; logarithmic axes map through log10. */
function scale([low, high], [from, to], log) {
  const f = log ? Math.log10 : (x) => x;
  return (x) => from + ((f(x) - f(low)) / (f(high) - f(low))) * (to - from);
}

/** Round tick positions inside the limits: 1-2-5 steps, or whole decades on a logarithmic axis. */
function ticks([low, high], log) {
  const out = [];
  if (log) {
    const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const step = Math.max(1, Math.ceil((b - a) / 6));
    for (let k = a; k <= b; k += step) out.push(10 ** k);
    return out;
  }
  const raw = (high - low) / 5, decade = 10 ** Math.floor(Math.log10(raw));
  const step = decade * [1, 2, 5, 10].find((m) => m * decade >= raw - 1e-12);
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

function format(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(0).replace("e+", "e");
  return String(parseFloat(value.toPrecision(4)));
}

const tick = (value, log) => (log ? power(value) : format(value));

/** The path of a curve; a point that is not finite, or far outside, breaks it. */
function path(curve, x, y, panel) {
  const span = HEIGHT * 40;
  let d = "", pen = "M";
  for (let i = 0; i < curve.x.length; i++) {
    const [px, py] = [x(curve.x[i]), y(curve.y[i])];
    if (!Number.isFinite(px) || !Number.isFinite(py)) { pen = "M"; continue; }
    d += `${pen}${px.toFixed(2)} ${Math.max(-span, Math.min(span, py)).toFixed(2)}`;
    pen = "L";
  }
  return d;
}

let clips = 0;

function drawPanel(panel) {
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lr-panel", "aria-hidden": "true" });
  const x = scale(panel.xlim, [LEFT, WIDTH - RIGHT], panel.xlog);
  const y = scale(panel.ylim, [HEIGHT - BOTTOM, TOP], panel.ylog);
  const [bottom, right] = [HEIGHT - BOTTOM, WIDTH - RIGHT];
  svg.append(element("text", { x: LEFT, y: 15, class: "lr-title" }, panel.title));
  svg.append(element("path", { d: `M${LEFT} ${TOP}V${bottom}H${right}`, class: "lr-axis" }));
  for (const t of ticks(panel.xlim, panel.xlog)) {
    svg.append(element("path", { d: `M${x(t)} ${bottom}v4`, class: "lr-axis" }));
    svg.append(element("text", { x: x(t), y: bottom + 16, class: "lr-tick", "text-anchor": "middle" }, tick(t, panel.xlog)));
  }
  for (const t of ticks(panel.ylim, panel.ylog)) {
    svg.append(element("path", { d: `M${LEFT} ${y(t)}h-4`, class: "lr-axis" }));
    svg.append(element("text", { x: LEFT - 7, y: y(t) + 4, class: "lr-tick", "text-anchor": "end" }, tick(t, panel.ylog)));
  }
  const middle = (LEFT + right) / 2;
  svg.append(element("text", { x: middle, y: HEIGHT - 8, class: "lr-label", "text-anchor": "middle" }, panel.xlabel));
  const turn = `translate(13 ${(TOP + bottom) / 2}) rotate(-90)`;
  svg.append(element("text", { transform: turn, class: "lr-label", "text-anchor": "middle" }, panel.ylabel));

  const clip = `lr-clip-${clips++}`;
  const area = element("clipPath", { id: clip });
  area.append(element("rect", { x: LEFT, y: TOP - 6, width: right - LEFT + 4, height: bottom - TOP + 10 }));
  svg.append(area);
  const marks = element("g", { "clip-path": `url(#${clip})` });
  svg.append(marks);
  panel.curves.forEach((curve, i) => {
    if (!curve.points) {
      marks.append(element("path", { d: path(curve, x, y, panel), class: `lr-curve lr-c${i}` }));
    } else {
      curve.x.forEach((cx, k) => {
        const [px, py] = [x(cx), y(curve.y[k])];
        if (Number.isFinite(px) && Number.isFinite(py)) {
          marks.append(element("circle", { cx: px, cy: py, r: 3, class: `lr-point lr-c${i}` }));
        }
      });
    }
  });
  return svg;
}

function legend(panel) {
  const list = document.createElement("ul");
  list.className = "lr-legend";
  panel.curves.forEach((curve, i) => {
    const item = document.createElement("li");
    const key = element("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" });
    key.append(curve.points
      ? element("circle", { cx: 14, cy: 5, r: 3.5, class: `lr-point lr-c${i}` })
      : element("path", { d: "M0 5H28", class: `lr-curve lr-c${i}` }));
    item.append(key, curve.label);
    list.append(item);
  });
  return list;
}

const raised = (k) => [...String(k)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");

/** 3.6 × 10⁻⁷, for the sentences of the models: the same as lrtransfer.page.pictures.scientific. */
window.lrScientific = (value) => {
  const [digits, k] = value.toExponential(1).split("e").map(Number);
  return `${digits.toFixed(1)} × 10${raised(k)}`;
};

/** Ticks of a logarithmic axis are powers of ten. */
function power(value) {
  const k = Math.round(Math.log10(value));
  return k === 0 ? "1" : `10${raised(k)}`;
}

function draw(figure, picture) {
  const drawing = figure.querySelector(".lr-drawing");
  drawing.replaceChildren(...picture.panels.map((panel) => {
    const box = document.createElement("div");
    box.append(drawPanel(panel), legend(panel));
    return box;
  }));
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", figure.dataset.alt);
  figure.querySelector(".lr-summary [aria-live]").textContent = picture.summary;
}

function control(slider, id, changed) {
  const row = document.createElement("div");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const output = document.createElement("output");
  label.htmlFor = input.id = id;
  label.textContent = slider.label;
  Object.assign(input, { type: "range", min: 0, max: slider.values.length - 1, step: 1 });
  input.value = slider.start;
  output.htmlFor = id;
  const value = () => slider.values[Number(input.value)];
  const show = () => {
    output.textContent = format(value());
    input.setAttribute("aria-valuetext", format(value())); // the value, not its position in the list
  };
  const set = (wanted) => { input.value = slider.values.indexOf(wanted); show(); };
  input.addEventListener("input", () => { show(); changed(); });
  show();
  row.append(label, input, output);
  return { row, value, set };
}

function enliven(figure, index) {
  const [room, name] = figure.dataset.model.split(".");
  const model = window.lrModels[room][name];
  const sliders = JSON.parse(figure.dataset.sliders);
  let waiting = false;
  const later = () => {
    if (waiting) return; // at most one drawing a frame, however fast the slider moves
    waiting = true;
    requestAnimationFrame(() => { waiting = false; redraw(); });
  };
  const controls = sliders.map((slider, k) => control(slider, `lr-slider-${index}-${k}`, later));
  const redraw = () => {
    const settings = Object.fromEntries(sliders.map((slider, k) => [slider.name, controls[k].value()]));
    draw(figure, model(settings));
  };
  for (const button of figure.querySelectorAll(".lr-tries button")) {
    const values = JSON.parse(button.dataset.values);
    button.addEventListener("click", () => {
      sliders.forEach((slider, k) => controls[k].set(values[slider.name]));
      later();
    });
  }
  figure.querySelector(".lr-controls").append(...controls.map((c) => c.row));
  redraw();
  figure.dataset.ready = "true";
}

document.querySelectorAll("figure.lr-slider").forEach(enliven);
}
