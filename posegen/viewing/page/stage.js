// Draw skeletons, paths, objects and seats of one or several variants, each in a tile of its own.
import * as THREE from "three";
import { OrbitControls } from "orbit";
import { element } from "elements";
import { placed } from "source";

const RADII = {
  hip: 0.06, knee: 0.054, ankle: 0.042, foot: 0.028, heel: 0.026, toe: 0.026, spine1: 0.078, spine2: 0.08, spine3: 0.082,
  neck: 0.05, collar: 0.05, head: 0.04, shoulder: 0.045, elbow: 0.036, wrist: 0.03,
};
const HEAD = 0.1;
const CROWN = [0.61, 0.2]; // of the ways from neck to head and from spine3 to neck, beyond the head joint
const SHADES = 4;
const HAND = 0.4; // of the forearm, beyond the wrist
const VIEWS = { front: [0, 0.02], side: [Math.PI / 2, 0.02], top: [0, 1.55] }; // turn from the heading, and elevation
const OBJECT_SIZES = { ball: 0.09, food: 0.035, cup: 0.04, book: 0.08, bag: 0.12, box: 0.16, bat: 0.05 };
const UP = new THREE.Vector3(0, 1, 0);
const SMOOTHED = 12; // frames to either side over which the path of the camera is a mean
const PELVIS = 1; // metres, about that of people who stand on the floor; the pelvis of those on stairs is higher

