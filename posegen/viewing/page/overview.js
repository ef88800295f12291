// Show distributions, the evaluation and the provenance of a collection.
import { count, element } from "elements";

const BARS = 24;

/** Fill `container`; a click on a bar calls `pick` with the filters of its samples. */
export function showOverview(container, about, overview, pick) {
  const grid = element("div", { class: "cards" }, card("Provenance", facts(about.provenance)));
  const { evaluation } = overview;
  if (evaluation) grid.append(...checks(evaluation));
  if (overview.samples) {
    grid.append(
      card("Actions", bars(overview.actions, (action) => pick({ action })), `segments of ${count(overview.samples)} samples, without variants`),
      card("Speeds", histogram(overview.speeds, "m/s", (slowest, fastest) => pick({ slowest, fastest })), "segments that travel, by metres per second"),
      card("Lengths", histogram(overview.seconds, "s", (shortest, longest) => pick({ shortest, longest })), "samples, by seconds"),
      card("Themes", bars(overview.themes, (place) => pick({ place })), "samples"),
      card("Styles", bars(overview.styles, (style) => pick({ style })), "actors"),
      card("People", bars(overview.people.map(([people, number]) => [people === "1" ? "1 person" : `${people} people`, number])), "samples"),
    );
  }
  container.replaceChildren(element("h2", { text: about.title }), grid, ...(evaluation ? [plausibility(evaluation)] : []));
}

function card(title, content, note = "") {
  return element("section", { class: "card" }, element("h3", { text: title }),
    ...(note ? [element("p", { class: "muted", text: note })] : []), content);
}

function facts(pairs) {
  return element("dl", { class: "facts" }, ...pairs.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })]));
}

function bars(counts, pick = null) {
  if (!counts.length) return element("p", { class: "muted", text: "none" });
  const most = Math.max(...counts.map(([, number]) => number));
  const shown = counts.slice(0, BARS);
  const rest = counts.slice(BARS);
  const table = element("table", { class: "bars" }, element("tbody", {}, ...shown.map(([label, number]) => element("tr", {},
    element("th", { scope: "row", text: pick ? "" : label }, ...(pick ? [element("button", { type: "button", class: "pick", text: label, click: () => pick(label) })] : [])), element("td", { class: "bar" }, barOf(number / most)), element("td", { text: count(number) })))));
  if (!rest.length) return table;
  const more = element("details", {}, element("summary", { text: `${rest.length} more` }),
    element("p", { class: "muted", text: rest.map(([label, number]) => `${label} ${count(number)}`).join(", ") }));
  return element("div", {}, table, more);
}

function barOf(share) {
  const bar = element("span");
  bar.style.width = `${100 * share}%`;
  return bar;
}

function histogram(bins, unit, pick) {
  const first = bins.findIndex(([, , number]) => number);
  if (first < 0) return element("p", { class: "muted", text: "none" });
  const shown = bins.slice(first);
  const most = Math.max(...shown.map(([, , number]) => number));
  const table = element("table", { class: "columns", "aria-label": `by ${unit}` }, element("tbody", {}, element("tr", {}, ...shown.map(([low, high, number], at) => {
    const bar = element("span");
    bar.style.height = `${(100 * number) / most}%`;
    const label = at % Math.ceil(shown.length / 6) ? "" : String(low);
    const made = element("td", { title: `${low} to ${high} ${unit}: ${count(number)}` }, element("button", { type: "button", class: "pick", "aria-label": `Samples from ${low} to ${high} ${unit}`, click: () => pick(low, high) }, element("span", { class: "column" }, bar)), element("small", { text: label }));
    made.append(element("span", { class: "visually-hidden", text: `${low} to ${high} ${unit}: ${count(number)}` }));
    return made;
  }))));
  table.style.width = `min(100%, ${shown.length * 3}rem)`;
  return table;
}

function checks({ clips, verdict, statements }) {
  const table = figures(["check", "value", "target", "result"], verdict);
  for (const cell of table.querySelectorAll("td:last-child")) cell.className = cell.textContent;
  const cards = [card("Evaluation", table, `${count(clips)} clips, measured by their joints`)];
  if (statements.length) {
    cards.push(card("Statements of captions", figures(["kind", "true", "false", "open"], statements), "by the joints; open: they do not decide"));
  }
  return cards;
}

function plausibility({ clips, measures }) {
  const table = figures(["measure", "median", "95 %", "worst 1 %", "meaning"], measures);
  const made = card("Plausibility", table, `distributions over ${count(clips)} clips`);
  made.classList.add("wide");
  return made;
}

/** Return a table in a box that scrolls. */
function figures(columns, rows) {
  const table = element("table", { class: "figures" },
    element("thead", {}, element("tr", {}, ...columns.map((text) => element("th", { text, scope: "col" })))),
    element("tbody", {}, ...rows.map(([name, ...cells]) => element("tr", {}, element("th", { text: name, scope: "row" }), ...cells.map((text) => element("td", { text }))))));
  return element("div", { class: "scrolled", tabindex: "0", role: "group", "aria-label": columns[0] }, table);
}
