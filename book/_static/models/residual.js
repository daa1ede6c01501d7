// The model of the Residual chapter's slider figure. Twin of lib/lrtransfer/residual/slider.py: a test compares them.
"use strict";
{
const STEPS = 6, TUNED = 3, LOW = -12, HIGH = 4, POINTS = 129, FAR = 1e3;

const range = (n) => Array.from({ length: n }, (_, i) => i);
const zeros = (n, m) => range(n).map(() => new Float64Array(m));

/** One direction of travel through the blocks, the stream or the gradient: for every layer the response x to the other
 *  side's noise, the factor q on its own, the coefficient d where it meets the other side, its noise and covariance, and
 *  the solved pair m, v. Rows and columns are times. Symbols and derivation: lrtransfer.residual._linear_fields. */
function side(layers) {
  const n = STEPS + 1, each = () => range(layers).map(() => zeros(n, n));
  const own = { x: each(), q: each(), d: each(), m: each(), v: each(), noise: each(), cov: each() };
  for (const matrix of own.noise) for (const row of matrix) row.fill(1);
  return own;
}

/** A function of numbers that computes each value once: a slider that moves alone costs what depends on it. */
function once(f) {
  const known = new Map();
  return (...numbers) => {
    const key = numbers.join();
    if (!known.has(key)) known.set(key, f(...numbers));
    return known.get(key);
  };
}

/** The two sides for so many layers, used again by every run: a run writes all it reads but zeros and ones. */
const both = once((layers) => [side(layers), side(layers)]);

/** The row vector r (first t entries) times the rows of a matrix: its first k entries. */
function times(r, matrix, t, k) {
  const out = new Float64Array(k);
  for (let s = 0; s < t; s++) for (let j = 0; j < k; j++) out[j] += r[s] * matrix[s][j];
  return out;
}

/** Row t of a covariance f C f', with f known row by row: entries 0 .. t. */
function covariance(row, c, factor, t, k) {
  const half = times(row, c, k, k), out = new Float64Array(t + 1);
  for (let s = 0; s <= t; s++) for (let j = 0; j < k; j++) out[s] += half[j] * factor[s][j];
  return out;
}

function write(matrix, t, values) {
  for (let s = 0; s <= t; s++) matrix[t][s] = matrix[s][t] = values[s];
}

/** Outputs f_0 .. f_T of the linear network at infinite width, gamma_0 = 1, target 1, branches times depth^-a. */
function outputs(lr, depth, a) {
  const square = depth ** (-2 * a), [stream, gradient] = both(depth + 1);
  const c = new Float64Array(STEPS + 1), f = new Array(STEPS + 1).fill(Infinity);
  for (let t = 0; t <= STEPS; t++) {
    for (const own of [stream, gradient]) {
      const forward = own === stream, other = forward ? gradient : stream;
      let r = c;
      for (let i = 0; i <= depth; i++) {
        const at = forward ? i : depth - i, next = forward ? at + 1 : at - 1;
        const q = times(r, other.x[at], t, t + 1), x = times(r, other.q[at], t, t + 1), w = times(r, other.d[at], t, t);
        q[t] += 1;
        own.q[at][t].set(q);
        own.x[at][t].set(x);
        const h = covariance(q, own.noise[at], own.q[at], t, t + 1);
        const h2 = covariance(x, other.noise[at], own.x[at], t, t + 1);
        for (let s = 0; s <= t; s++) h[s] += h2[s];
        write(own.cov[at], t, h);
        if (i === depth) break;
        const m = times(w, own.m[at], t, t + 1), v = times(w, own.v[at], t, t);
        m[t] += 1;
        for (let s = 0; s < t; s++) v[s] += r[s];
        own.m[at][t].set(m);
        own.v[at][t].set(v);
        const noise = covariance(m, own.noise[at], own.m[at], t, t + 1);
        const passed = covariance(v, other.cov[next], own.v[at], t, t);
        for (let s = 0; s <= t; s++) noise[s] += square * (passed[s] + h[s]);
        write(own.noise[next], t, noise);
        r = new Float64Array(t);
        for (let s = 0; s < t; s++) {
          own.d[next][t][s] = square * (x[s] + c[s] * h[s]);
          r[s] = v[s] + own.d[next][t][s];
        }
      }
      if (forward) {
        let value = 0;
        for (let s = 0; s < t; s++) value += stream.x[depth][t][s] + c[s] * stream.cov[depth][t][s];
        if (!Number.isFinite(value)) return f;
        f[t] = value;
        c[t] = lr * (1 - value);
        if (t === STEPS) return f;
      }
    }
  }
  return f;
}

/** Tangent kernel of the untrained network. */
function kernel(depth, a) {
  const b = depth ** (-2 * a);
  return (1 + b) ** depth * (2 + (depth * b) / (1 + b));
}

/** To a thousandth of an octave: where the loss is flat at zero, rounding decides the digits after that. */
const round = (lr) => 2 ** (Math.floor(1e3 * Math.log2(lr) + 0.5) / 1e3);

/** The rate at which the loss after the last step first stops falling: fitting_lr on 64ths of an octave. */
const best = once((a, depth) => {
  const lrs = range(81).map((i) => 2 ** (-1 + i / 64) / kernel(depth, a));
  const rest = lrs.map((lr) => 1 - outputs(lr, depth, a)[STEPS]);
  const size = rest.map(Math.abs);
  for (let i = 0; i + 1 < lrs.length; i++) {
    if (rest[i] > 0 && rest[i + 1] <= 0) {
      const share = Number.isFinite(rest[i + 1]) ? rest[i] / (rest[i] - rest[i + 1]) : 0;
      return round(Math.exp(Math.log(lrs[i]) + share * (Math.log(lrs[i + 1]) - Math.log(lrs[i]))));
    }
    if (i > 0 && rest[i] > 0 && size[i + 1] > size[i] && size[i] <= size[i - 1]) return round(lrs[i]);
  }
  return Infinity;
});

const loss = (f) => ((1 - f) ** 2 / 2 <= FAR ? (1 - f) ** 2 / 2 : Infinity);
const shown = (f) => (Math.abs(f) <= FAR ? f : Infinity);

const octavesFrom = (low) => range(POINTS).map((i) => low + ((HIGH - low) * i) / (POINTS - 1));
const sweep = once((tuned, size, a, low) => octavesFrom(low).map((v) => loss(outputs(tuned * 2 ** v, size, a)[STEPS])));

function transfer({ a, depth, octaves }) {
  const tuned = best(a, TUNED), own = best(a, depth), shift = Math.log2(own / tuned);
  const low = Math.min(LOW, 4 * Math.floor((shift - 2) / 4)), octavesShown = octavesFrom(low);
  const course = (size) => outputs(tuned * 2 ** octaves, size, a);
  const heights = [[own, depth], [tuned, TUNED]].map(([lr, size]) => Math.max(loss(outputs(lr, size, a)[STEPS]), 1e-6));
  const steps = range(STEPS + 1), last = course(depth);
  const names = [`chosen depth, ${depth}`, `depth ${TUNED}`];
  return {
    panels: [
      {
        title: `Loss after ${STEPS} steps`, xlabel: `log2 of rate / best rate at depth ${TUNED}`, ylabel: "loss",
        xlim: [low, HIGH], ylim: [1e-6, 1e2], xlog: false, ylog: true,
        curves: [
          { label: names[0], x: octavesShown, y: sweep(tuned, depth, a, low), points: false },
          { label: names[1], x: octavesShown, y: sweep(tuned, TUNED, a, low), points: false },
          { label: "best rates", x: [shift, 0], y: heights, points: true },
        ],
      },
      {
        title: "Learning at the chosen rate", xlabel: "step t", ylabel: "output f",
        xlim: [0, STEPS], ylim: [-1, 3], xlog: false, ylog: false,
        curves: [
          { label: names[0], x: steps, y: last.map(shown), points: false },
          { label: names[1], x: steps, y: course(TUNED).map(shown), points: false },
          { label: "target", x: [0, STEPS], y: [1, 1], points: false },
        ],
      },
    ],
    summary: summary(a, depth, shift, last[STEPS]),
  };
}

function summary(a, depth, shift, last) {
  const far = Math.abs(shift).toFixed(2);
  const where = depth === TUNED ? `${far} octaves from` : `${far} octaves ${shift > 0 ? "above" : "below"}`;
  const end = Math.abs(last) <= FAR ? `ends at f = ${last.toFixed(3)}` : "diverges";
  return (
    `Branches times L^-${a.toFixed(3)}: the best rate at depth ${depth} is ${where} that at depth ${TUNED}. ` +
    `At the chosen rate the network of depth ${depth} ${end}; the target is 1.`
  );
}

(window.lrModels ??= {}).residual = { transfer };
}
