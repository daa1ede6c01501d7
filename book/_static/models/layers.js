// The model of the Layers chapter's slider figure. Twin of lib/lrtransfer/layers/slider.py: a test compares the two.
"use strict";
{
const HEIGHTS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], ROUNDING = 1e-18;
const SPLITS = 81, SPLIT = 0.3, LAST = 32, PANELS = 24, RATIO = 2;
const NODES = [
  0.1252334085114689, 0.3678314989981802, 0.5873179542866175, 0.7699026741943047, 0.9041172563704749, 0.9815606342467192,
];
const WEIGHTS = [
  0.2491470458134028, 0.2334925365383548, 0.2031674267230659, 0.1600783285433462, 0.1069393259953184, 0.0471753363865118,
];

/** Points z = (re, im) on the unit circle and their weights: panels graded towards z = -1, and the two atoms. */
function rule(h) {
  const points = [{ re: -1, im: 0, weight: 0.5 / h }, { re: 1, im: 0, weight: 0.5 / h }];
  for (let k = 0; k < PANELS; k++) {
    const hi = Math.PI * RATIO ** -k, lo = k === PANELS - 1 ? 0 : hi / RATIO, half = (hi - lo) / 2;
    NODES.forEach((x, i) => {
      for (const side of [1 - x, 1 + x]) {
        const s = lo + half * side; // the angle measured from z = -1
        points.push({ re: -Math.cos(s), im: Math.sin(s), weight: (((h - 1) / h) * half * WEIGHTS[i]) / Math.PI });
      }
    });
  }
  return points;
}

/** Expected loss at t = 0 .. steps for the two rates in units of h^(3/2). */
function course(kappa1, kappa2, h, steps, points) {
  const out = new Array(steps + 1).fill(0);
  for (const { re, im, weight } of points) {
    let ar = h ** -0.25, ai = 0, br = ar, bi = 0; // the two weights of this mode
    for (let t = 0; t <= steps; t++) {
      const er = re - (ar * br - ai * bi), ei = im - (ar * bi + ai * br);
      out[t] += weight * (er * er + ei * ei);
      const nr = ar + kappa1 * (er * br + ei * bi), ni = ai + kappa1 * (ei * br - er * bi);
      [br, bi] = [br + kappa2 * (er * ar + ei * ai), bi + kappa2 * (ei * ar - er * ai)];
      [ar, ai] = [nr, ni];
    }
  }
  return out;
}

const range = (n) => Array.from({ length: n }, (_, i) => i);

/** Half the second derivative in the split, at balance, of the loss after so many steps. */
function bend(kappa, steps, h, points) {
  let total = 0;
  for (const { re, im, weight } of points) {
    let wr = h ** -0.25, wi = 0, dr = 0, di = 0, sr = 0, si = 0; // omega = w +- d delta + s delta^2 / 2
    for (let t = 0; ; t++) {
      const er = re - (wr * wr - wi * wi), ei = im - 2 * wr * wi;
      const fr = dr * dr - di * di - (wr * sr - wi * si), fi = 2 * dr * di - (wr * si + wi * sr);
      if (t === steps) { total += 2 * weight * (er * fr + ei * fi); break; }
      const [ur, ui, vr, vi] = [wr - dr, wi - di, sr / 2 - dr, si / 2 - di];
      const nextD = [dr + kappa * (er * ur + ei * ui), di + kappa * (ei * ur - er * ui)];
      sr += 2 * kappa * (er * vr + ei * vi + fr * wr + fi * wi);
      si += 2 * kappa * (ei * vr - er * vi + fi * wr - fr * wi);
      [wr, wi] = [wr + kappa * (er * wr + ei * wi), wi + kappa * (ei * wr - er * wi)];
      [dr, di] = nextD;
    }
  }
  return total;
}

/** The scale of the left panel: what the near half of the splits stays below, in per cent. */
function scaleOf(change) {
  const near = Math.max(...change.slice(Math.floor(SPLITS / 4), -Math.floor(SPLITS / 4)).map(Math.abs));
  return HEIGHTS.find((step) => near <= step) ?? HEIGHTS.at(-1);
}

function along({ alpha, steps, h }) {
  const points = rule(h), kappa = h ** (alpha - 1.5), middle = (SPLITS - 1) / 2;
  const splits = range(SPLITS).map((i) => (i - middle) / middle);
  const at = (split, number) => course(kappa * (1 + split), kappa * (1 - split), h, number, points);
  const values = splits.map((split) => at(split, steps)[steps]);
  const change = values.map((v) => 100 * (v / values[middle] - 1)), height = scaleOf(change);
  const [equal, split] = [at(0, LAST), at(SPLIT, LAST)];
  const gain = split.map((v, t) => v / equal[t]);
  return {
    panels: [
      {
        title: `Loss along η₁ + η₂, step ${steps}`, xlabel: "split of the rates, δ", ylabel: "change of the loss, %",
        xlim: [-1, 1], ylim: [-height, height], xlog: false, ylog: false,
        curves: [
          { label: "rates (1 + δ, 1 − δ)", x: splits, y: change, points: false },
          { label: "balanced", x: [0], y: [0], points: true },
        ],
      },
      {
        title: "Split 0.3 over balance, step by step", xlabel: "step t", ylabel: "loss / loss at equal rates",
        xlim: [0, LAST], ylim: [0, 2], xlog: false, ylog: false,
        curves: [
          { label: "δ = 0.3", x: range(LAST + 1), y: gain, points: false },
          { label: "this step", x: [steps], y: [gain[steps]], points: true },
        ],
      },
    ],
    summary: summary(values.slice(middle), bend(kappa, steps, h, points)),
  };
}

function summary(half, curvature) {
  const lowest = Math.min(...half), floor = lowest < ROUNDING, limit = floor ? ROUNDING : lowest * (1 + 1e-12);
  const best = half.findIndex((v) => v <= limit), text = `Loss at equal rates ${half[0].toFixed(6)}: `;
  if (best === 0) return `${text}a valley, and no split does better.`;
  const kind = curvature > 0 ? "a valley, but" : "a hill;", split = `δ = ${((best * 2) / (SPLITS - 1)).toFixed(3)}`;
  return `${text}${kind}${floor ? ` from ${split} on the loss is rounding error.` : ` best at ${split}.`}`;
}

(window.lrModels ??= {}).layers = { along };
}