/** The scene of a sample. `onFocus` is called with the number of a variant whose tile is double-clicked. */
export class Stage {
  constructor(canvas, labels, about, onFocus) {
    this.canvas = canvas;
    this.labels = labels;
    this.about = about;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, powerPreference: "low-power" });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.autoClear = false;
    this.scene = new THREE.Scene();
    this.orbit = new THREE.PerspectiveCamera(38, 1, 0.05, 200);
    this.eye = this.orbit.clone();
    this.target = new THREE.Vector3();
    this.controls = new OrbitControls(this.orbit, canvas);
    Object.assign(this.controls, { enableDamping: false, maxPolarAngle: Math.PI / 2 - 0.01, minDistance: 0.6, maxDistance: 40 });
    this.controls.addEventListener("change", () => (this.dirty = true));
    this.options = { follow: true, paths: true, marks: true, axes: false, facing: false };
    this.shown = [];
    this.frame = 0;
    this.figures = [];
    this.light = new THREE.DirectionalLight(0xffffff, 1.6);
    this.hemisphere = new THREE.HemisphereLight(0xffffff, 0x888888, 1.9);
    this.scene.add(this.light, this.light.target, this.hemisphere);
    this.ground = makeGround();
    this.scene.add(this.ground);
    this.axes = new THREE.AxesHelper(1);
    this.axes.position.y = 0.004;
    this.scene.add(this.axes);
    this.shapes = { bone: new THREE.CylinderGeometry(1, 1, 1, 14, 1, true), ball: new THREE.SphereGeometry(1, 20, 14), box: new THREE.BoxGeometry(1, 1, 1) };
    this.materials = {
      body: new THREE.MeshStandardMaterial({ roughness: 0.75 }), shadow: new THREE.MeshBasicMaterial(), seat: new THREE.MeshStandardMaterial({ roughness: 0.9 }),
      object: new THREE.MeshStandardMaterial({ roughness: 0.6 }), path: new THREE.LineBasicMaterial({ transparent: true, opacity: 0.35 }),
      past: new THREE.LineBasicMaterial(),
    };
    canvas.addEventListener("dblclick", (event) => this.tileAt(event) !== null && onFocus(this.tileAt(event)));
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.recolour();
    this.resize();
  }

  /** Take the colours of the page. */
  recolour() {
    // The browser resolves which of the light and dark colours is used.
    const colour = (name) => {
      this.labels.style.color = `var(--${name})`;
      return new THREE.Color(getComputedStyle(this.labels).color);
    };
    this.colours = { contact: colour("contact") };
    for (const side of ["left", "right", "middle"]) {
      this.colours[side] = Array.from({ length: SHADES }, (_, actor) => colour(`${side}-${actor + 1}`));
    }
    this.materials.shadow.color.copy(colour("shadow"));
    this.materials.seat.color.copy(colour("seat"));
    this.materials.object.color.copy(colour("object"));
    this.materials.path.color.copy(colour("path"));
    this.materials.past.color.copy(colour("path"));
    this.ground.material.uniforms.line.value.copy(colour("grid"));
    this.ground.material.uniforms.base.value.copy(colour("floor"));
    this.renderer.setClearColor(colour("sky"));
    this.labels.style.color = "";
    this.dirty = true;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    Object.assign(this, { width, height }); // to ask the page in each frame would take a millisecond
    this.renderer.setSize(width, height, false);
    this.fit();
  }

  setSample(sample) {
    for (const figure of this.figures) {
      figure.group.removeFromParent();
      for (const made of figure.disposed) made.dispose();
    }
    this.figures = sample.variants.map((variant) => this.makeFigure(variant, sample.blocks));
    this.scene.add(...this.figures.map((figure) => figure.group));
  }

  /** Show some variants, by number. The first of them decides from where the camera looks. */
  show(numbers) {
    this.shown = numbers;
    this.labels.replaceChildren();
    this.tileLabels = numbers.map((number) => {
      const label = element("span", { class: "tile-label", text: numbers.length > 1 ? this.figures[number].variant.label : "" });
      this.labels.append(label);
      return label;
    });
    this.personLabels = numbers.map((number) => {
      const actors = this.figures[number].actors;
      const made = actors.map((_, actor) => element("span", { class: "person-label", text: String(actor + 1) }));
      if (actors.length > 1) this.labels.append(...made);
      return actors.length > 1 ? made : [];
    });
    this.fit();
  }

  /** Look at the first actor from the front left, so that everybody is in view. */
  reset() {
    const turn = this.heading(this.figures[this.shown[0]]) + 0.7;
    const distance = (this.fitted = this.distance());
    this.controls.target.set(0, 0.86, 0);
    this.orbit.position.set(Math.sin(turn) * 0.94 * distance, 0.86 + 0.3 * distance, Math.cos(turn) * 0.94 * distance);
    this.controls.update();
    this.dirty = true;
  }

  /** Look at the first actor, as it stands in the first frame, from its front, its left side or above. */
  lookFrom(side) {
    const [turn, elevation] = VIEWS[side];
    const angle = this.heading(this.figures[this.shown[0]]) + turn;
    const distance = (this.fitted = this.distance());
    const flat = Math.cos(elevation) * distance;
    this.controls.target.set(0, 0.86, 0);
    this.orbit.position.set(Math.sin(angle) * flat, 0.86 + Math.sin(elevation) * distance, Math.cos(angle) * flat);
    this.controls.update();
    this.dirty = true;
  }

  /** Return the distance from which everybody is in view, from any side and in a narrow tile. */
  distance() {
    const figure = this.figures[this.shown[0]];
    const [tile] = this.tiles();
    const across = Math.tan((this.fov(tile) * Math.PI) / 360) * (tile.width / tile.height);
    const extent = this.options.follow ? figure.apart : figure.reach;
    return Math.max(3.2, 2.4 + 2.2 * extent, 0.5 / across + extent * Math.hypot(1, 1 / across));
  }

  /** Look at another sample, or in tiles of another size, from the same side and equally near. */
  fit() {
    this.dirty = true;
    if (!this.fitted) return;
    const { target } = this.controls;
    const before = this.fitted;
    this.fitted = this.distance();
    this.orbit.position.sub(target).multiplyScalar(this.fitted / before).add(target);
    this.controls.update();
  }

  /** Return the vertical angle of view in a tile, degrees: larger in a narrow one. */
  fov({ width, height }) {
    const { fov } = this.orbit;
    return width < height ? (360 / Math.PI) * Math.atan(Math.tan((fov * Math.PI) / 360) * Math.min(height / width, 1.6)) : fov;
  }

  /** Return the heading of an actor, of the first one in its first frame unless given, radians from +z towards +x. */
  heading({ actors, variant }, actor = 0, frame = variant.actors[0].present[0]?.[0] ?? 0) {
    const at = (name) => frame * actors[actor].size + this.about.points.indexOf(name) * 3;
    const [left, right] = [at("left_hip"), at("right_hip")];
    const { metres } = actors[actor];
    return Math.atan2(metres[right + 2] - metres[left + 2], metres[left] - metres[right]);
  }

  setOption(name, value) {
    this.options[name] = value;
    this.dirty = true;
  }

  setFrame(frame) {
    this.frame = frame;
    this.dirty = true;
  }

  /** Render if anything has changed. */
  render() {
    if (!this.dirty || !this.figures.length) return;
    this.dirty = false;
    const tiles = this.tiles();
    this.renderer.setScissorTest(false);
    this.renderer.clear();
    this.renderer.setScissorTest(true);
    for (const figure of this.figures) figure.group.visible = false;
    this.axes.visible = this.options.axes;
    tiles.forEach((tile, at) => {
      const figure = this.figures[this.shown[at]];
      const frame = Math.min(this.frame, figure.variant.frames - 1);
      this.pose(figure, frame);
      const box = this.aim(figure, frame, tile);
      figure.group.visible = true;
      this.renderer.setViewport(box.x, box.y, box.width, box.height);
      this.renderer.setScissor(box.x, box.y, box.width, box.height);
      this.renderer.render(this.scene, this.eye);
      figure.group.visible = false;
      this.place(at, figure, tile, box, frame);
    });
  }

  /** Return the tiles of the variants shown, in pixels from the lower left. */
  tiles() {
    const { width, height } = this;
    const number = this.shown.length;
    let best = { columns: 1, size: 0 };
    for (let columns = 1; columns <= number; columns++) {
      const size = Math.min(width / columns, (1.25 * height) / Math.ceil(number / columns));
      if (size > best.size) best = { columns, size };
    }
    const rows = Math.ceil(number / best.columns);
    return this.shown.map((_, at) => {
      const [row, column] = [Math.floor(at / best.columns), at % best.columns];
      const inRow = row === rows - 1 ? number - row * best.columns : best.columns;
      return { x: (column * width) / inRow, y: ((rows - 1 - row) * height) / rows, width: width / inRow, height: height / rows };
    });
  }

  tileAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, box.bottom - event.clientY];
    const at = this.tiles().findIndex((tile) => x >= tile.x && x < tile.x + tile.width && y >= tile.y && y < tile.y + tile.height);
    return at < 0 ? null : this.shown[at];
  }

  /** Point the eye at a figure, and return the part of the tile that it fills. */
  aim(figure, frame, tile) {
    const { eye, orbit } = this;
    const centre = this.options.follow ? figure.path.subarray(frame * 3, frame * 3 + 3) : figure.middle;
    eye.up.copy(UP);
    eye.fov = this.fov(tile);
    eye.aspect = tile.width / tile.height;
    eye.position.fromArray(centre).add(orbit.position);
    eye.lookAt(this.target.fromArray(centre).add(this.controls.target));
    this.ground.position.set(centre[0], 0, centre[2]);
    this.lit(eye, centre);
    return tile;
  }

  lit(eye, centre) {
    eye.updateProjectionMatrix();
    eye.updateMatrixWorld();
    this.light.position.set(centre[0] + 2, 6, centre[2] + 3);
    this.light.target.position.set(centre[0], 0.8, centre[2]);
    this.ground.material.uniforms.centre.value.set(centre[0], centre[2]);
  }

  /** Put the labels of a tile in their places. */
  place(at, figure, tile, box, frame) {
    const { height } = this;
    this.tileLabels[at].style.maxWidth = `${tile.width - 20}px`;
    this.tileLabels[at].style.transform = `translate(${tile.x + 10}px, ${height - tile.y - 8}px) translateY(-100%)`;
    const over = new THREE.Vector3();
    this.personLabels[at].forEach((label, actor) => {
      const { metres, size } = figure.actors[actor];
      const head = frame * size + this.about.points.indexOf("head") * 3;
      over.fromArray(metres, head);
      over.y += 0.24;
      over.project(this.eye);
      const seen = over.z < 1 && Math.abs(over.x) < 1 && Math.abs(over.y) < 1 && isIn(figure.variant.actors[actor].present, frame);
      label.hidden = !seen;
      label.style.transform = `translate(${box.x + ((over.x + 1) / 2) * box.width}px, ${height - box.y - ((over.y + 1) / 2) * box.height}px) translate(-50%, -100%)`;
    });
  }

  makeFigure(variant, blocks) {
    const group = new THREE.Group();
    const { bones, points, mirror } = this.about;
    const actors = variant.actors.map((actor) => {
      const block = blocks[actor.block];
      return { metres: placed(block, mirror), size: block.points * 3 };
    });
    const figure = { variant, group, actors, disposed: [], objects: [] };
    figure.bones = this.instances(figure, this.shapes.bone, (bones.length + 2) * actors.length); // and the hands
    figure.balls = this.instances(figure, this.shapes.ball, points.length * actors.length);
    Object.assign(figure, pathOf(variant, actors));
    figure.arrows = actors.map(() => new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), new THREE.Vector3(), 0.7, this.colours.contact, 0.2, 0.14));
    group.add(...figure.arrows);
    for (const { metres, size } of actors) {
      const along = new Float32Array(variant.frames * 3);
      for (let frame = 0; frame < variant.frames; frame++) along.set([metres[frame * size], 0.006, metres[frame * size + 2]], frame * 3);
      const [whole, past] = [this.materials.path, this.materials.past].map((material) => {
        const shape = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(along, 3));
        figure.disposed.push(shape);
        const line = new THREE.Line(shape, material);
        line.frustumCulled = false;
        group.add(line);
        return line;
      });
      (figure.lines ??= []).push(whole, past);
      (figure.pasts ??= []).push(past);
    }
    for (const [x, y, z, size, thickness] of variant.seats) {
      const box = new THREE.Mesh(this.shapes.box, this.materials.seat);
      box.scale.set(size, thickness, size);
      box.position.set(x, y - thickness / 2, z);
      group.add(box);
    }
    for (const actor of variant.actors) {
      if (!actor.objects) continue;
      const mesh = new THREE.Mesh(this.shapes.ball, this.materials.object);
      group.add(mesh);
      figure.objects.push({ mesh, intervals: actor.objects.intervals, metres: blocks[actor.objects.block].metres ?? placed(blocks[actor.objects.block], mirror) });
    }
    return figure;
  }

  /** Return instances and, below them, their vertical projection onto the floor. */
  instances(figure, shape, number) {
    const made = new THREE.InstancedMesh(shape, this.materials.body, number);
    made.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(number * 3), 3);
    const shadow = new THREE.InstancedMesh(shape, this.materials.shadow, number);
    shadow.instanceMatrix = made.instanceMatrix;
    shadow.scale.y = 1e-4;
    shadow.position.y = 0.003;
    for (const mesh of [made, shadow]) mesh.frustumCulled = false;
    figure.group.add(made, shadow);
    figure.disposed.push(made, shadow);
    return made;
  }

  /** Move a figure to a frame. */
  pose(figure, frame) {
    const { bones, points } = this.about;
    const [sticks, balls] = [figure.bones.instanceMatrix.array, figure.balls.instanceMatrix.array];
    figure.variant.actors.forEach((actor, number) => {
      const { metres, size } = figure.actors[number];
      const start = frame * size;
      const touching = this.touching(actor, frame);
      const there = isIn(actor.present, frame);
      bones.forEach(([from, to], at) => {
        const own = number * (bones.length + 2) + at;
        if (there) setBone(sticks, own * 16, metres, start + from * 3, start + to * 3, radiusOf(points[to]));
        else sticks.fill(0, own * 16, own * 16 + 16);
        const sole = /heel|toe/.test(points[to]) || /toe/.test(points[from]);
        this.colour(figure.bones, own, points[to], number, sole && (touching.has(from) || touching.has(to)));
      });
      ["left", "right"].forEach((side, at) => {
        const own = number * (bones.length + 2) + bones.length + at;
        const [elbow, wrist] = ["elbow", "wrist"].map((joint) => start + points.indexOf(`${side}_${joint}`) * 3);
        const hand = [0, 1, 2].map((axis) => metres[wrist + axis]);
        hand.push(...hand.map((value, axis) => value + HAND * (value - metres[elbow + axis])));
        if (there) setBone(sticks, own * 16, hand, 0, 3, radiusOf(`${side}_wrist`));
        else sticks.fill(0, own * 16, own * 16 + 16);
        this.colour(figure.bones, own, `${side}_wrist`, number, false);
      });
      const arrow = figure.arrows[number];
      arrow.visible = there && this.options.facing;
      const turn = this.heading(figure, number, frame);
      arrow.position.set(metres[start], 0.01, metres[start + 2]);
      arrow.setDirection(this.target.set(Math.sin(turn), 0, Math.cos(turn)));
      points.forEach((name, point) => {
        const own = number * points.length + point;
        const radius = name === "head" ? HEAD : (touching.has(point) ? 1.45 : 1) * radiusOf(name);
        if (there) setBall(balls, own * 16, metres, start + point * 3, radius);
        else balls.fill(0, own * 16, own * 16 + 16);
        if (there && name === "head") {
          raise(balls, own * 16, metres, ...["spine3", "neck", "head"].map((joint) => start + points.indexOf(joint) * 3));
        }
        this.colour(figure.balls, own, name, number, touching.has(point));
      });
    });
    for (const mesh of [figure.bones, figure.balls]) {
      mesh.instanceMatrix.needsUpdate = true;
      mesh.instanceColor.needsUpdate = true;
    }
    for (const line of figure.lines ?? []) line.visible = this.options.paths;
    for (const past of figure.pasts ?? []) past.geometry.setDrawRange(0, frame + 1);
    for (const { mesh, intervals, metres } of figure.objects) {
      const now = intervals.find(([first, last]) => first <= frame && frame < last);
      const kind = now?.[2].split(" ")[0];
      mesh.visible = Boolean(now) && kind !== "chair";
      mesh.scale.setScalar(OBJECT_SIZES[kind] ?? 0.06);
      mesh.position.fromArray(metres, frame * 3);
    }
  }

  /** Return the points in contact. */
  touching(actor, frame) {
    const found = new Set();
    if (this.options.marks) {
      actor.contacts.forEach((intervals, contact) => isIn(intervals, frame) && found.add(this.about.contact_points[contact]));
    }
    return found;
  }

  colour(mesh, at, name, actor, touches) {
    const side = name.startsWith("left") ? "left" : name.startsWith("right") ? "right" : "middle";
    const { r, g, b } = touches ? this.colours.contact : this.colours[side][actor % SHADES];
    const { array } = mesh.instanceColor;
    array[at * 3] = r;
    array[at * 3 + 1] = g;
    array[at * 3 + 2] = b;
  }
}

