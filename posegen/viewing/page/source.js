// Read rows and samples: from the server of the page, or from the data inside a page that is one file.

/** Return { about, rows(page), sample(number), overview(), file(sample, variant, ending) }; a page that is one file has no `file`. */
export async function openSource() {
  const inside = document.getElementById("data");
  return inside ? embedded(JSON.parse(inside.textContent)) : served(await (await request("about")).json());
}

function served(about) {
  return {
    about,
    rows: async (page) => (await request(`rows/${page}`)).json(),
    sample: async (number) => decode(await inflate((await request(`samples/${number}`)).body)),
    overview: async () => (await request("overview")).json(),
    file: async (sample, variant, ending) => (await request(`files/${sample}/${variant}.${ending}`)).blob(),
  };
}

function embedded(data) {
  return {
    about: data.about,
    rows: async () => data.rows,
    sample: async (number) => {
      const bytes = Uint8Array.from(atob(data.samples[number]), (letter) => letter.charCodeAt(0));
      return decode(await inflate(new Blob([bytes]).stream()));
    },
    overview: async () => data.overview,
  };
}

async function request(path) {
  const response = await fetch(path).catch(() => null);
  if (!response) throw new Error("posegen view has ended. Run it again, and reload this page.");
  if (!response.ok) throw new Error(await response.text());
  return response;
}

async function inflate(stream) {
  return new Uint8Array(await new Response(stream.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/** Return the description of a sample; `blocks` are replaced by Float32Array [frame][point][3] in metres. */
function decode(bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const sample = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const points = bytes.subarray(4 + length);
  const total = points.length / 2;
  const low = points.subarray(0, total);
  const high = points.subarray(total);
  const blocks = [];
  let at = 0;
  for (const block of sample.blocks) {
    if ("copy" in block) {
      blocks.push({ ...blocks[block.copy], ...block });
      continue;
    }
    const size = block.points * 3;
    const metres = new Float32Array(block.frames * size);
    for (let track = 0; track < size; track++) {
      let value = 0;
      let step = 0;
      for (let frame = 0; frame < block.frames; frame++, at++) {
        const number = low[at] | (high[at] << 8);
        step += (number >>> 1) ^ -(number & 1);
        value += step;
        metres[frame * size + track] = ((value << 16) >> 16) / sample.grid;
      }
    }
    blocks.push({ ...block, metres });
  }
  return { ...sample, blocks };
}

/** Return the points of a block in its own place: those of a copy are moved or mirrored. */
export function placed(block, mirror) {
  if (!("copy" in block)) return block.metres;
  const { metres, points, shift, mirrored } = block;
  const moved = new Float32Array(metres.length);
  for (let at = 0; at < metres.length; at += 3) {
    const point = (at / 3) % points;
    const from = mirrored ? at + (mirror[point] - point) * 3 : at;
    moved[at] = (mirrored ? -metres[from] : metres[from]) + shift[0];
    moved[at + 1] = metres[from + 1] + shift[1];
    moved[at + 2] = metres[from + 2] + shift[2];
  }
  return moved;
}
