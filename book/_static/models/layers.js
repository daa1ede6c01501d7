// The model of the Layers chapter's slider figure. Twin of lib/lrtransfer/layers/slider.py: a test compares the two.

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

export function along({ alpha, steps, h }) {
  const points = rule(h), kappa = h ** (alpha - 1.5), middle = (SPLITS - 1) / 2;
  const splits = range(SPLITS).map((i) => (i - middle) / middle);
  const at = (split, number) => course(kappa * (1 + split), kappa * (1 - split), h, number, points);
  const values = splits.map((split) => at(split, steps)[steps]);
  const balanced = values[middle], ratio = values.map((v) => v / balanced);
  const [equal, split] = [at(0, LAST), at(SPLIT, LAST)];
  const gain = split.map((v, t) => v / equal[t]);
  return {
    panels: [
      {
        title: `Loss along η₁ + η₂, step ${steps}`, xlabel: "split of the rates, δ", ylabel: "loss / loss at equal rates",
        xlim: [-1, 1], ylim: [0, 2], xlog: false, ylog: false,
        curves: [
          { label: "rates (1 + δ, 1 − δ)", x: splits, y: ratio, points: false },
          { label: "balanced", x: [0], y: [1], points: true },
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
    summary: summary(ratio.slice(middle), balanced),
  };
}

function summary(half, balanced) {
  const lowest = Math.min(...half), best = half.findIndex((v) => v <= lowest + 1e-6);
  const text = `Loss at equal rates ${balanced.toFixed(6)}: `;
  if (half[1] > 1 && best === 0) return `${text}a valley, and no split does better.`;
  const kind = half[1] > 1 ? "a valley, but" : "a hill;";
  return `${text}${kind} best at δ = ${((best * 2) / (SPLITS - 1)).toFixed(3)}.`;
}