const radii = new Map();
function radiusOf(name) {
  if (!radii.has(name)) radii.set(name, RADII[name.replace(/^(left|right)_/, "")] ?? 0.05);
  return radii.get(name);
}

function isIn(intervals, frame) {
  for (const [first, last] of intervals) if (first <= frame && frame < last) return true;
  return false;
}

/** Write the matrix of a unit cylinder that joins two points. */
function setBone(out, at, metres, from, to, radius) {
  let [x, y, z] = [metres[to] - metres[from], metres[to + 1] - metres[from + 1], metres[to + 2] - metres[from + 2]];
  const length = Math.hypot(x, y, z) || 1e-6;
  [x, y, z] = [x / length, y / length, z / length];
  // A direction across it: with the vertical axis, or where it is nearly vertical with x.
  let [u, v, w] = Math.abs(y) < 0.9 ? [-z, 0, x] : [0, z, -y];
  const across = Math.hypot(u, v, w);
  [u, v, w] = [u / across, v / across, w / across];
  out[at] = u * radius;
  out[at + 1] = v * radius;
  out[at + 2] = w * radius;
  out[at + 4] = x * length;
  out[at + 5] = y * length;
  out[at + 6] = z * length;
  out[at + 8] = (v * z - w * y) * radius;
  out[at + 9] = (w * x - u * z) * radius;
  out[at + 10] = (u * y - v * x) * radius;
  for (let axis = 0; axis < 3; axis++) out[at + 12 + axis] = (metres[from + axis] + metres[to + axis]) / 2;
  out[at + 15] = 1;
}

