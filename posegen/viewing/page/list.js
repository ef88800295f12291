// List the samples that match the filters. Rows are read a page at a time: to the end with filters, else as far as needed.
import { byId, count, element } from "elements";

const ROWS_AT_ONCE = 60;
const MOST_KEPT = 400;
const MOST_SEARCHED = 200_000;
const SORTS = { seconds: (row) => row.seconds, people: (row) => row.people, speed: (row) => Math.max(0, ...row.speeds) };

/** Returns { next(sample, step), mark(sample) }; `error` is called with what went wrong. */
export function openList(source, error) {
  const { about } = source;
  const pages = Math.ceil(about.samples / about.page);
  const kept = new Map();
  const filters = ["words", "action", "place", "style", "split", "youngest", "oldest", "slowest", "fastest", "shortest", "longest"].map(byId);
  const known = { action: new Set(), place: new Set(), style: new Set(), split: new Set() };
  let matches = [];
  let page = 0;
  let first = 0;
  let searched = 0;
  let shown = 0;
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
      for (const style of row.styles ?? []) addOption("style", style);
      if (row.split) addOption("split", row.split);
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
  const sorted = () => byId("sort").value;
  const exhaustive = () => filtered() || sorted();

  /** Read pages until there are `more` further matches, or all of them for filters and an order. */
  const search = async (more) => {
    const own = ++run;
    shown += more;
    const fits = matcher(Object.fromEntries(filters.map((field) => [field.id, field.value])));
    try {
      while (page < pages && (exhaustive() ? searched < MOST_SEARCHED : matches.length < shown)) {
        const rows = await readPage(page);
        if (own !== run) return;
        page += 1;
        searched += rows.length;
        matches = matches.concat(rows.filter(fits));
        if (!sorted()) show();
      }
    } catch (problem) {
      error(problem);
    }
    if (own === run && sorted()) {
      const [name, down] = sorted().split(" ");
      matches.sort((one, other) => (down ? -1 : 1) * (SORTS[name](one) - SORTS[name](other)));
    }
    if (own === run) show();
  };
  const show = () => {
    const rows = byId("rows");
    rows.append(...matches.slice(rows.childElementCount, shown).map((row) => rowOf(row, row.sample === marked)));
    const all = page >= pages;
    const of = all ? count(about.samples) : `the first ${count(searched)}`;
    byId("found").textContent = filtered() ? `${count(matches.length)} of ${of} samples` : `${count(about.samples)} samples`;
    byId("clear").hidden = !exhaustive();
    byId("more").hidden = all && matches.length <= shown;
    byId("earlier").hidden = first === 0;
  };
  const restart = (from = 0) => {
    [matches, page, first, searched, shown] = [[], from, from, 0, 0];
    byId("rows").replaceChildren();
    byId("rows").scrollTop = 0;
    return search(ROWS_AT_ONCE);
  };
  let timer = 0;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", () => {
    run += 1; // ends a search by the filters before, whose matches would be counted as those of the new ones
    clearTimeout(timer);
    timer = setTimeout(() => restart(), 150);
  });
  byId("filters").addEventListener("reset", () => setTimeout(() => restart()));
  byId("rows").addEventListener("scroll", (event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.target;
    if ((page < pages || shown < matches.length) && scrollTop + clientHeight > scrollHeight - 400) search(ROWS_AT_ONCE);
  });
  byId("more").addEventListener("click", () => search(ROWS_AT_ONCE));
  byId("earlier").addEventListener("click", () => restart());
  restart();

  return {
    /** Return the words that are searched for. */
    words: () => stemsOf(byId("words").value),
    /** Set filters by their names, and search. */
    pick(values) {
      byId("filters").reset();
      for (const [id, value] of Object.entries(values)) {
        if (known[id]) addOption(id, value);
        byId(id).value = value;
      }
      byId("more-filters").open = true;
    },
    /** Return the matching sample before or after another; null if there is none. */
    async next(sample, step) {
      if (!exhaustive()) {
        const other = sample + step;
        return other >= 0 && other < about.samples ? other : null;
      }
      if (sorted()) return matches[matches.findIndex((row) => row.sample === sample) + step]?.sample ?? null;
      const found = step < 0 ? matches.findLast((row) => row.sample < sample) : matches.find((row) => row.sample > sample);
      return found?.sample ?? null;
    },
    mark(sample) {
      marked = sample;
      for (const link of byId("rows").querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
      const link = byId("rows").querySelector(`a[data-sample="${sample}"]`);
      link?.setAttribute("aria-current", "true");
      link?.scrollIntoView({ block: "nearest" });
      // The list begins where an address leads.
      const there = Math.floor(sample / about.page);
      if (!link && !exhaustive() && (there < first || sample >= first * about.page + shown)) {
        restart(there).then(() => byId("rows").querySelector(`a[data-sample="${sample}"]`)?.scrollIntoView({ block: "nearest" }));
      }
    },
  };
}

/** Return the stems of the words of a text: waves, waving and waved are one. */
export function stemsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => {
    const stem = word.length > 4 ? word.replace(/ies$/, "y").replace(/(?:ing|ed|es|s)$/, "") : word.replace(/s$/, "");
    return stem.length > 2 ? stem.replace(/(.)\1$/, "$1").replace(/e$/, "") : stem;
  });
}

/** Return whether the row matches: all words in one caption; a segment within the speeds, an actor within the ages. */
function matcher({ words, action, place, style, split, youngest, oldest, slowest, fastest, shortest, longest }) {
  const all = stemsOf(words);
  const within = (from, to, values) => {
    const [low, high] = [from === "" ? -Infinity : Number(from), to === "" ? Infinity : Number(to)];
    return (from === "" && to === "") || (values ?? []).some((value) => low <= value && value <= high);
  };
  return (row) =>
    (!action || row.actions.includes(action)) &&
    (!place || row.theme === place) &&
    (!style || row.styles?.includes(style)) &&
    (!split || row.split === split) &&
    within(youngest, oldest, row.ages) &&
    within(slowest, fastest, row.speeds) &&
    within(shortest, longest, [row.seconds]) &&
    (!all.length || row.texts.some((text) => {
      const stems = stemsOf(text);
      return all.every((word) => stems.some((stem) => stem.startsWith(word)));
    }));
}

function rowOf(row, current) {
  const text = row.texts[0] ?? "";
  const facts = [row.theme.replaceAll("_", " "), `${row.seconds.toFixed(1)} s`, row.people > 1 ? `${row.people} people` : ""];
  return element("li", {}, element("a", { href: `#sample=${row.sample}`, "data-sample": row.sample, "aria-current": current && "true" },
    element("span", { class: "number", text: row.sample }), element("span", { class: "text", text }),
    element("span", { class: "facts", text: facts.filter(Boolean).join(" · ") })));
}
