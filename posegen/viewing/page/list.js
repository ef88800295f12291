// List the samples that match the filters. Rows are read a page at a time, as far as they are needed.
import { byId, count, element } from "elements";

const ROWS_AT_ONCE = 60;
const MOST_KEPT = 400;

/** Returns { next(sample, step), mark(sample) }; `error` is called with what went wrong. */
export function openList(source, error) {
  const { about } = source;
  const pages = Math.ceil(about.samples / about.page);
  const kept = new Map();
  const filters = ["words", "action", "place", "slowest", "fastest"].map(byId);
  const known = { action: new Set(), place: new Set() };
  let matches = [];
  let page = 0;
  let searched = 0;
  let run = 0;
  let marked = null;

  const readPage = async (number) => {
    if (!kept.has(number)) {
      kept.set(number, await source.rows(number));
      if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
      learn(kept.get(number));
    }
    return kept.get(number);
  };
  const learn = (rows) => {
    for (const row of rows) {
      for (const action of row.actions) addOption("action", action);
      if (row.theme) addOption("place", row.theme);
    }
  };
  const addOption = (id, value) => {
    if (known[id].has(value)) return;
    known[id].add(value);
    const select = byId(id);
    const option = element("option", { value, text: value.replaceAll("_", " ") });
    const after = [...select.options].slice(1).find((other) => other.value > value);
    select.insertBefore(option, after ?? null);
  };
  const filtered = () => filters.some((field) => field.value !== "");

  /** Read pages until there are `more` further matches. */
  const search = async (more) => {
    const own = ++run;
    const goal = matches.length + more;
    const fits = matcher(...filters.map((field) => field.value));
    try {
      while (page < pages && matches.length < goal) {
        const rows = await readPage(page);
        if (own !== run) return;
        page += 1;
        searched += rows.length;
        show(rows.filter(fits));
      }
    } catch (problem) {
      error(problem);
    }
  };
  const show = (rows) => {
    matches = matches.concat(rows.map((row) => row.sample));
    byId("rows").append(...rows.map((row) => rowOf(row, row.sample === marked)));
    const all = page >= pages;
    const of = all ? count(about.samples) : `the first ${count(searched)}`;
    byId("found").textContent = filtered() ? `${count(matches.length)} of ${of} samples` : `${count(about.samples)} samples`;
    byId("clear").hidden = !filtered();
    byId("more").hidden = all;
  };
  const restart = () => {
    [matches, page, searched] = [[], 0, 0];
    byId("rows").replaceChildren();
    byId("rows").scrollTop = 0;
    return search(ROWS_AT_ONCE);
  };
  let timer = 0;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", () => {
    run += 1; // ends a search by the filters before, whose matches would be counted as those of the new ones
    clearTimeout(timer);
    timer = setTimeout(restart, 150);
  });
  byId("filters").addEventListener("reset", () => setTimeout(restart));
  byId("rows").addEventListener("scroll", (event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.target;
    if (page < pages && scrollTop + clientHeight > scrollHeight - 400) search(ROWS_AT_ONCE);
  });
  byId("more").addEventListener("click", () => search(ROWS_AT_ONCE));
  restart();

  return {
    /** Return the matching sample before or after another; null if there is none. */
    async next(sample, step) {
      if (!filtered()) {
        const other = sample + step;
        return other >= 0 && other < about.samples ? other : null;
      }
      if (step < 0) return matches.findLast((other) => other < sample) ?? null;
      while (page < pages && !(matches.at(-1) > sample)) {
        const before = page;
        await search(ROWS_AT_ONCE);
        if (page === before) break;
      }
      return matches.find((other) => other > sample) ?? null;
    },
    mark(sample) {
      marked = sample;
      for (const link of byId("rows").querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
      const link = byId("rows").querySelector(`a[data-sample="${sample}"]`);
      link?.setAttribute("aria-current", "true");
      link?.scrollIntoView({ block: "nearest" });
    },
  };
}

/** Return whether rows match: all words in one caption; a segment within the speeds. */
function matcher(words, action, place, slowest, fastest) {
  const all = words.toLowerCase().split(/\s+/).filter(Boolean);
  const [low, high] = [slowest === "" ? 0 : Number(slowest), fastest === "" ? Infinity : Number(fastest)];
  const moves = slowest !== "" || fastest !== "";
  return (row) =>
    (!action || row.actions.includes(action)) &&
    (!place || row.theme === place) &&
    (!moves || row.speeds.some((speed) => low <= speed && speed <= high)) &&
    (!all.length || row.texts.some((text) => {
      const small = text.toLowerCase();
      return all.every((word) => small.includes(word));
    }));
}

function rowOf(row, current) {
  const text = row.texts[0] ?? "";
  const facts = [row.theme.replaceAll("_", " "), `${row.seconds.toFixed(1)} s`, row.people > 1 ? `${row.people} people` : ""];
  return element("li", {}, element("a", { href: `#sample=${row.sample}`, "data-sample": row.sample, "aria-current": current && "true" },
    element("span", { class: "number", text: row.sample }), element("span", { class: "text", text }),
    element("span", { class: "facts", text: facts.filter(Boolean).join(" · ") })));
}
