// The model of the Stages chapter's slider figure. Twin of lib/lrtransfer/stages/slider.py: a test compares the two.
"use strict";
{
const STAGES = 60, D = 4, CEILING = 1e5, LIMIT = Math.sqrt(1.5) - 0.5;
const SPREAD = [1, 0.6, 0.3, 0.1];
const BASIS = [[0.5, 0.5, 0.5, 0.5], [0.5, -0.5, 0.5, -0.5], [0.5, 0.5, -0.5, -0.5], [0.5, -0.5, -0.5, 0.5]];

const range = (n) => Array.from({ length: n }, (_, i) => i);
const matrix = (entry) => range(D).map((i) => range(D).map((j) => entry(i, j)));
const product = (a, b) => matrix((i, j) => range(D).reduce((sum, k) => sum + a[i][k] * b[k][j], 0));
const plus = (a, b, factor = 1) => matrix((i, j) => a[i][j] + factor * b[i][j]);
const norm = (a) => Math.hypot(...a.flat());

/** The inverse by elimination with pivots. */
function inverse(a) {
  const rows = a.map((row, i) => [...row, ...range(D).map((j) => (i === j ? 1 : 0))]);
  for (let c = 0; c < D; c++) {
    let best = c;
    for (let r = c + 1; r < D; r++) if (Math.abs(rows[r][c]) > Math.abs(rows[best][c])) best = r;
    [rows[c], rows[best]] = [rows[best], rows[c]];
    const pivot = rows[c][c];
    rows[c] = rows[c].map((v) => v / pivot);
    for (let r = 0; r < D; r++) {
      if (r === c) continue;
      const factor = rows[r][c];
      rows[r] = rows[r].map((v, j) => v - factor * rows[c][j]);
    }
  }
  return rows.map((row) => row.slice(D));
}

/** Excess losses over their start and sizes of the error Delta_t, from the errors E = W - W*; infinite once stopped. */
function course(method, teacher, spectrum, beta) {
  let error = matrix((i, j) => (i === j ? 1 : 0) - teacher[i][j]), before = error;
  const falls = [], ratios = [];
  let first = 1;
  for (let t = 0; ; t++) {
    const loss = 0.5 * error.reduce((sum, row) => sum + row.reduce((s, v, j) => s + v * v * spectrum[j], 0), 0);
    if (t === 0) first = loss;
    falls.push(loss / first);
    if (falls[t] > CEILING) {
      const end = Array(STAGES + 1 - t).fill(Infinity);
      return { falls: [...falls.slice(0, t), ...end], ratios: [...ratios, ...end] };
    }
    const step = plus(error, before, -1), size = norm(step);
    const extra = size > 0 ? product(product(step, inverse(plus(before, teacher))), step) : matrix(() => 0);
    if (t > 0) ratios.push(size > 0 ? (beta * norm(extra)) / size : 0);
    if (t === STAGES) return { falls, ratios };
    let ahead = error;
    if (method !== "gd") ahead = plus(error, method === "stacking" ? plus(step, extra) : step, beta);
    before = error;
    error = matrix((i, j) => ahead[i][j] * (1 - spectrum[j]));
  }
}

function excess({ kappa, sigma, beta }) {
  const spectrum = range(D).map((i) => kappa ** (i / 3 - 1));
  const spread = matrix((i, j) => range(D).reduce((sum, k) => sum + BASIS[i][k] * SPREAD[k] * BASIS[j][k], 0));
  const teacher = matrix((i, j) => (i === j ? 1 : 0) + sigma * spread[i][j]);
  const names = { stacking: "stacking", nesterov: "Nesterov", gd: "plain descent" };
  const stages = range(STAGES + 1), falls = {};
  let ratios;
  for (const method of Object.keys(names)) {
    const run = course(method, teacher, spectrum, beta);
    falls[method] = run.falls;
    if (method === "stacking") ratios = run.ratios;
  }
  const s = Math.sqrt(kappa);
  const proof = Math.sqrt((s - 1) / (2 * s * (2 * s - 1) * (4 * s - 3))) / (s + 1);
  return {
    panels: [
      {
        title: "Excess loss over its start", xlabel: "stage t", ylabel: "excess loss / at stage 0",
        xlim: [0, STAGES], ylim: [1e-12, CEILING], xlog: false, ylog: true,
        curves: Object.keys(names).map((m) => ({ label: names[m], x: stages, y: falls[m], points: false })),
      },
      {
        title: "What stacking adds to Nesterov", xlabel: "stage t", ylabel: "size of Δ / size of the step",
        xlim: [0, STAGES], ylim: [1e-8, 1e2], xlog: false, ylog: true,
        curves: [
          { label: "stacking", x: stages.slice(1), y: ratios, points: false },
          { label: "0.72 / √κ", x: [1, STAGES], y: [LIMIT / s, LIMIT / s], points: false },
          { label: "the proof's α", x: [1, STAGES], y: [proof, proof], points: false },
        ],
      },
    ],
    summary: summary(falls, s, beta),
  };
}

function summary(falls, s, beta) {
  const power = lrScientific, end = (m) => power(falls[m][STAGES]);
  const highest = Math.max(...falls.stacking), peak = falls.stacking.indexOf(highest);
  const words =
    `β = ${beta.toFixed(2)} (the theorem's is ${((s - 1) / (s + 1)).toFixed(3)}). After ${STAGES} stages the loss is ` +
    "its start times ";
  const others = `${end("nesterov")} with Nesterov, ${end("gd")} with plain descent.`;
  if (highest === Infinity) {
    return `${words}${others} Stacking is stopped at stage ${peak}: its loss has passed ${power(CEILING)} times its start.`;
  }
  const rise = peak ? ` Stacking first rises to ${power(highest)} at stage ${peak}.` : "";
  return `${words}${end("stacking")} with stacking, ${others}${rise}`;
}

(window.lrModels ??= {}).stages = { excess };
}
