// Show the captions of a variant and its segments, and light up what describes the present frame.
import { element } from "elements";

/** Fill `container`; returns { update(frame) }. */
export function showCaptions(container, variant, seek) {
  const lit = [];
  const segments = variant.actors.map((actor) => actor.segments);
  const light = (made, targets) => {
    const own = targets.map(([actor, segment]) => segments[actor]?.[segment]).filter(Boolean);
    if (own.length) lit.push({ made, own, on: false });
    return made;
  };
  const captions = variant.captions.map(({ kind, pieces }) =>
    element("div", { class: "caption" }, element("span", { class: "kind", text: kind }), element("p", {},
      ...pieces.map(([text, targets]) => light(element("span", { text, class: targets.length ? "piece" : "" }), targets)))));
  const lists = segments.map((own, actor) => own.length ? element("ol", { class: "segments", "aria-label": "Segments" },
    ...(segments.length > 1 ? [element("li", { class: "who", text: `Person ${actor + 1}` })] : []),
    ...own.map((segment, number) => element("li", {}, light(segmentButton(segment, variant.fps, seek), [[actor, number]])))) : "");
  container.replaceChildren(...captions, ...lists);
  return {
    update(frame) {
      for (const entry of lit) {
        const on = entry.own.some((segment) => segment.start <= frame && frame < segment.end);
        if (on !== entry.on) {
          entry.on = on;
          entry.made.classList.toggle("now", on);
        }
      }
    },
  };
}

function segmentButton(segment, fps, seek) {
  const time = `${(segment.start / fps).toFixed(1)}–${(segment.end / fps).toFixed(1)} s`;
  const speed = segment.speed > 0 ? ` · ${segment.speed.toFixed(2)} m/s` : "";
  return element("button", { type: "button", class: "segment", click: () => seek(segment.start) },
    element("span", { text: segment.text }), element("small", { text: `${time}${speed}` }));
}

/** Fill a description list with what is known of a variant. */
export function showFacts(container, variant) {
  const facts = [];
  const add = (name, value) => value && facts.push(element("dt", { text: name }), element("dd", { text: value }));
  add("theme", (variant.theme ?? "").replaceAll("_", " "));
  add("length", `${variant.frames} frames, ${(variant.frames / variant.fps).toFixed(2)} s at ${variant.fps} FPS`);
  variant.actors.forEach((actor, number) => {
    add(variant.actors.length > 1 ? `person ${number + 1}` : "person", personText(actor));
  });
  if (variant.parameters) add("variant", parameterText(variant) || "as planned");
  if (variant.attempt) add("resampled", `${variant.attempt} times`);
  for (const { kind, action, value } of variant.dropped ?? []) add("dropped", [kind, action, value].filter(Boolean).join(" "));
  container.replaceChildren(...facts);
}

function personText({ person, stature, age, male, left_handed: leftHanded, style }) {
  const texts = [typeof person === "number" ? `no. ${person}` : person];
  if (typeof stature === "number") texts.push(`${stature.toFixed(2)} m`);
  if (typeof age === "number") texts.push(`${Math.round(age)} years`);
  if (typeof male === "boolean") texts.push(male ? "male" : "female");
  if (typeof leftHanded === "boolean") texts.push(leftHanded ? "left-handed" : "right-handed");
  if (style && style !== "neutral") texts.push(style);
  return texts.filter(Boolean).join(", ");
}

/** Return the parameters of a variant that differ from those of the base, in words. */
export function parameterText({ parameters }) {
  if (!parameters) return "";
  const { speed, scale, offset_x: x, offset_z: z, mirrored } = parameters;
  const texts = [];
  if (speed !== undefined && speed !== 1) texts.push(`${speed.toFixed(2)}× as fast`);
  if (scale !== undefined && scale !== 1) texts.push(`${scale.toFixed(2)}× as large`);
  if (x || z) texts.push(`moved by ${x.toFixed(2)}, ${z.toFixed(2)} m`);
  if (mirrored) texts.push("left and right exchanged");
  return texts.join(", ");
}
