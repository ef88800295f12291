// Start the page: connect the source, the list, the stage, the timeline and the captions, and keep the address up to date.
import { parameterText, showCaptions, showFacts } from "captions";
import { byId, count, element } from "elements";
import { offerPoints, showCurves } from "curves";
import { openList, stemsOf } from "list";
import { showOverview } from "overview";
import { openSource } from "source";
import { Stage } from "stage";
import { asArrays, asCommand, asPython } from "take";
import { showTimeline } from "timeline";

const RATES = ["0.1", "0.25", "0.5", "1", "2"];
const THEMES = ["automatic", "light", "dark"];
const ALL = "all";
const KEPT = 8;

const state = { sample: null, variant: "", frame: 0, playing: false, all: false };
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
let source, stage, list, parts, requested;
const kept = new Map();

// In the frame of a notebook the page has no address of its own.
function setAddress(place) {
  if (location.protocol !== "about:") history.replaceState(null, "", `#${place}`);
}

function complain(problem) {
  byId("message").textContent = problem.message;
  byId("message").hidden = false;
}

/** Remove the message about what is not shown any more. */
function calm() {
  if (stage) byId("message").hidden = true;
  else complain(new Error("This browser has no WebGL, so there is no picture; captions and labels are below."));
}

function remember(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(`posegen-${key}`, value);
    return localStorage.getItem(`posegen-${key}`);
  } catch {
    return null; // the browser keeps nothing for files
  }
}

/** Return a decoded sample; the latest ones are kept. */
function load(number) {
  if (!kept.has(number)) {
    const reading = source.sample(number);
    reading.catch(() => kept.delete(number));
    kept.set(number, reading);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  return kept.get(number);
}

/** Show a sample, a variant of it and a frame. */
async function open(number, { variant = state.all ? ALL : state.variant, frame = null } = {}) {
  requested = number;
  let sample;
  try {
    sample = await load(number);
  } catch (problem) {
    complain(problem);
    return;
  }
  if (requested !== number) return;
  calm();
  for (const own of sample.variants) own.label = [own.name, parameterText(own)].filter(Boolean).join(" · ");
  const first = state.sample === null;
  Object.assign(state, { sample, frame: 0 });
  stage?.setSample(sample);
  byId("number").value = number;
  list.mark(number);
  showVariants(sample.variants);
  choose(variant);
  if (variant && variant !== ALL && variant !== state.variant) complain(new Error(`Sample ${number} has no variant ${variant}.`));
  if (first) stage?.reset();
  seek(frame ?? matchIn(current()));
  play(frame === null && !still);
  list.next(number, 1).then((next) => next !== null && requested === number && load(next)).catch(() => {});
}

/** Return the frame in which the segment begins that has most of the words searched for; 0 without any. */
function matchIn(variant) {
  const words = list.words();
  const rank = ({ text }) => words.filter((word) => stemsOf(text).some((stem) => stem.startsWith(word))).length;
  const best = variant.actors.flatMap((actor) => actor.segments).reduce((one, other) => (rank(other) > (one ? rank(one) : 0) ? other : one), null);
  return best?.start ?? 0;
}

function showVariants(variants) {
  const buttons = variants.map((variant) => element("button", { type: "button", "data-variant": variant.name, title: variant.label, text: variant.name, click: () => choose(variant.name) }));
  if (variants.length > 1) buttons.push(element("button", { type: "button", "data-variant": ALL, text: "all", title: "All variants side by side (a)", click: () => choose(ALL) }));
  byId("variants").replaceChildren(...(variants.length > 1 ? buttons : []));
}

/** Show a variant, or all. */
function choose(name) {
  const { variants } = state.sample;
  state.all = name === ALL && variants.length > 1;
  const found = variants.findIndex((variant) => variant.name === (state.all ? state.variant : name));
  const number = Math.max(found, 0);
  const variant = variants[number];
  state.variant = variant.name;
  for (const button of byId("variants").children) button.setAttribute("aria-pressed", String(button.dataset.variant === (state.all ? ALL : variant.name)));
  stage?.show(state.all ? variants.map((_, at) => at) : [number]);
  byId("marks").hidden = !variant.actors.some((actor) => actor.contacts.length);
  parts = [showTimeline(byId("timeline"), variant, source.about.contacts, jump), showCaptions(byId("captions"), variant, jump)];
  showFacts(byId("facts"), variant);
  showCurves(variant, state.sample.blocks, source.about);
  byId("scrub").max = lastFrame();
  seek(Math.min(state.frame, lastFrame()));
}

const current = () => state.sample.variants.find((variant) => variant.name === state.variant);
const lastFrame = () => Math.max(...(state.all ? state.sample.variants : [current()]).map((variant) => variant.frames)) - 1;

/** Show a frame. */
function seek(frame) {
  state.frame = Math.max(0, Math.min(frame, lastFrame()));
  stage?.setFrame(state.frame);
  for (const part of parts) part.update(state.frame);
  byId("scrub").value = state.frame;
  byId("time").textContent = `${(state.frame / current().fps).toFixed(2)} s · ${state.frame} / ${lastFrame()}`;
  document.documentElement.dataset.frame = state.frame;
  if (!state.playing) note();
}

/** Show a frame and stay there. */
function jump(frame) {
  play(false);
  seek(frame);
}

let noting = 0;
/** Write sample, variant and frame into the address. */
function note() {
  clearTimeout(noting);
  noting = setTimeout(() => {
    const place = new URLSearchParams({ sample: state.sample.sample, variant: state.all ? ALL : state.variant, frame: state.frame });
    if (byId("overview-page").hidden) setAddress(place);
  }, 120);
}

let last = null;
let time = 0;
function play(on) {
  state.playing = on;
  if (on && state.frame >= lastFrame()) seek(0);
  last = null;
  byId("play").textContent = on ? "❚❚" : "▶";
  byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
  document.documentElement.dataset.playing = on;
  if (state.sample) note();
}

function tick(now) {
  if (state.playing && state.sample) {
    time += last === null ? 0 : ((now - last) / 1000) * Number(byId("rate").value);
    last = now;
    const steps = Math.floor(time * current().fps);
    if (steps > 0) {
      time -= steps / current().fps;
      seek(state.frame + steps > lastFrame() ? 0 : state.frame + steps);
    }
  }
  stage?.render();
  requestAnimationFrame(tick);
}

async function step(by) {
  const next = await list.next(state.sample.sample, by);
  if (next !== null) open(next);
}

function toggle(name, value) {
  const on = value ?? byId(name).getAttribute("aria-pressed") !== "true";
  byId(name).setAttribute("aria-pressed", String(on));
  stage?.setOption(name, on);
  if (name === "follow" && stage && state.sample) stage.reset();
}

async function showTab(name) {
  const overview = name === "overview";
  byId("samples").hidden = overview;
  byId("list").hidden = overview;
  byId("overview-page").hidden = !overview;
  byId("tab-samples").setAttribute("aria-pressed", String(!overview));
  byId("tab-overview").setAttribute("aria-pressed", String(overview));
  document.body.classList.toggle("whole", overview);
  if (!overview) {
    if (state.sample) note();
    return;
  }
  play(false);
  clearTimeout(noting);
  setAddress("overview");
  try {
    showOverview(byId("overview-page"), source.about, await source.overview(), pick);
  } catch (problem) {
    byId("overview-page").replaceChildren(element("p", { text: problem.message, role: "alert" }));
  }
}

/** List the samples of a bar of the overview. */
async function pick(values) {
  await showTab("samples");
  list.pick(values);
  byId("filters").dispatchEvent(new Event("input"));
  showList(true);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    byId("taken").textContent = "copied";
  } catch {
    byId("taken").textContent = text; // the browser allows no access to the clipboard
  }
}

