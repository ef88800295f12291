// Draw the height or the speed of a chosen point over the frames of a variant, a line for each actor.
import { byId, element } from "elements";
import { placed } from "source";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [1000, 100];

/** Offer the points in the list of joints. */
export function offerPoints(points) {
  byId("curve-point").append(...points.map((name) => element("option", { value: name, text: name.replaceAll("_", " ") })));
}

/** Draw what is chosen for a variant. */
export function showCurves(variant, blocks, about) {
  const [name, speeds] = [byId("curve-point").value, byId("curve-kind").value === "speed"];
  const point = about.points.indexOf(name);
  byId("curve").hidden = point < 0;
  if (point < 0) return;
  const curves = variant.actors.map((actor) => {
    const block = blocks[actor.block];
    return values(placed(block, about.mirror), block.points * 3, point * 3, variant, actor.present, speeds);
  });
  const most = Math.max(0.1, ...curves.flat().filter(Number.isFinite));
  byId("curve-most").textContent = `${name.replaceAll("_", " ")}: up to ${most.toFixed(2)} ${speeds ? "m/s" : "m above the floor"}`;
  const picture = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" })) picture.setAttribute(key, value);
  curves.forEach((curve, actor) => {
    const line = document.createElementNS(SVG, "path");
    let pen = "M";
    const parts = curve.map((value, frame) => {
      if (!Number.isFinite(value)) return (pen = "M") && "";
      const part = `${pen}${((frame + 0.5) * WIDTH) / curve.length} ${HEIGHT - (Math.max(value, 0) / most) * (HEIGHT - 2) - 1}`;
      pen = "L";
      return part;
    });
    line.setAttribute("d", parts.join(""));
    line.setAttribute("class", `curve-${actor}`);
    picture.append(line);
  });
  byId("curve-lines").replaceChildren(picture);
}

function values(metres, size, at, { frames, fps }, present, speeds) {
  const there = (frame) => present.some(([first, last]) => first <= frame && frame < last);
  return Array.from({ length: frames }, (_, frame) => {
    const before = Math.max(frame - 1, 0);
    if (!there(frame) || !there(before)) return NaN;
    const now = frame * size + at;
    if (!speeds) return metres[now + 1];
    return fps * Math.hypot(...[0, 1, 2].map((axis) => metres[now + axis] - metres[before * size + at + axis]));
  });
}
