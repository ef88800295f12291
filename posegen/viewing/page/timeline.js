// Show what each body part does, and contacts, over the frames of a variant. A click or a drag seeks.
import { colourOf, element } from "elements";

/** Fill `container`; returns { update(frame) }. */
export function showTimeline(container, variant, contacts, seek) {
  const bars = [];
  const frames = Math.max(variant.frames, 1);
  const head = element("div", { class: "playhead" });
  const place = (made, first, last) => {
    made.style.left = `${(100 * first) / frames}%`;
    made.style.width = `${(100 * (last - first)) / frames}%`;
    bars.push({ made, first, last, on: false });
    return made;
  };
  const row = (name, made, kind) => element("div", { class: `track ${kind}` },
    element("span", { class: "name", text: name }), element("div", { class: "lane" }, ...made));
  const rows = [];
  variant.actors.forEach((actor, number) => {
    if (variant.actors.length > 1) rows.push(element("div", { class: "who", text: `Person ${number + 1}` }));
    for (const [part, runs] of actor.tracks) {
      rows.push(row(part, runs.map(([first, last, label]) => place(
        element("span", { class: label === "stand" ? "run" : `run colour-${colourOf(label)}`, title: `${label}, frames ${first} to ${last - 1}`, text: label }), first, last)), "part"));
    }
    if (actor.objects) {
      rows.push(row("object", actor.objects.intervals.map(([first, last, label]) => place(
        element("span", { class: "run object", title: label, text: label }), first, last)), "part"));
    }
    for (const [name, points] of contactRows(actor, contacts)) {
      rows.push(row(name, points.map(([first, last]) => place(element("span", { class: "touch" }), first, last)), "contact"));
    }
  });
  const lanes = element("div", { class: "lanes" }, ...rows, element("div", { class: "heads" }, head));
  container.replaceChildren(rows.length ? lanes : element("p", { class: "muted", text: "This file has joints alone: no labels, no contacts." }));
  const seekTo = (event) => {
    const box = lanes.querySelector(".heads").getBoundingClientRect();
    seek(Math.floor(((event.clientX - box.left) / box.width) * frames));
  };
  lanes.addEventListener("pointerdown", (event) => {
    if (event.button || event.clientX < lanes.querySelector(".heads").getBoundingClientRect().left) return;
    lanes.setPointerCapture(event.pointerId);
    seekTo(event);
  });
  lanes.addEventListener("pointermove", (event) => lanes.hasPointerCapture(event.pointerId) && seekTo(event));
  return {
    update(frame) {
      head.style.transform = `translateX(${(100 * (frame + 0.5)) / frames}%)`;
      for (const bar of bars) {
        const on = bar.first <= frame && frame < bar.last;
        if (on !== bar.on) {
          bar.on = on;
          bar.made.classList.toggle("now", on);
        }
      }
    },
  };
}

/** Return the contacts that occur, by name; heel and toe of a foot share a row. */
function contactRows(actor, names) {
  const rows = new Map();
  actor.contacts.forEach((intervals, point) => {
    const name = names[point].replace("_heel", "_foot").replace("_toe", "_foot").replaceAll("_", " ");
    if (intervals.length) rows.set(name, [...(rows.get(name) ?? []), ...intervals]);
  });
  return rows;
}
