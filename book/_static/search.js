// Search results show prose: the paragraph with most of the words asked for, the words marked. It replaces a function of
// Sphinx's searchtools.js, which shows code and formulas as they stand in the page.
"use strict";
{
const LENGTH = 240;
const UNREAD = ".cell_input, pre, .math, mjx-container, .headerlink, script, style, svg, table, .lr-checks, nav";

const spelt = (text) => text.toLowerCase().replace(/[\u00b5\u03bc]/g, "mu");

// Titles and entries of the index are compared with what was typed letter by letter: both get one spelling of mu.
const latin = (text) => text.replace(/[\u00b5\u03bc]/g, "mu");
for (const table of [Search._index?.alltitles, Search._index?.indexentries]) {
  for (const [name, places] of Object.entries(table ?? {})) {
    if (latin(name) === name) continue;
    delete table[name];
    table[latin(name)] = [...(table[latin(name)] ?? []), ...places];
  }
}
const perform = Search.performSearch;
Search.performSearch = (query) => perform(latin(query));

/** The stems that Sphinx searches for ("decai"), each as the reader typed it where a word begins like it ("decay"). */
function asked(stems) {
  const typed = splitQuery(spelt(document.querySelector("#search-input, input[name=q]")?.value
    ?? new URLSearchParams(location.search).get("q") ?? ""));
  const stemmer = new Stemmer();
  const whole = typed.filter((word) => !stems.some((stem) => word.startsWith(stem)) && stems.includes(stemmer.stemWord(word)));
  const kept = [...new Set([...stems.filter((stem) => typed.some((word) => word.startsWith(stem))), ...whole])];
  return kept.length ? kept : stems;
}

/** What a paragraph says, with a dash of dots for each formula. */
function words(element) {
  const copy = element.cloneNode(true);
  for (const part of copy.querySelectorAll(UNREAD)) part.replaceWith(part.matches(".math, mjx-container") ? "…" : "");
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** The part of a text around its first hit, cut between words. */
function excerpt(text, terms) {
  const first = Math.min(...terms.map((term) => spelt(text).indexOf(term)).filter((at) => at >= 0), text.length);
  if (text.length <= LENGTH) return text;
  const from = first < LENGTH / 2 ? 0 : text.indexOf(" ", first - LENGTH / 3) + 1;
  const to = text.lastIndexOf(" ", from + LENGTH);
  return (from ? "… " : "") + text.slice(from, to > from ? to : undefined) + (to < text.length ? " …" : "");
}

/** The excerpt as a paragraph, under the name of its section, and the result's link led to that section. */
function marked(text, terms, section) {
  const line = document.createElement("p");
  line.className = "context";
  if (section) {
    const name = document.createElement("strong");
    name.textContent = `${words(section.querySelector("h1, h2, h3, h4"))}: `;
    line.append(name);
  }
  for (const word of text.split(/(?<=\s)|(?=\s)/)) {
    if (terms.some((term) => spelt(word).includes(term))) {
      const mark = document.createElement("mark");
      mark.textContent = word;
      line.append(mark);
    } else line.append(word);
  }
  if (section?.id) {
    setTimeout(() => { // once Sphinx has put the paragraph into the result
      const link = line.closest("li")?.querySelector("a");
      if (link && !new URL(link.href).hash) link.href += `#${section.id}`;
    });
  }
  return line;
}

Search.makeSearchSummary = (html, keywords, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html"), terms = asked([...keywords].map(spelt));
  const root = (anchor && page.querySelector(anchor)) || page.querySelector("article") || page.body;
  let best, most = -1;
  for (const element of root.querySelectorAll("p, li, dd, figcaption")) {
    if (element.closest(".cell_input, nav, .lr-checks")) continue;
    const text = words(element), hits = terms.filter((term) => spelt(text).includes(term)).length;
    if (text.length > 20 && hits > most) [best, most] = [element, hits];
  }
  if (!best) return new DocumentFragment();
  const section = best.closest("section");
  return marked(excerpt(words(best), terms), terms, section?.parentElement.closest("section") ? section : null);
};
}