function setBall(out, at, metres, point, radius) {
  out[at] = out[at + 5] = out[at + 10] = radius;
  for (let axis = 0; axis < 3; axis++) out[at + 12 + axis] = metres[point + axis];
  out[at + 15] = 1;
}

/** Move the ball of the head from its joint towards the crown: SMPL's head joint lies ahead of the neck and low in the head. */
function raise(out, at, metres, spine, neck, head) {
  for (let axis = 0; axis < 3; axis++) {
    const [upper, lower] = [metres[head + axis] - metres[neck + axis], metres[neck + axis] - metres[spine + axis]];
    out[at + 12 + axis] += CROWN[0] * upper + CROWN[1] * lower;
  }
}

/**
 * Return the smoothed path between all pelvises, its middle and extent, and how far the actors are apart. Its height is 0 while
 * they are as high as on the floor, so that the picture moves up on stairs and not with jumps.
 */
function pathOf(variant, actors) {
  const { frames } = variant;
  const raw = new Float32Array(frames * 3);
  let apart = 0;
  for (let frame = 0; frame < frames; frame++) {
    const there = actors.filter((_, actor) => isIn(variant.actors[actor].present, frame));
    if (!there.length) {
      if (frame) raw.copyWithin(frame * 3, frame * 3 - 3, frame * 3);
      continue;
    }
    for (const { metres, size } of there) {
      for (let axis = 0; axis < 3; axis++) raw[frame * 3 + axis] += metres[frame * size + axis] / there.length;
    }
    for (const { metres, size } of there) {
      apart = Math.max(apart, Math.hypot(metres[frame * size] - raw[frame * 3], metres[frame * size + 2] - raw[frame * 3 + 2]));
    }
  }
  const path = new Float32Array(frames * 3);
  const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (let frame = 0; frame < frames; frame++) {
    const [first, last] = [Math.max(0, frame - SMOOTHED), Math.min(frames, frame + SMOOTHED + 1)];
    for (let axis = 0; axis < 3; axis++) {
      let sum = 0;
      for (let near = first; near < last; near++) sum += raw[near * 3 + axis];
      const mean = sum / (last - first);
      const value = axis === 1 ? Math.max(0, mean - PELVIS) : mean;
      path[frame * 3 + axis] = value;
      low[axis] = Math.min(low[axis], value);
      high[axis] = Math.max(high[axis], value);
    }
  }
  const middle = low.map((value, axis) => (value + high[axis]) / 2);
  const [x, y, z] = low.map((value, axis) => high[axis] - value);
  return { path, middle, apart, reach: Math.hypot(x, 1.6 * y, z) / 2 + apart }; // a picture is wider than high
}

