// The models of the Depth chapter's slider figures. Twin of lib/lrtransfer/depth/slider.py: a test compares the two.
"use strict";
{
const STEPS = 60, POINTS = 241, ALPHA0 = 0.01, FAR = 1e3;

/** Gradient descent on the scalar chain with equal weights, in u = w / w* (w* at the minimum): one map for all data. */
function iterate(lr, depth) {
  const us = [ALPHA0 ** (1 / depth)];
  for (let t = 0; t < STEPS; t++) {
    const u = us[t], power = u ** (depth - 1);
    const next = u + (lr / depth) * (1 - power * u) * power;
    us.push(Number.isFinite(next) ? next : Infinity);
  }
  return us;
}

const range = (n) => Array.from({ length: n }, (_, i) => i);

function trajectory({ inv_tau, depth, r }) {
  const us = iterate(inv_tau, depth);
  const alphas = us.map((u) => (Number.isFinite(u ** depth) ? u ** depth : Infinity));
  const target = r ** (1 / depth); // the weight at the minimum
  const ws = range(POINTS).map((i) => (1.6 * target * i) / (POINTS - 1));
  const losses = ws.map((w) => 0.5 * (w ** depth - r) ** 2);
  const visited = us.map((u) => target * u);
  const heights = alphas.map((a) => 0.5 * (r * (a - 1)) ** 2);
  const lr = (inv_tau * r ** (-2 + 2 / depth)) / depth;
  return {
    panels: [
      {
        title: "Relative total weight", xlabel: "step t", ylabel: "α(t) = total weight / r",
        xlim: [0, STEPS], ylim: [0, 2], xlog: false, ylog: false,
        curves: [
          { label: "gradient descent", x: range(STEPS + 1), y: alphas, points: false },
          { label: "minimum", x: [0, STEPS], y: [1, 1], points: false },
        ],
      },
      {
        title: "Loss along equal weights", xlabel: "weight of each layer, w", ylabel: "loss",
        xlim: [0, 1.6 * target], ylim: [0, 1.2 * r * r], xlog: false, ylog: false,
        curves: [
          { label: "loss", x: ws, y: losses, points: false },
          { label: "iterates", x: visited, y: heights, points: true },
        ],
      },
    ],
    summary: summary(alphas, lr),
  };
}

function summary(alphas, lr) {
  const last = alphas.slice(-2), eta = `η = ${lr.toPrecision(3)}`;
  if (!Number.isFinite(last[1])) return `${eta}: diverged within ${STEPS} steps.`;
  const distance = Math.max(...last.map((a) => Math.abs(a - 1)));
  if (distance < 1e-3) {
    const over = alphas.some((a) => a > 1 + 1e-9);
    return `${eta}: converged${over ? " after overshooting" : " from below, without overshoot"}.`;
  }
  if (Math.max(...last.map(Math.abs)) > FAR) {
    return `${eta}: runs away, α is ${lrScientific(Math.abs(last[1]))} in size after ${STEPS} steps.`;
  }
  if (last[1] < 1 && last[1] > last[0]) return `${eta}: still climbing after ${STEPS} steps, α = ${last[1].toFixed(3)}.`;
  return `${eta}: not settled after ${STEPS} steps; the last two values of α are ${last[0].toFixed(3)} and ${last[1].toFixed(3)}.`;
}

(window.lrModels ??= {}).depth = { trajectory };
}