function save(content, ending) {
  const link = element("a", { href: URL.createObjectURL(content), download: `sample-${state.sample.sample}-${state.variant}.${ending}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Download a file that the server makes: of several people, an archive of one for each. */
async function downloadFile(ending) {
  byId("taken").textContent = `making .${ending} ...`;
  try {
    const made = await source.file(state.sample.sample, state.variant, ending);
    save(made, current().actors.length > 1 ? `${ending}.zip` : ending);
    byId("taken").textContent = "";
  } catch (problem) {
    byId("taken").textContent = problem.message;
  }
}

function setTheme(name) {
  const root = document.documentElement;
  if (name === "automatic") delete root.dataset.theme;
  else root.dataset.theme = name;
  byId("theme").setAttribute("aria-label", `Colours: ${name}`);
  byId("theme").title = `Colours: ${name}`;
  stage?.recolour();
}

const toggleTab = () => showTab(byId("overview-page").hidden ? "overview" : "samples");
const variantAfter = () => {
  const { variants } = state.sample;
  choose(variants[(variants.indexOf(current()) + 1) % variants.length].name);
};
const rate = (by) => {
  const at = RATES.indexOf(byId("rate").value) + by;
  if (RATES[at]) byId("rate").value = RATES[at];
};
const second = () => Math.round(current().fps);
const KEYS = {
  " ": () => play(!state.playing),
  ArrowLeft: (event) => jump(state.frame - (event.shiftKey ? second() : 1)),
  ArrowRight: (event) => jump(state.frame + (event.shiftKey ? second() : 1)),
  Home: () => jump(0),
  End: () => jump(lastFrame()),
  ",": () => rate(-1),
  ".": () => rate(1),
  j: () => step(1),
  k: () => step(-1),
  v: variantAfter,
  a: () => choose(state.all ? state.variant : ALL),
  f: () => toggle("follow"),
  p: () => toggle("paths"),
  x: () => toggle("marks"),
  c: () => toggle("axes"),
  d: () => toggle("facing"),
  1: () => stage?.lookFrom("front"),
  2: () => stage?.lookFrom("side"),
  3: () => stage?.lookFrom("top"),
  r: () => stage?.reset(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const { tagName, type } = event.target;
  const typing = tagName === "SELECT" || (tagName === "INPUT" && type !== "range");
  if (event.key === "Escape" && tagName === "INPUT") event.target.blur();
  if (typing) return;
  if (event.key === "?") byId("keys").showModal();
  else if (event.key === "o") toggleTab();
  else if (event.key === "/") {
    showList(true);
    byId("words").focus();
  } else if (event.key in KEYS && state.sample && byId("overview-page").hidden) {
    // A focused button is pressed by the space bar, and a list is scrolled by these keys.
    if (event.key === " " && (tagName === "BUTTON" || tagName === "SUMMARY")) return;
    KEYS[event.key](event);
  } else return;
  event.preventDefault();
}

function showList(on) {
  document.body.classList.toggle("listing", on);
  byId("open-list").setAttribute("aria-expanded", String(on));
}

function connect() {
  const click = (id, action) => byId(id).addEventListener("click", action);
  click("play", () => play(!state.playing));
  click("back", () => jump(state.frame - 1));
  click("forward", () => jump(state.frame + 1));
  click("previous", () => step(-1));
  click("next", () => step(1));
  for (const name of ["follow", "paths", "marks", "axes", "facing"]) click(name, () => toggle(name));
  for (const side of ["front", "side", "top"]) click(`from-${side}`, () => stage?.lookFrom(side));
  const { path } = source.about;
  for (const id of ["copy-python", "copy-command"]) byId(id).hidden = !path;
  click("copy-python", () => state.sample && copy(asPython(path, state.sample.sample, state.variant)));
  click("copy-command", () => state.sample && copy(asCommand(path, state.sample.sample, state.variant)));
  click("download", () => state.sample && save(asArrays(current(), state.sample.blocks, source.about), "npz"));
  for (const ending of ["bvh", "glb"]) {
    byId(`download-${ending}`).hidden = !source.file || !source.about.files.includes(ending);
    click(`download-${ending}`, () => state.sample && downloadFile(ending));
  }
  offerPoints(source.about.points);
  for (const id of ["curve-point", "curve-kind"]) byId(id).addEventListener("change", () => state.sample && showCurves(current(), state.sample.blocks, source.about));
  click("tab-samples", () => showTab("samples"));
  click("tab-overview", () => showTab("overview"));
  click("help", () => byId("keys").showModal());
  click("open-list", () => showList(!document.body.classList.contains("listing")));
  click("rows", () => showList(false));
  click("theme", () => {
    const next = THEMES[(THEMES.indexOf(remember("theme") ?? "automatic") + 1) % THEMES.length];
    remember("theme", next);
    setTheme(next);
  });
  byId("scrub").addEventListener("input", () => jump(Number(byId("scrub").value)));
  byId("number").addEventListener("change", () => {
    const number = Math.max(0, Math.min(Math.trunc(Number(byId("number").value)) || 0, source.about.samples - 1));
    open(number);
  });
  byId("number").max = source.about.samples - 1;
  byId("of").textContent = `of ${count(source.about.samples)}`;
  addEventListener("keydown", onKey);
  addEventListener("hashchange", followAddress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => stage?.recolour());
}

/** Show what the address names. */
function followAddress() {
  if (location.hash === "#overview") return showTab("overview");
  const place = new URLSearchParams(location.hash.slice(1));
  const number = Number(place.get("sample") ?? 0);
  if (!byId("overview-page").hidden) showTab("samples");
  if (!Number.isInteger(number) || number < 0 || number >= source.about.samples) {
    complain(new Error(`There is no sample ${place.get("sample")}; there are ${count(source.about.samples)}, numbered from 0.`));
    return state.sample ? undefined : open(0);
  }
  const variant = place.get("variant");
  return open(number, { variant, frame: place.has("frame") ? Math.trunc(Number(place.get("frame"))) || 0 : null });
}

async function start() {
  try {
    source = await openSource();
  } catch (problem) {
    complain(problem);
    return;
  }
  setTheme(THEMES.find((name) => name === remember("theme")) ?? "automatic");
  try {
    stage = new Stage(byId("canvas"), byId("labels"), source.about, (number) => choose(state.all ? state.sample.variants[number].name : ALL));
  } catch {
    calm();
  }
  list = openList(source, complain);
  connect();
  followAddress();
  requestAnimationFrame(tick);
}

start();
