// One formula a line in, one line of MathML out, both as JSON. MathJax reads TeX; browsers set MathML without any script.
"use strict";
const folder = process.argv[2];
require(folder + "/node-main.js")
  .init({ loader: { load: ["input/tex", "adaptors/liteDOM"], paths: { mathjax: folder }, versionWarnings: false } })
  .then((MathJax) => {
    const lines = require("readline").createInterface({ input: process.stdin });
    lines.on("line", (line) => {
      const { tex, display } = JSON.parse(line);
      process.stdout.write(JSON.stringify(MathJax.tex2mml(tex, { display })) + "\n");
    });
  })
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