/** Return a floor with lines every metre, and finer ones every half metre, that fades with distance. */
function makeGround() {
  const material = new THREE.ShaderMaterial({
    transparent: true,
    depthWrite: false,
    uniforms: { line: { value: new THREE.Color() }, base: { value: new THREE.Color() }, centre: { value: new THREE.Vector2() } },
    vertexShader: `
      varying vec2 at;
      void main() {
        vec4 world = modelMatrix * vec4(position, 1.0);
        at = world.xz;
        gl_Position = projectionMatrix * viewMatrix * world;
      }`,
    fragmentShader: `
      uniform vec3 line, base;
      uniform vec2 centre;
      varying vec2 at;
      float lines(vec2 place, float width) {
        vec2 away = abs(fract(place - 0.5) - 0.5) / fwidth(place);
        return 1.0 - min(min(away.x, away.y) / width, 1.0);
      }
      void main() {
        float strength = max(0.9 * lines(at, 1.4), 0.4 * lines(at * 2.0, 1.0));
        float near = 1.0 - smoothstep(3.0, 11.0, distance(at, centre));
        gl_FragColor = vec4(mix(base, line, strength), near);
        #include <colorspace_fragment>
      }`,
  });
  const ground = new THREE.Mesh(new THREE.PlaneGeometry(30, 30).rotateX(-Math.PI / 2), material);
  ground.renderOrder = -1;
  return ground;
}
