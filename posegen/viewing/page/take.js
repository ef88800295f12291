// Take a sequence along: as lines of Python, as a command, or as arrays in an .npz file.
import { placed } from "source";

/** Return lines of Python that read a variant of a sample of a dataset. */
export const asPython = (path, sample, variant) =>
  `import posegen\n\nsample = posegen.open(${JSON.stringify(path)})[${sample}]\nvariant = sample.dataset.variants.index("${variant}")\njoints = sample.joints[variant]  # actor, frame, joint, axis`;

/** Return the command that draws it. */
export const asCommand = (path, sample, variant) =>
  `posegen show '${path.replaceAll("'", "'\\''")}' --sample ${sample} --variant ${variant} -o sample-${sample}.gif`;

/** Return an .npz file with `joints` [actor, frame, joint, axis] in metres, NaN where absent, and `fps`. */
export function asArrays(variant, blocks, about) {
  const joints = about.joints;
  const values = new Float32Array(variant.actors.length * variant.frames * joints * 3).fill(NaN);
  variant.actors.forEach((actor, number) => {
    const block = blocks[actor.block];
    const metres = placed(block, about.mirror);
    for (const [first, last] of actor.present) {
      for (let frame = first; frame < last; frame++) {
        const from = frame * block.points * 3;
        values.set(metres.subarray(from, from + joints * 3), (number * variant.frames + frame) * joints * 3);
      }
    }
  });
  return zipped({
    "joints.npy": array(values, `${variant.actors.length}, ${variant.frames}, ${joints}, 3`),
    "fps.npy": array(Float32Array.of(variant.fps), ""),
  });
}

/** Return an array as in a .npy file, version 1.0. */
function array(values, shape) {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`;
  const head = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const made = new Uint8Array(10 + head.length + values.byteLength);
  made.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, head.length & 255, head.length >> 8]);
  made.set(new TextEncoder().encode(head), 10);
  made.set(new Uint8Array(values.buffer), 10 + head.length);
  return made;
}

/** Return files as a ZIP archive without compression. */
function zipped(files) {
  const [parts, list] = [[], []];
  let at = 0;
  for (const [name, data] of Object.entries(files)) {
    const letters = new TextEncoder().encode(name);
    // Version 2.0, no flags, stored, 1 January 1980.
    const about = [20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, ...four(crc(data)), ...four(data.length), ...four(data.length), letters.length, 0, 0, 0];
    list.push(Uint8Array.of(0x50, 0x4b, 1, 2, 20, 0, ...about, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...four(at), ...letters));
    const head = Uint8Array.of(0x50, 0x4b, 3, 4, ...about, ...letters);
    parts.push(head, data);
    at += head.length + data.length;
  }
  const size = list.reduce((sum, entry) => sum + entry.length, 0);
  const end = Uint8Array.of(0x50, 0x4b, 5, 6, 0, 0, 0, 0, list.length, 0, list.length, 0, ...four(size), ...four(at), 0, 0);
  return new Blob([...parts, ...list, end], { type: "application/octet-stream" });
}

const four = (number) => [number & 255, (number >>> 8) & 255, (number >>> 16) & 255, number >>> 24];

function crc(data) {
  let rest = -1;
  for (const byte of data) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest >>> 0;
}
