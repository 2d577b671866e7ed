// @ts-check
"use strict";

/**
 * Steps and draws a scene on WebGPU, from the data that drystone-web wrote into the page. It records steps as the
 * library does (src/gpu/record.rs): counters of past steps choose between kernels that give the same result, and
 * decide when tables grow. Parts: data, device, recorder, tables and steps, picture, what the visitor does.
 */

/** @typedef {[number, string, string, string]} Binding index, type, buffer in steps of parity 0 and 1 */
/** @typedef {{name: string, entry: string, shader: string, lanes: number, sweep: boolean, bindings: Binding[]}} Kernel */
/** @typedef {[number, "nothing" | "contact" | "block_contact" | "block_color"]} Threads */
/** @typedef {{kernel?: string, scan?: string, rounds?: boolean, wide?: string, tail?: string, flags?: number, threads?: Threads, sweep?: number[] | null}} Work */
/** @typedef {{stage: string, fused: boolean, works: Work[]}} Line */
/** @typedef {{kernel: string, threads: number, sweep: number[] | null, stage: string}} Dispatch */
/** @typedef {{name: string, row: number, rows: number, per: string | null, kept: boolean}} Table */
/** @typedef {[number, string, string, boolean, boolean]} DrawBinding */
/** @typedef {{kind: string, body?: number, value?: number[], point?: number[]}} Command */
/** @typedef {{body: number, point: [number, number], goal: [number, number]}} Held */
/** @typedef {{kind: string, first: number, count: number, shapes: number[], body: [number, number], pose: [number, number], state: [number, number], shape: [number, number], ccd: [number, number][]}} Spare */

/** Steps that may be on their way before another one waits. */
const STEPS_IN_FLIGHT = 3;
/** Spacing of uniforms in a buffer, bytes. */
const UNIFORM_STRIDE = 256;
/** Sweep parameters that a buffer holds. */
const MAX_SWEEPS = 4096;
/** Workgroups in one dimension of a dispatch. */
const MAX_WORKGROUPS = 65535;

// ── data ──

/** Reads data of the page. @param {Element} source @returns {Promise<{json: any, bytes: Uint8Array}>} */
async function readData(source) {
  const text = source.textContent || "";
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length)));
  return { json, bytes: all.subarray(4 * Math.ceil((4 + length) / 4)) };
}

// ── device ──

/** Error whose message is for the visitor. */
class PageError extends Error {}

/** Opens a device with as many storage buffers, and as large ones, as the adapter has. @returns {Promise<{adapter: GPUAdapter, device: GPUDevice}>} */
async function openDevice() {
  if (!navigator.gpu) {
    throw new PageError(window.isSecureContext
      ? "This browser has no WebGPU. Current versions of Chrome, Edge, Safari (26 and later) and, on Windows and Mac, Firefox have it."
      : "Browsers allow WebGPU only over https, on localhost and in files that you open yourself.");
  }
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) {
    throw new PageError("This browser has WebGPU and finds no graphics adapter that it allows. On Linux, Chrome may need chrome://flags/#enable-unsafe-webgpu; otherwise, update the graphics driver.");
  }
  const { limits } = adapter;
  /** @type {GPUFeatureName[]} */
  const requiredFeatures = adapter.features.has("timestamp-query") ? ["timestamp-query"] : [];
  const device = await adapter.requestDevice({
    requiredFeatures,
    requiredLimits: {
      maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxBufferSize: limits.maxBufferSize,
    },
  });
  return { adapter, device };
}

/** Returns true for an adapter that computes on the processor. @param {GPUAdapter} adapter */
function isSoftware(adapter) {
  const { isFallbackAdapter, architecture, description } = /** @type {any} */ (adapter.info || {});
  return Boolean(isFallbackAdapter) || /swiftshader|llvmpipe|lavapipe/i.test(`${architecture} ${description}`);
}

// ── recorder ──

/** Chooses the dispatches of a step: twin of StepRecorder and fused_size in src/gpu/record.rs. */
class Recorder {
  /** @param {any} data @param {boolean} software @param {(kernel: string) => boolean} canRun */
  constructor(data, software, canRun) {
    this.ruleSets = /** @type {Record<string, Record<string, number>>} */ (data.rules);
    this.lines = /** @type {Line[]} */ (data.lines);
    this.fused = /** @type {string[]} */ (data.fused);
    /** Lines and fused kernels of a step in which a body is pulled. @type {{lines: Line[], fused: string[]}} */
    this.pulling = data.pull;
    this.counters = data.counters;
    this.software = software;
    this.canRun = canRun;
  }

  /** Bounds by which kernels and capacities are chosen. */
  get rules() {
    return this.ruleSets[this.software ? "software" : "hardware"];
  }

  /** Statistics of a step. @param {Uint32Array} counters */
  stats(counters) {
    const at = this.counters;
    const starts = counters.subarray(at.color_starts, at.color_starts + this.rules.color_count + 1);
    const colors = Array.from({ length: this.rules.color_count }, (_, color) => Math.max(starts[color + 1] - starts[color], 0));
    const isFull = (counters[at.overflow_bits] & at.overflow_contacts) !== 0;
    const contacts = Math.max(colors.reduce((sum, size) => sum + size, 0), isFull ? counters[at.pairs_found] : 0);
    return { colors, contacts, largest: Math.max(...colors), uncolored: counters[at.uncolored] };
  }

  /** @param {number} contacts */
  blocks(contacts) {
    return Math.ceil(contacts / this.rules.color_block);
  }

  /** @param {Threads} count @param {number} contacts */
  count([least, per], contacts) {
    const blocks = this.blocks(contacts);
    const own = { nothing: 0, contact: contacts, block_contact: blocks * this.rules.color_block, block_color: blocks * this.rules.color_count };
    return Math.max(least, own[per]);
  }

  /** Name of the fused kernel to use, or null. @param {ReturnType<Recorder["stats"]> | null} known @param {number} capacity @param {Line[]} lines @param {string[]} fused */
  fusedKernel(known, capacity, lines, fused) {
    const r = this.rules;
    const contacts = known ? known.contacts : Math.floor(capacity / 2);
    const largest = known ? known.largest : Math.floor(contacts / r.blind_wide_colors);
    const hasHubs = known !== null && known.colors[r.overflow_color] >= r.wide_split;
    let size = null;
    if (Math.max(contacts, r.body_count, r.joint_count) > r.fused || hasHubs) size = null;
    else if (this.software) size = largest <= r.narrow_color ? 0 : null;
    else size = 1 + Number(Math.max(largest, Math.floor(r.body_count / 8)) > r.more_lanes);
    if (size === null || !lines.some((line) => line.fused)) return null;
    return this.canRun(fused[size]) ? fused[size] : null;
  }

  /** Dispatches of a step. @param {Uint32Array | null} counters @param {number} capacity @param {boolean} [apart] one dispatch a sweep, to time them @param {boolean} [pulls] a body is pulled @returns {Dispatch[]} */
  dispatches(counters, capacity, apart = false, pulls = false) {
    const known = counters && this.stats(counters);
    const { lines, fused: names } = pulls ? this.pulling : this;
    const fused = apart ? null : this.fusedKernel(known, capacity, lines, names);
    /** @type {Dispatch[]} */
    const all = [];
    let isFirst = true;
    for (const line of lines) {
      if (line.fused && fused) {
        if (isFirst) all.push({ kernel: fused, threads: 1, sweep: null, stage: "fused" });
        isFirst = false;
        continue;
      }
      for (const work of line.works) this.work(work, line.stage, known, capacity, all);
    }
    return all.filter((dispatch) => dispatch.threads > 0);
  }

  /** @param {Work} work @param {string} stage @param {ReturnType<Recorder["stats"]> | null} known @param {number} capacity @param {Dispatch[]} all */
  work(work, stage, known, capacity, all) {
    const r = this.rules;
    const add = (/** @type {string} */ kernel, /** @type {number} */ threads, /** @type {number[] | null} */ sweep = null) => {
      all.push({ kernel, threads, sweep, stage });
    };
    const threads = work.threads ? this.count(work.threads, capacity) : 0;
    if (work.kernel) {
      add(work.kernel, threads, work.sweep || null);
    } else if (work.scan) {
      if (threads <= r.scan_alone) return add(`scan_blocks/${work.scan}`, 1);
      const lanes = Math.ceil(threads / r.scan_block) * r.color_block;
      add(`scan_reduce/${work.scan}`, lanes);
      add(`scan_blocks of sums/${work.scan}`, 1);
      add(`scan_apply/${work.scan}`, lanes);
    } else if (work.rounds) {
      let [round, left] = [1, Math.min(known ? Math.max(known.uncolored, Math.floor(known.contacts / r.burst)) : capacity, capacity)];
      const lanes = Math.min(left + Math.floor(left / 16), capacity);
      for (; left > r.few_uncolored; round += 1, left = Math.floor(left / 2)) {
        add("color_claim", lanes, [0, 0, 0, round]);
        add("color_commit", lanes, [0, 0, 0, round]);
      }
      add("color_finish", 1, [0, 0, 0, round]);
    } else if (work.wide && work.tail) {
      this.sweep(work.wide, work.tail, work.flags || 0, known, capacity, add);
    }
  }

  /** @param {string} wide @param {string} tail @param {number} flags @param {ReturnType<Recorder["stats"]> | null} known @param {number} capacity @param {(kernel: string, threads: number, sweep?: number[] | null) => void} add */
  sweep(wide, tail, flags, known, capacity, add) {
    const r = this.rules;
    const quarter = Math.floor(capacity / 4);
    const threads = (/** @type {number} */ color) => {
      if (color === r.overflow_color) return null;
      if (known) {
        const size = known.colors[color];
        return size >= r.wide_color ? Math.min(size + Math.floor(size / 16), capacity) : null;
      }
      const isLikely = color < r.blind_wide_colors || color >= r.color_count - 2;
      return quarter >= r.wide_color && isLikely ? quarter : null;
    };
    const split = Math.min(known ? known.colors[r.overflow_color] : Math.floor(capacity / 8), r.max_splits);
    const splitThreads = split >= r.wide_split ? Math.min(split + Math.floor(split / 16), r.max_splits) : null;
    /** @type {{color?: number, threads?: number, split?: number, first?: number, end?: number}[]} */
    const runs = [];
    for (let color = 0; color < r.color_count; color += 1) {
      if (color === r.overflow_color && splitThreads !== null) runs.push({ split: splitThreads });
      const own = threads(color);
      const last = runs[runs.length - 1];
      if (own !== null) runs.push({ color, threads: own });
      else if (last && last.end !== undefined) last.end = color + 1;
      else runs.push({ first: color, end: color + 1 });
    }
    for (const run of runs) {
      if (run.split !== undefined) {
        add("shares_hand_out", 2 * run.split);
        add(wide, run.split, [r.overflow_color, r.overflow_color + 1, flags, 0]);
        add("shares_merge", Math.min(Math.floor(run.split / r.splits_per_merge) + 1, r.max_merges) * r.merge_lanes);
      } else if (run.color !== undefined) {
        add(wide, run.threads || 0, [run.color, run.color + 1, flags, 0]);
      } else {
        add(tail, 1, [run.first || 0, run.end || 0, splitThreads === null ? flags : flags | r.split_done, 0]);
      }
    }
  }
}

// ── tables and steps ──

/** Summary of samples, as `drystone bench` writes it. @param {number[]} samples @param {number[]} first */
function spread(samples, first) {
  const middle = (/** @type {number[]} */ values) => {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted.length > 0 ? 0.5 * (sorted[Math.floor(sorted.length / 2)] + sorted[Math.floor((sorted.length - 1) / 2)]) : 0;
  };
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / Math.max(samples.length, 1);
  return { mean, median: middle(samples), min: Math.min(...samples), max: Math.max(...samples), first: middle(first), samples };
}

// ── model ──

/** @typedef {{copy_gb_s: number, dispatch_us: number}} Speeds */
/** Devices for which the model is drawn beside the visitor's. Their speeds are assumed, not measured. */
const ASSUMED = [{ name: "H200", copy_gb_s: 4000, dispatch_us: 3.5 }];
/** Size of the buffers that are copied, bytes: larger than caches of GPUs. Memory of a software adapter is slow. */
const COPIED = 128 << 20;
const COPIED_BY_SOFTWARE = 8 << 20;
/** Rounds of which the fastest counts, after one that does not. */
const SPEED_ROUNDS = 4;

/** Speeds of a device, measured once. @type {WeakMap<GPUDevice, Promise<Speeds | null>>} */
const measuredSpeeds = new WeakMap();

/** Returns the copy speed, counting bytes read and written, and the cost of an empty dispatch; null if there is no memory to measure. @param {GPUDevice} device @param {string} code @param {boolean} software @returns {Promise<Speeds | null>} */
function speedsOf(device, code, software) {
  const known = measuredSpeeds.get(device);
  if (known) return known;
  const measured = measureSpeeds(device, code, software);
  measuredSpeeds.set(device, measured);
  return measured;
}

/** @param {GPUDevice} device @param {string} code @param {boolean} software @returns {Promise<Speeds | null>} */
async function measureSpeeds(device, code, software) {
  const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
  const bytes = Math.floor(Math.min(software ? COPIED_BY_SOFTWARE : COPIED, maxStorageBufferBindingSize, maxBufferSize) / 4096) * 4096;
  device.pushErrorScope("out-of-memory");
  const [source, target, small] = [bytes, bytes, 256].map((size) => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }));
  const isFull = await device.popErrorScope();
  try {
    if (isFull) return null;
    const module = device.createShaderModule({ code });
    // What waiting for the device costs is in both times, and cancels.
    const mean = async (/** @type {string} */ entryPoint, /** @type {GPUBuffer} */ to, /** @type {number} */ groups, /** @type {number} */ count) => {
      const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } });
      const entries = [source, to].map((buffer, binding) => ({ binding, resource: { buffer } }));
      const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
      const fastest = async (/** @type {number} */ dispatches) => {
        let best = Infinity;
        for (let round = 0; round <= SPEED_ROUNDS; round += 1) {
          const encoder = device.createCommandEncoder();
          const pass = encoder.beginComputePass();
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, group);
          for (let index = 0; index < dispatches; index += 1) pass.dispatchWorkgroups(Math.min(groups, MAX_WORKGROUPS), Math.ceil(groups / MAX_WORKGROUPS));
          pass.end();
          const commands = encoder.finish();
          const began = performance.now();
          device.queue.submit([commands]);
          await device.queue.onSubmittedWorkDone();
          if (round > 0) best = Math.min(best, performance.now() - began);
        }
        return best;
      };
      const [few, many] = [await fastest(count), await fastest(3 * count)];
      return many > few ? (many - few) / (2 * count) : many / (3 * count);
    };
    const copy = await mean("copy", target, bytes / (16 * 256), software ? 1 : 8);
    const dispatch = await mean("touch", small, 1, software ? 200 : 1000);
    return { copy_gb_s: (2e-6 * bytes) / Math.max(copy, 1e-6), dispatch_us: 1e3 * dispatch };
  } finally {
    for (const buffer of [source, target, small]) buffer.destroy();
  }
}

/** Returns the time of a step by the model, ms: bytes at the copy speed, and the dispatches at the cost of empty ones. @param {number} bytes @param {number} dispatches @param {Speeds} speeds */
function modelTime(bytes, dispatches, { copy_gb_s: copy, dispatch_us: cost }) {
  return bytes / (copy * 1e6) + (dispatches * cost) / 1e3;
}

/** A world on the device. */
class World {
  /** @param {any} data @param {Uint8Array} bytes @param {GPUAdapter} adapter @param {GPUDevice} device */
  constructor(data, bytes, adapter, device) {
    this.data = data;
    this.bytes = bytes;
    this.adapter = adapter;
    this.device = device;
    this.software = isSoftware(adapter);
    /** @type {Map<string, Kernel>} */
    this.kernels = new Map(data.kernels.map((/** @type {Kernel} */ kernel) => [kernel.name, kernel]));
    this.recorder = new Recorder(data, this.software, (kernel) => this.fits(kernel));
    /** @type {Map<string, GPUShaderModule>} */
    this.modules = new Map();
    /** @type {Map<string, {pipeline: GPUComputePipeline, layout: GPUBindGroupLayout}>} */
    this.pipelines = new Map();
    /** @type {Map<string, GPUBindGroup[]>} */
    this.groups = new Map();
    /** @type {Map<string, GPUBuffer>} */
    this.buffers = new Map();
    /** @type {Map<string, number>} */
    this.sweeps = new Map();
    this.capacity = data.contact_capacity;
    this.parity = 0;
    this.steps = 0;
    this.dispatchCount = 0;
    /** Counts up when buffers are replaced. */
    this.generation = 0;
    /** Counters of the newest step that has arrived. @type {Uint32Array | null} */
    this.known = null;
    /** That step, and the first step in which all commands have acted. */
    this.knownStep = -1;
    this.asked = 0;
    /** @type {Promise<void>[]} */
    this.flights = [];
    /** @type {GPUBuffer[]} */
    this.spares = [];
    /** @type {Command[]} */
    this.commands = [];
    /** @type {Held | null} */
    this.held = null;
    /** Body and point on the joint that pulls; null while its slot is vacant. @type {string | null} */
    this.pulled = null;
    this.gravity = [...data.gravity];
    /** Effects of the scene's timeline, by the number of steps done before. @type {Map<number, {gravity: [number, number] | null, bytes: [number, number]}>} */
    this.timed = new Map(data.timed.map((/** @type {any} */ timed) => [timed.step, timed]));
    /** Steps that kept only the contacts that fit. @type {number[]} */
    this.overflowed = [];
    /** Bodies added to each list of spare ones. */
    this.added = data.spares.map(() => 0);
    /** @type {Map<string, {ms: number, dispatches: number}>} */
    this.stageTimes = new Map();
    this.shapeRows = this.part(this.contents("shapes")).slice();
    this.bodyRows = this.part(this.contents("bodies")).slice();
    this.vertexRows = this.part(this.contents("vertices"));
    this.sweepLayout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "uniform", hasDynamicOffset: true } }],
    });
    this.sweepBuffer = device.createBuffer({ size: MAX_SWEEPS * UNIFORM_STRIDE, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.sweepGroup = device.createBindGroup({
      layout: this.sweepLayout,
      entries: [{ binding: 0, resource: { buffer: this.sweepBuffer, size: 16 } }],
    });
    this.makeTables(() => true);
    this.fill();
  }

  /** @param {[number, number]} range */
  part([start, length]) {
    return this.bytes.slice(start, start + length);
  }

  /** @param {string} table @returns {[number, number]} */
  contents(table) {
    const found = this.data.contents.find((/** @type {any} */ part) => part.table === table && part.offset === 0);
    return found ? found.bytes : [0, 0];
  }

  /** @param {Table} table @param {number} capacity */
  size(table, capacity) {
    const { color_count: colors, scan_block: block, tile_lanes: lanes } = this.recorder.rules;
    const blockColors = this.recorder.blocks(capacity) * colors;
    /** @type {Record<string, number>} */
    const more = { Contact: capacity, ContactTile: Math.ceil(capacity / lanes), BlockColor: blockColors, BlockColorSum: Math.ceil(blockColors / block) };
    const rows = table.rows + (table.per ? more[table.per] : 0);
    return Math.ceil(Math.max(rows * table.row, table.row, this.recorder.rules.min_buffer) / 16) * 16;
  }

  largestBuffer() {
    return Math.min(this.device.limits.maxStorageBufferBindingSize, this.device.limits.maxBufferSize);
  }

  /** Creates tables, filled with zeros. @param {(table: Table) => boolean} which */
  makeTables(which) {
    for (const table of /** @type {Table[]} */ (this.data.tables).filter(which)) {
      const size = this.size(table, this.capacity);
      if (size > this.largestBuffer()) {
        throw new PageError(`This world needs a buffer of ${size} bytes (${table.name}); the adapter allows ${this.largestBuffer()}.`);
      }
      this.buffers.set(table.name, this.device.createBuffer({
        label: table.name, size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
      }));
    }
    this.groups.clear();
    this.generation += 1;
  }

  /** Writes the uniforms at the present capacity and gravity. */
  writeUniforms() {
    const rules = this.recorder.rules;
    for (const [name, range] of Object.entries(this.data.uniforms)) {
      const contents = this.part(/** @type {[number, number]} */ (name === "program" && this.pulled !== null ? this.data.pull.program : range));
      const view = new DataView(contents.buffer);
      const colors = this.recorder.blocks(this.capacity) * rules.color_count;
      if (name === "params") {
        view.setFloat32(rules.gravity_offset, this.gravity[0], true);
        view.setFloat32(rules.gravity_offset + 4, this.gravity[1], true);
        view.setUint32(rules.contact_capacity_offset, this.capacity, true);
        view.setUint32(rules.color_blocks_offset, this.recorder.blocks(this.capacity), true);
      } else if (name === "scan_colors") {
        view.setUint32(0, colors, true);
      } else if (name === "blocks_colors") {
        view.setUint32(0, Math.ceil(colors / rules.scan_block), true);
      }
      let buffer = this.buffers.get(name);
      if (!buffer) {
        const size = Math.ceil(contents.byteLength / 16) * 16;
        buffer = this.device.createBuffer({ label: name, size, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
        this.buffers.set(name, buffer);
      }
      this.device.queue.writeBuffer(buffer, 0, contents);
    }
  }

  /** Writes the first contents into empty tables. */
  fill() {
    this.writeUniforms();
    for (const { table, offset, bytes } of this.data.contents) {
      this.device.queue.writeBuffer(this.buffer(table), offset, this.part(bytes));
    }
  }

  /** Puts the world back to its start. */
  async restart() {
    await Promise.all(this.flights);
    const encoder = this.device.createCommandEncoder();
    for (const table of this.data.tables) encoder.clearBuffer(this.buffer(table.name));
    this.device.queue.submit([encoder.finish()]);
    this.gravity = [...this.data.gravity];
    [this.parity, this.steps, this.known, this.commands, this.held, this.pulled] = [0, 0, null, [], null, null];
    [this.knownStep, this.asked] = [-1, 0];
    this.overflowed = [];
    this.added = this.data.spares.map(() => 0);
    this.shapeRows = this.part(this.contents("shapes")).slice();
    this.bodyRows = this.part(this.contents("bodies")).slice();
    this.fill();
  }

  /** Frees the memory of the device. */
  destroy() {
    for (const buffer of [...this.buffers.values(), ...this.spares, this.sweepBuffer]) buffer.destroy();
  }

  /** @param {string} name @returns {GPUBuffer} */
  buffer(name) {
    const buffer = this.buffers.get(name);
    if (!buffer) throw new Error(`there is no buffer ${name}`);
    return buffer;
  }

  /** Buffer of a table whose name alternates, as the last step left it. @param {string} name */
  current(name) {
    const alternates = ["contacts", "manifolds", "pair_starts"].includes(name);
    return this.buffer(alternates ? `${name}_${this.parity}` : name);
  }

  /** Returns true if the device allows as many storage buffers as a kernel uses. @param {string} name */
  fits(name) {
    const kernel = this.kernels.get(name);
    const storage = kernel ? kernel.bindings.filter((binding) => binding[1] !== "uniform").length : Infinity;
    return storage <= this.device.limits.maxStorageBuffersPerShaderStage;
  }

  /** @param {string} name */
  module(name) {
    let module = this.modules.get(name);
    if (!module) {
      module = this.device.createShaderModule({ label: name, code: this.data.shaders[name] });
      this.modules.set(name, module);
    }
    return module;
  }

  /** Compiles the kernels that are not compiled yet. @param {Iterable<string>} names */
  async compile(names) {
    const missing = [...new Set(names)].filter((name) => !this.pipelines.has(name));
    await Promise.all(missing.map(async (name) => {
      const kernel = this.kernels.get(name);
      if (!kernel) throw new Error(`there is no kernel ${name}`);
      const layout = this.device.createBindGroupLayout({
        label: name,
        entries: kernel.bindings.map(([binding, type]) => ({
          binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: /** @type {GPUBufferBindingType} */ (type) },
        })),
      });
      const pipeline = await this.device.createComputePipelineAsync({
        label: name,
        layout: this.device.createPipelineLayout({ bindGroupLayouts: kernel.sweep ? [layout, this.sweepLayout] : [layout] }),
        compute: { module: this.module(kernel.shader), entryPoint: kernel.entry },
      });
      this.pipelines.set(name, { pipeline, layout });
    }));
  }

  /** @param {string} name */
  group(name) {
    let groups = this.groups.get(name);
    if (!groups) {
      const kernel = /** @type {Kernel} */ (this.kernels.get(name));
      const { layout } = /** @type {{layout: GPUBindGroupLayout}} */ (this.pipelines.get(name));
      groups = [2, 3].map((parity) => this.device.createBindGroup({
        layout,
        entries: kernel.bindings.map((binding) => ({
          binding: binding[0], resource: { buffer: this.buffer(/** @type {string} */ (binding[parity])) },
        })),
      }));
      this.groups.set(name, groups);
    }
    return groups[this.parity];
  }

  /** @param {GPUComputePassEncoder} pass @param {Dispatch} dispatch */
  execute(pass, { kernel: name, threads, sweep }) {
    const kernel = /** @type {Kernel} */ (this.kernels.get(name));
    const { pipeline } = /** @type {{pipeline: GPUComputePipeline}} */ (this.pipelines.get(name));
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.group(name));
    if (kernel.sweep) pass.setBindGroup(1, this.sweepGroup, [this.sweepOffset(sweep || [0, 0, 0, 0])]);
    const workgroups = Math.ceil(threads / kernel.lanes);
    pass.dispatchWorkgroups(Math.min(workgroups, MAX_WORKGROUPS), Math.ceil(workgroups / MAX_WORKGROUPS));
    this.dispatchCount += 1;
  }

  /** @param {number[]} sweep */
  sweepOffset(sweep) {
    const key = sweep.join();
    let offset = this.sweeps.get(key);
    if (offset === undefined) {
      if (this.sweeps.size >= MAX_SWEEPS) throw new Error("more sweep parameters than the buffer holds");
      offset = this.sweeps.size * UNIFORM_STRIDE;
      this.device.queue.writeBuffer(this.sweepBuffer, offset, new Uint32Array(sweep));
      this.sweeps.set(key, offset);
    }
    return offset;
  }

  /** Grows the contact tables when three quarters are used, as Engine::grow_for_contacts. @param {GPUCommandEncoder} encoder */
  grow(encoder) {
    if (!this.known) return;
    const rules = this.recorder.rules;
    const at = this.data.counters;
    const needed = Math.min(this.known[at.pairs_found] + this.known[at.sleeping_contacts], rules.max_contacts);
    if (needed * 4 < this.capacity * 3) return;
    const lot = rules.contact_lot;
    const wanted = Math.min(Math.ceil(Math.floor((needed * 3) / 2) / lot) * lot, rules.max_contacts);
    const capacity = Math.min(wanted, Math.floor(this.largestBuffer() / rules.contact_row));
    if (capacity <= this.capacity) return;
    const before = new Map(this.buffers);
    this.capacity = capacity;
    this.makeTables((table) => table.per !== null);
    for (const table of /** @type {Table[]} */ (this.data.tables)) {
      const [from, to] = [before.get(table.name), this.buffers.get(table.name)];
      if (table.per === null || !table.kept || !from || !to) continue;
      encoder.copyBufferToBuffer(from, 0, to, 0, Math.min(from.size, to.size));
    }
    this.writeUniforms();
  }

  /** Advances the world by some steps. @param {number} count @param {boolean} [measured] */
  async step(count, measured = false) {
    for (let index = 0; index < count; index += 1) {
      while (this.flights.length >= STEPS_IN_FLIGHT) await this.flights[0];
      await this.stepOnce(measured && index === 0);
    }
  }

  /** Returns true if all bodies sleep and nothing wakes them: then a step changes nothing, and is only counted. */
  isIdle() {
    const { known, data } = this;
    const at = data.counters;
    const isCalm = data.sleeps && known !== null && this.knownStep >= this.asked && this.commands.length === 0 && !this.held && data.paths.count === 0 && !this.timed.has(this.steps);
    return isCalm && known[at.awake] + known[at.was_awake] + known[at.woken] + known[at.slept] === 0;
  }

  /** @param {boolean} measured */
  async stepOnce(measured) {
    if (this.isIdle()) {
      this.steps += 1;
      this.dispatchCount = 0;
      return;
    }
    const encoder = this.device.createCommandEncoder();
    this.grow(encoder);
    const { held } = this;
    const dispatches = this.recorder.dispatches(this.known, this.capacity, measured, held !== null);
    await this.compile(dispatches.map((dispatch) => dispatch.kernel));
    this.pull(held);
    this.parity ^= 1;
    this.dispatchCount = 0;
    const commands = this.takeCommands();
    const joints = this.commandsJoints(commands);
    if (commands.length > 0) await this.compile(joints ? ["command", "command_joints"] : ["command"]);
    const timer = measured ? this.timer(dispatches) : null;
    let pass = encoder.beginComputePass(timer ? timer.writes(0) : {});
    if (commands.length > 0) this.sendCommands(pass, commands, joints);
    dispatches.forEach((dispatch, index) => {
      if (timer && index > 0 && dispatch.stage !== dispatches[index - 1].stage) {
        pass.end();
        pass = encoder.beginComputePass(timer.writes(index));
      }
      this.execute(pass, dispatch);
    });
    pass.end();
    this.steps += 1;
    this.readCounters(encoder, timer);
  }

  /** Submits a step, and reads its counters once they have arrived. @param {GPUCommandEncoder} encoder @param {ReturnType<World["timer"]>} timer */
  readCounters(encoder, timer) {
    const { size } = this.data.counters;
    const staging = this.spares.pop() || this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(this.buffer("counters"), 0, staging, 0, size);
    if (timer) timer.resolve(encoder);
    this.device.queue.submit([encoder.finish()]);
    const step = this.steps - 1;
    const flight = staging.mapAsync(GPUMapMode.READ).then(async () => {
      this.known = new Uint32Array(staging.getMappedRange().slice(0));
      this.knownStep = step;
      staging.unmap();
      this.spares.push(staging);
      const at = this.data.counters;
      if (this.known[at.overflow_bits] !== 0) this.overflowed.push(step);
      if (timer) await timer.read();
    }, () => {}).finally(() => {
      this.flights = this.flights.filter((other) => other !== flight);
    });
    this.flights.push(flight);
  }

  /** Waits for the steps on their way. */
  async settle() {
    while (this.flights.length > 0) await Promise.all(this.flights);
  }

  /** Times of stages, by one pass a stage. @param {Dispatch[]} dispatches */
  timer(dispatches) {
    if (!this.device.features.has("timestamp-query")) return null;
    const starts = dispatches.flatMap((dispatch, index) => (index === 0 || dispatch.stage !== dispatches[index - 1].stage ? [index] : []));
    if (2 * starts.length > 4096) return null;
    const querySet = this.device.createQuerySet({ type: "timestamp", count: 2 * starts.length });
    const bytes = 16 * starts.length;
    const resolved = this.device.createBuffer({ size: bytes, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    const staging = this.device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    return {
      writes: (/** @type {number} */ index) => {
        const pass = 2 * starts.indexOf(index);
        return { timestampWrites: { querySet, beginningOfPassWriteIndex: pass, endOfPassWriteIndex: pass + 1 } };
      },
      resolve: (/** @type {GPUCommandEncoder} */ encoder) => {
        encoder.resolveQuerySet(querySet, 0, 2 * starts.length, resolved, 0);
        encoder.copyBufferToBuffer(resolved, 0, staging, 0, bytes);
      },
      read: async () => {
        await staging.mapAsync(GPUMapMode.READ);
        const times = new BigUint64Array(staging.getMappedRange().slice(0));
        this.stageTimes.clear();
        starts.forEach((start, index) => {
          const ms = Math.max(Number(times[2 * index + 1] - times[2 * index]) / 1e6, 0);
          const { stage } = dispatches[start];
          const before = this.stageTimes.get(stage) || { ms: 0, dispatches: 0 };
          const end = index + 1 < starts.length ? starts[index + 1] : dispatches.length;
          this.stageTimes.set(stage, { ms: before.ms + ms, dispatches: before.dispatches + end - start });
        });
        staging.destroy();
        resolved.destroy();
        querySet.destroy();
      },
    };
  }

  // ── commands ──

  /** Appends a command for the next step. @param {Command} command */
  command(command) {
    const { kind, body = 0, value = [0, 0] } = command;
    this.asked = this.steps;
    if (kind === "gravity") {
      this.gravity = [Number(value[0]), Number(value[1])];
      this.writeUniforms();
      this.commands.push({ kind: "wake_all" });
      return;
    }
    if (!(kind in this.data.kinds)) throw new Error(`there is no command ${kind}: there are gravity, ${Object.keys(this.data.kinds).join(", ")}`);
    if (!Number.isInteger(body) || body < 0 || body >= this.bodyRows.byteLength / this.data.rows.body) throw new Error(`there is no body ${body}`);
    if (![...value, ...(command.point || [])].every(Number.isFinite)) throw new Error(`${kind}: a value is not a finite number`);
    this.commands.push(command);
  }

  /** Takes the commands as rows: those of one body are adjacent and in order, the motion along its path first. */
  takeCommands() {
    const { rows, kinds, paths } = this.data;
    const words = rows.command / 4;
    const given = this.commands.splice(0);
    if (this.held) this.asked = this.steps;
    if (this.held) given.push({ kind: "wake", body: this.held.body });
    const led = this.steps < paths.steps ? paths.count : 0;
    const start = paths.bytes[0] + this.steps * led * rows.command;
    const all = Array.from({ length: led }, (_, index) => new Uint32Array(this.part([start + index * rows.command, rows.command]).buffer));
    for (const { kind, body = 0, value = [0, 0], point = [0, 0] } of given) {
      const row = new Uint32Array(words);
      row.set([kinds[kind], body]);
      new Float32Array(row.buffer).set([value[0], value[1] || 0, point[0], point[1]], 4);
      all.push(row);
    }
    const timed = this.timed.get(this.steps);
    if (timed) {
      this.asked = this.steps;
      if (timed.gravity) {
        this.gravity = [...timed.gravity];
        this.writeUniforms();
      }
      for (let at = 0; at < timed.bytes[1]; at += rows.command) all.push(new Uint32Array(this.part([timed.bytes[0] + at, rows.command]).buffer));
    }
    // Those to joints follow those to bodies.
    const order = (/** @type {Uint32Array} */ row) => (row[0] >= rows.first_joint_command ? 2 ** 32 : 0) + row[1];
    all.sort((a, b) => order(a) - order(b));
    const ints = new Uint32Array(all.length * words);
    all.forEach((row, index) => ints.set(row, index * words));
    return ints;
  }

  /** Returns true if a command is to a joint. @param {Uint32Array<ArrayBuffer>} commands */
  commandsJoints(commands) {
    // Those are the last ones.
    return commands.length > 0 && commands[commands.length - this.data.rows.command / 4] >= this.data.rows.first_joint_command;
  }

  /** @param {GPUComputePassEncoder} pass @param {Uint32Array<ArrayBuffer>} commands @param {boolean} joints some are to joints */
  sendCommands(pass, commands, joints) {
    const buffer = this.device.createBuffer({ size: commands.byteLength, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
    this.device.queue.writeBuffer(buffer, 0, commands);
    this.buffers.set("commands", buffer);
    for (const kernel of joints ? ["command", "command_joints"] : ["command"]) {
      this.groups.delete(kernel);
      this.execute(pass, { kernel, threads: commands.byteLength / this.data.rows.command, sweep: null, stage: "command" });
    }
  }

  /** Pulls a body from the next step on. @param {Held} held */
  hold(held) {
    const kinds = new Uint32Array(this.bodyRows.buffer);
    const { rows } = this.data;
    const count = this.bodyRows.byteLength / rows.body;
    if (!Number.isInteger(held.body) || held.body < 0 || held.body >= count || kinds[(held.body * rows.body) / 4 + rows.body_kind] !== rows.dynamic) throw new Error(`there is no dynamic body ${held.body}`);
    if (![...held.point, ...held.goal].every(Number.isFinite)) throw new Error("pull: a value is not a finite number");
    this.held = held;
  }

  /** Puts the joint that pulls on a body, moves its target, or takes it away. @param {Held | null} held */
  pull(held) {
    const { pull } = this.data;
    const { queue } = this.device;
    const pulled = held && [held.body, ...held.point].join();
    const joint = pull.slot * pull.joint_bytes;
    if (held && pulled === this.pulled) {
      queue.writeBuffer(this.buffer("joints"), joint + pull.anchor_a, new Float32Array(held.goal));
    }
    if (pulled === this.pulled) return;
    const data = this.part(pull.joint);
    if (held) {
      new Uint32Array(data.buffer).set([held.body, held.body], pull.body_a);
      new Float32Array(data.buffer).set(held.goal, pull.anchor_a / 4);
      new Float32Array(data.buffer).set(held.point, pull.anchor_b);
      const row = this.part(pull.row);
      const inverse = new Float32Array(this.bodyRows.buffer)[(held.body * this.data.rows.body) / 4 + this.data.rows.inv_mass];
      new Float32Array(row.buffer)[pull.max_impulse] = pull.max_speed_change / Math.max(inverse, 1e-30);
      queue.writeBuffer(this.buffer("joint_rows"), pull.first_row * pull.row_bytes, row);
      queue.writeBuffer(this.buffer("joint_impulses"), 8 * pull.first_row, new Float32Array(2));
      queue.writeBuffer(this.buffer("joint_states"), pull.state_bytes * pull.slot, new Uint8Array(pull.state_bytes));
    } else {
      // As in the tables at the start.
      const [first] = this.contents("joints");
      data.set(this.bytes.subarray(first + joint, first + joint + pull.joint_bytes));
    }
    queue.writeBuffer(this.buffer("joints"), joint, data);
    for (const [word, own, vacant] of pull.words) queue.writeBuffer(this.buffer("joint_starts"), 4 * word, new Uint32Array([held ? own : vacant]));
    this.pulled = pulled;
    this.writeUniforms();
  }

  /** Adds a body of a kind; returns its index, or null if all spare ones are in use. @param {string} kind @param {[number, number]} position @param {[number, number]} velocity */
  add(kind, position, velocity) {
    const which = this.data.spares.findIndex((/** @type {Spare} */ spare) => spare.kind === kind);
    const spare = /** @type {Spare} */ (this.data.spares[which]);
    if (!spare || this.added[which] >= spare.count) return null;
    const turn = this.added[which];
    this.added[which] += 1;
    this.asked = this.steps;
    const { rows } = this.data;
    const [body, shape] = [spare.first + turn, spare.shapes[turn]];
    const pose = this.part(spare.pose);
    new Float32Array(pose.buffer).set(position);
    const state = this.part(spare.state);
    new Float32Array(state.buffer).set(velocity, rows.velocity);
    const own = this.part(spare.shape);
    new Uint32Array(own.buffer)[rows.shape_body] = body;
    const bodyRow = this.part(spare.body);
    this.shapeRows.set(own, shape * rows.shape);
    this.bodyRows.set(bodyRow, body * rows.body);
    const write = (/** @type {string} */ table, /** @type {number} */ offset, /** @type {Uint8Array<ArrayBuffer>} */ bytes) => {
      this.device.queue.writeBuffer(this.buffer(table), offset, bytes);
    };
    write("bodies", body * rows.body, bodyRow);
    write("poses", body * rows.pose, pose);
    write("states", body * rows.state, state);
    write("shapes", shape * rows.shape, own);
    write("ccd_bodies", shape * spare.ccd[turn][1], this.part(spare.ccd[turn]));
    return body;
  }

  /** Times steps from the start, in several repeats, as `drystone bench` does. @param {number} steps @param {number} repeats */
  async bench(steps, repeats) {
    const { data } = this;
    /** @type {number[]} */
    const samples = [];
    /** @type {number[]} */
    const first = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      await this.restart();
      const began = performance.now();
      await this.step(1);
      await this.settle();
      const then = performance.now();
      first.push(then - began);
      await this.step(steps);
      await this.settle();
      samples.push((performance.now() - then) / steps);
    }
    const counters = this.counters();
    const ms = spread(samples, first);
    const speeds = await speedsOf(this.device, data.model.kernels, this.software);
    const moved = this.moved();
    let bytes = 0;
    for (const buffer of this.buffers.values()) bytes += buffer.size;
    const info = /** @type {any} */ (this.adapter.info || {});
    const name = info.description || [info.vendor, info.architecture].filter(Boolean).join(" ") || "unknown";
    const adapter = { name, type: this.software ? "cpu" : "other", driver: "WebGPU" };
    const row = {
      scene: data.bench.scene, size: data.bench.dynamic, backend: "gpu", adapter, version: data.bench.version, steps,
      dt: data.dt, substeps: data.bench.substeps, mode: data.bench.mode, bodies: data.bodies, shapes: data.bench.shapes,
      joints: data.joints, contacts: counters.touching, dispatches_per_step: counters.dispatches,
      device_bytes: bytes, ms_per_step: ms, limit: speeds && { ...moved, ...this.limit(moved.bytes, counters.dispatches, ms.median, speeds) }, overflowed_steps: counters.overflowed_steps.length,
      quarantined: counters.quarantined,
    };
    await this.restart();
    const machine = {
      cpu: "unknown processor", cores: navigator.hardwareConcurrency || 1, os: navigator.userAgent,
      began: Math.floor(Date.now() / 1000), drystone: data.bench.version, adapter,
      speeds: speeds ? { copy_gb_s: { gpu: speeds.copy_gb_s }, dispatch_us: speeds.dispatch_us } : {},
    };
    return { machine, rows: [row], skipped: [] };
  }

  /** Bytes that the last step had to move, by the model (src/traffic.rs), and those of each stage. */
  moved() {
    const { known, data } = this;
    const at = data.counters;
    const [pairs, constraints] = known ? [known[at.contacts], known[at.color_starts + this.recorder.rules.color_count]] : [0, 0];
    const stages = data.model.stages.map((/** @type {[string, number, number, number]} */ [stage, fixed, pair, constraint]) => [stage, fixed + pairs * pair + constraints * constraint]);
    return { bytes: stages.reduce((/** @type {number} */ sum, /** @type {[string, number]} */ [, own]) => sum + own, 0), stages_bytes: Object.fromEntries(stages) };
  }

  /** @param {number} bytes @param {number} dispatches @param {number} median @param {Speeds} speeds */
  limit(bytes, dispatches, median, speeds) {
    const ms = modelTime(bytes, dispatches, speeds);
    return { ms, share: median > 0 ? ms / median : 0, stages_share: {} };
  }

  /** Counters of the last step that has arrived. @returns {Record<string, any>} */
  counters() {
    const { known, data, steps, capacity, overflowed, dispatchCount } = this;
    const names = ["pairs_found", "contacts", "touching", "recycled", "quarantined", "uncolored", "rounds", "continuous", "awake", "sleeping_contacts", "woken"];
    const counts = names.map((name) => [name, known ? known[data.counters[name]] : 0]);
    return { steps, contact_capacity: capacity, dispatches: dispatchCount, overflowed_steps: [...overflowed], ...Object.fromEntries(counts) };
  }

  /** Copies a table to the host. @param {string} name @returns {Promise<ArrayBuffer>} */
  async read(name) {
    const from = this.current(name);
    const staging = this.device.createBuffer({ size: from.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, 0, staging, 0, from.size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const copy = staging.getMappedRange().slice(0);
    staging.destroy();
    return copy;
  }

  /** Poses of all bodies, vacant slots too: rows of `rows.pose` bytes that begin with x, y, cosine, sine. */
  async poseRows() {
    return new Float32Array(await this.read("poses"));
  }

  /** Index and point of the topmost dynamic body at a place, or null. @param {Float32Array} poses @param {number} x @param {number} y @param {number} reach @returns {{body: number, point: [number, number]} | null} */
  bodyAt(poses, x, y, reach) {
    const { rows } = this.data;
    const [floats, ints] = [new Float32Array(this.shapeRows.buffer), new Uint32Array(this.shapeRows.buffer)];
    const kinds = new Uint32Array(this.bodyRows.buffer);
    const vertices = new Float32Array(this.vertexRows.buffer);
    /** @type {{body: number, point: [number, number], distance: number} | null} */
    let best = null;
    for (let shape = 0; shape < this.shapeRows.byteLength / rows.shape; shape += 1) {
      const at = (shape * rows.shape) / 4;
      const body = ints[at + rows.shape_body];
      if (kinds[(body * rows.body) / 4 + rows.body_kind] !== rows.dynamic) continue;
      const [px, py, c, s] = poses.subarray(rows.pose / 4 * body);
      const [dx, dy] = [x - px, y - py];
      const point = /** @type {[number, number]} */ ([c * dx + s * dy, c * dy - s * dx]);
      const [lx, ly] = [point[0] - floats[at + rows.offset], point[1] - floats[at + rows.offset + 1]];
      if (Math.hypot(lx, ly) > floats[at + rows.bound] + reach) continue;
      const [rc, rs] = [floats[at + rows.rotation], floats[at + rows.rotation + 1]];
      const [qx, qy] = [rc * lx + rs * ly, rc * ly - rs * lx];
      const kind = ints[at + rows.shape_kind];
      const radius = floats[at + rows.radius];
      let distance = Math.hypot(qx, qy) - radius;
      if ((kind & rows.geometry_mask) === rows.box) {
        distance = Math.max(Math.abs(qx) - floats[at + rows.half], Math.abs(qy) - floats[at + rows.half + 1]) - radius;
      } else if ((kind & rows.geometry_mask) === rows.polygon) {
        const count = (kind >> rows.vertex_count_shift) & 0xf;
        const first = 2 * ints[at + rows.first_vertex];
        distance = -Infinity;
        for (let vertex = 0; vertex < count; vertex += 1) {
          const [ax, ay] = vertices.subarray(first + 2 * vertex, first + 2 * vertex + 2);
          const next = first + 2 * ((vertex + 1) % count);
          const [ex, ey] = [vertices[next] - ax, vertices[next + 1] - ay];
          distance = Math.max(distance, ((qx - ax) * ey - (qy - ay) * ex) / Math.max(Math.hypot(ex, ey), 1e-9));
        }
        distance -= radius;
      }
      if (distance <= reach && (!best || distance <= best.distance)) best = { body, point, distance };
    }
    return best;
  }

  /** Pushes the dynamic bodies around a place away. @param {Float32Array} poses @param {number} x @param {number} y @param {number} radius @param {number} speed */
  explode(poses, x, y, radius, speed) {
    const { rows } = this.data;
    const [floats, kinds] = [new Float32Array(this.bodyRows.buffer), new Uint32Array(this.bodyRows.buffer)];
    for (let body = 0; body < this.bodyRows.byteLength / rows.body; body += 1) {
      const at = (body * rows.body) / 4;
      const [px, py] = poses.subarray(rows.pose / 4 * body);
      const [dx, dy] = [px - x, py - y];
      const distance = Math.hypot(dx, dy);
      if (kinds[at + rows.body_kind] !== rows.dynamic || !(distance < radius)) continue;
      const impulse = (speed * (1 - distance / radius)) / Math.max(floats[at + rows.inv_mass], 1e-12) / Math.max(distance, 1e-3);
      this.command({ kind: "impulse", body, value: [dx * impulse, dy * impulse] });
    }
  }
}

// ── picture ──

/** Names of layers, with the parts of a contact that each draws (src/view.rs of drystone-draw). */
const LAYERS = /** @type {const} */ ([
  ["contacts", "Contacts", 5], ["impulses", "Impulses", 4], ["friction", "Friction", 3], ["normals", "Normals", 2],
  ["constraints", "Contact lines", 1], ["joints", "Joints", 0], ["velocities", "Velocities", 0], ["aabbs", "Boxes", 0], ["grid", "Search cells", 0],
]);

/** The canvas as the target of pictures. */
class CanvasScreen {
  /** @param {GPUDevice} device @param {HTMLCanvasElement} canvas */
  constructor(device, canvas) {
    this.context = /** @type {GPUCanvasContext} */ (canvas.getContext("webgpu"));
    this.format = navigator.gpu.getPreferredCanvasFormat();
    this.context.configure({ device, format: this.format, alphaMode: "opaque" });
  }

  isBusy() { return false; }

  target() { return this.context.getCurrentTexture().createView(); }

  /** @param {GPUCommandEncoder} _encoder */
  copy(_encoder) {}

  show() {}
}

/** A texture that is read back into a canvas. */
class CopiedScreen {
  /** @param {GPUDevice} device @param {HTMLCanvasElement} canvas */
  constructor(device, canvas) {
    this.device = device;
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.format = /** @type {GPUTextureFormat} */ ("rgba8unorm");
    this.size = [0, 0];
    this.busy = false;
  }

  isBusy() { return this.busy; }

  target() {
    const { width, height } = this.canvas;
    if (!this.texture || !this.staging || this.size[0] !== width || this.size[1] !== height) {
      this.texture?.destroy();
      this.staging?.destroy();
      this.size = [width, height];
      this.row = Math.ceil((4 * width) / 256) * 256;
      this.texture = this.device.createTexture({ size: [width, height], format: this.format, usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
      this.staging = this.device.createBuffer({ size: this.row * height, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    }
    return this.texture.createView();
  }

  /** @param {GPUCommandEncoder} encoder */
  copy(encoder) {
    if (!this.texture || !this.staging) return;
    encoder.copyTextureToBuffer({ texture: this.texture }, { buffer: this.staging, bytesPerRow: this.row }, this.size);
  }

  /** Shows the picture once it has arrived. */
  show() {
    const { staging, row = 0, size: [width, height] } = this;
    if (!staging) return;
    this.busy = true;
    staging.mapAsync(GPUMapMode.READ).then(() => {
      const padded = new Uint8ClampedArray(staging.getMappedRange());
      const image = this.context.createImageData(width, height);
      for (let y = 0; y < height; y += 1) image.data.set(padded.subarray(y * row, y * row + 4 * width), 4 * y * width);
      staging.unmap();
      this.context.putImageData(image, 0, 0);
    }).catch(() => {}).finally(() => { this.busy = false; });
  }
}

/** Draws a world from its tables, as Frame in drystone-draw does. */
class Picture {
  /** @param {World} world @param {HTMLCanvasElement} canvas */
  constructor(world, canvas) {
    const { draw } = world.data;
    this.world = world;
    this.canvas = canvas;
    this.draw = draw;
    /** Software adapters may have no way to a canvas: their pictures are copied there. */
    this.screen = world.software ? new CopiedScreen(world.device, canvas) : new CanvasScreen(world.device, canvas);
    this.format = this.screen.format;
    this.dark = false;
    this.coloring = "body";
    /** @type {Set<string>} */
    this.layers = new Set(world.data.joints > 0 ? ["joints"] : []);
    this.center = [0, 0];
    this.metresPerPixel = 1;
    this.fitted = true;
    /** Height at the bottom of the canvas that something else covers, CSS px. */
    this.covered = 0;
    /** @type {Map<string, {pipeline: any, layout: GPUBindGroupLayout, bindings: DrawBinding[], lanes: number}>} */
    this.programs = new Map();
    /** @type {Map<string, {group: GPUBindGroup, key: string}>} */
    this.groups = new Map();
    const { device } = world;
    const words = (/** @type {number} */ count, /** @type {number} */ usage = 0) => device.createBuffer({
      size: Math.max(16, 4 * count), usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | usage,
    });
    const [shapes, bodies] = [world.data.shapes, world.recorder.rules.body_count];
    this.blocks = Math.ceil(shapes / 1024);
    /** @type {Record<string, GPUBuffer>} */
    this.own = {
      view: device.createBuffer({ size: draw.views[0][1], usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST }),
      visible: words(shapes), found: words(256 * this.blocks), block_counts: words(2 * this.blocks),
      draws: words(12, GPUBufferUsage.INDIRECT), tints: words(bodies), labels: words(2 * bodies), measures: words(4),
    };
  }

  /** Shows the first view. */
  fit() {
    const { draw } = this;
    const { width, height, clientHeight } = this.canvas;
    // Above the buttons.
    const hidden = (this.covered * height) / Math.max(clientHeight, 1);
    const camera = draw.cameras[Number(height - hidden > width)];
    this.metresPerPixel = Math.max(camera.width / Math.max(width, 1), camera.height / Math.max(height - hidden, 1));
    this.center = [camera.center[0], camera.center[1] - 0.5 * hidden * this.metresPerPixel];
    this.fitted = true;
  }

  /** Place in the world under a pixel of the canvas. @param {number} x @param {number} y @returns {[number, number]} */
  place(x, y) {
    const { width, height } = this.canvas;
    return [this.center[0] + (x - 0.5 * width) * this.metresPerPixel, this.center[1] - (y - 0.5 * height) * this.metresPerPixel];
  }

  /** Pixel of the canvas over a place in the world. @param {number} x @param {number} y @returns {[number, number]} */
  pixel(x, y) {
    const { width, height } = this.canvas;
    return [0.5 * width + (x - this.center[0]) / this.metresPerPixel, 0.5 * height - (y - this.center[1]) / this.metresPerPixel];
  }

  /** @param {number} x @param {number} y @param {number} factor */
  zoom(x, y, factor) {
    const under = this.place(x, y);
    this.metresPerPixel = Math.min(Math.max(this.metresPerPixel * factor, 1e-7), 1e7);
    const now = this.place(x, y);
    this.center = [this.center[0] + under[0] - now[0], this.center[1] + under[1] - now[1]];
    this.fitted = false;
  }

  /** @param {number} x @param {number} y */
  pan(x, y) {
    this.center = [this.center[0] - x * this.metresPerPixel, this.center[1] + y * this.metresPerPixel];
    this.fitted = false;
  }

  /** Writes the uniform of camera, style and layers: View::new and View::put_layers. */
  writeView() {
    const { draw, world } = this;
    const at = draw.offsets;
    const bytes = world.part(draw.views[Number(this.dark)]);
    const view = new DataView(bytes.buffer);
    const put = (/** @type {string} */ name, /** @type {number[]} */ ...values) => values.forEach((value, index) => view.setFloat32(at[name] + 4 * index, value, true));
    const { width, height } = this.canvas;
    const scale = 1 / this.metresPerPixel;
    const unit = Math.max(1, Math.min(window.devicePixelRatio || 1, 4));
    put("center", ...this.center);
    put("pixels_per_metre", scale);
    put("outline", view.getFloat32(at.outline, true) * unit);
    put("size", width, height);
    put("unit", unit);
    const minor = 10 ** Math.ceil(Math.log10(6 / scale));
    const major = 10 * minor;
    const fade = (/** @type {number} */ step) => draw.grid_strength[Number(this.dark)] * 0.5 * Math.min(Math.max(Math.log10((step * scale) / 6), 0), 2);
    const crossing = (/** @type {number} */ middle, /** @type {number} */ center, /** @type {number} */ up) => 0.5 * middle + up * (Math.round(center / major) * major - center) * scale;
    put("grid_steps", crossing(width, this.center[0], 1), crossing(height, this.center[1], -1), minor * scale, major * scale);
    put("grid_strength", fade(minor), fade(major));
    const [length, impulse, , speed] = draw.scale;
    put("length", length * scale);
    put("arrow", (0.6 * length * scale) / Math.sqrt(impulse));
    put("force_arrow", (0.25 * length * scale) / impulse);
    put("velocity_arrow", (length * scale) / speed);
    put("scale_low", draw.speed_scale[0]);
    put("scale_per_octave", draw.speed_scale[1]);
    view.setUint32(at.tinted, Number(this.coloring !== "body"), true);
    let parts = 0;
    for (const [name, , part] of LAYERS) if (part > 0 && this.layers.has(name)) parts = (parts << 4) | part;
    view.setUint32(at.contact_parts, parts, true);
    world.device.queue.writeBuffer(this.own.view, 0, bytes);
    return parts > 0;
  }

  /** @param {string} name @returns {any} */
  program(name) {
    const found = this.programs.get(name);
    if (found) return found;
    const { device } = this.world;
    const kernel = this.draw.kernels.find((/** @type {any} */ other) => other.name === name);
    const pen = this.draw.pens.find((/** @type {any} */ other) => other.name === name);
    const { bindings } = kernel || pen;
    const layout = device.createBindGroupLayout({
      entries: bindings.map((/** @type {DrawBinding} */ [binding, type, , vertex, fragment]) => ({
        binding,
        visibility: kernel ? GPUShaderStage.COMPUTE : (vertex ? GPUShaderStage.VERTEX : 0) | (fragment ? GPUShaderStage.FRAGMENT : 0),
        buffer: { type },
      })),
    });
    const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    const module = this.world.module((kernel || pen).shader);
    const over = { color: { srcFactor: "src-alpha", dstFactor: "one-minus-src-alpha", operation: "add" }, alpha: { srcFactor: "one", dstFactor: "one-minus-src-alpha", operation: "add" } };
    const pipeline = kernel
      ? device.createComputePipeline({ label: name, layout: pipelineLayout, compute: { module, entryPoint: name } })
      : device.createRenderPipeline({
        label: name,
        layout: pipelineLayout,
        vertex: { module, entryPoint: pen.vertex },
        fragment: { module, entryPoint: pen.fragment, targets: [{ format: this.format, ...(pen.blend ? { blend: /** @type {any} */ (over) } : {}) }] },
        primitive: { topology: pen.strip ? "triangle-strip" : "triangle-list" },
      });
    const made = { pipeline, layout, bindings, lanes: kernel ? kernel.lanes : 1 };
    this.programs.set(name, made);
    return made;
  }

  /** @param {GPUComputePassEncoder | GPURenderPassEncoder} pass @param {string} name */
  use(pass, name) {
    const { pipeline, layout, bindings, lanes } = this.program(name);
    const key = `${this.world.parity} ${this.world.generation}`;
    let kept = this.groups.get(name);
    if (!kept || kept.key !== key) {
      const buffer = (/** @type {string} */ table) => this.own[table] || this.world.current(table === "reference" ? "poses" : table);
      const group = this.world.device.createBindGroup({
        layout,
        entries: bindings.map((/** @type {DrawBinding} */ [binding, , table]) => ({ binding, resource: { buffer: buffer(table) } })),
      });
      kept = { group, key };
      this.groups.set(name, kept);
    }
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, kept.group);
    return lanes;
  }

  /** @param {GPUComputePassEncoder} pass @param {string} name @param {number} threads */
  run(pass, name, threads) {
    const groups = Math.ceil(threads / this.use(pass, name));
    if (groups > 0) pass.dispatchWorkgroups(Math.min(groups, MAX_WORKGROUPS), Math.ceil(groups / MAX_WORKGROUPS));
  }

  /** Draws the world as the steps recorded so far leave it. */
  paint() {
    const { world, canvas } = this;
    if (canvas.width < 1 || canvas.height < 1) return;
    const hasContacts = this.writeView();
    const { body_count: bodies, joint_count: joints } = world.recorder.rules;
    const { shapes } = world.data;
    const encoder = world.device.createCommandEncoder();
    encoder.clearBuffer(this.own.measures);
    const prepare = encoder.beginComputePass();
    if (shapes > 0) {
      for (const [kernel, threads] of /** @type {const} */ ([["cull_count", 256 * this.blocks], ["cull_scan", 1], ["cull_emit", 256 * this.blocks]])) this.run(prepare, kernel, threads);
      /** @type {Record<string, [string, number][]>} */
      const tints = {
        speed: [["tint_speed", bodies]],
        sleep: [["tint_sleep", bodies]],
        graph: [["tint_clear", bodies], ["tint_colors", world.capacity], ["tint_graph", bodies]],
        island: [["tint_alone", bodies], ["tint_unite", world.capacity], ["tint_unite_joints", joints], ["tint_roots", bodies], ["tint_island", bodies]],
      };
      for (const [kernel, threads] of tints[this.coloring] || []) this.run(prepare, kernel, threads);
    }
    if (hasContacts) this.run(prepare, "cull_contacts", 1);
    prepare.end();
    const pass = encoder.beginRenderPass({
      colorAttachments: [{ view: this.screen.target(), loadOp: "clear", storeOp: "store", clearValue: [0, 0, 0, 1] }],
    });
    const pen = (/** @type {string} */ name, /** @type {number} */ vertices) => {
      this.use(pass, name);
      pass.draw(vertices);
    };
    const indirect = (/** @type {string} */ name, /** @type {number} */ offset) => {
      this.use(pass, name);
      pass.drawIndirect(this.own.draws, offset);
    };
    pen("backdrop", 4);
    if (this.layers.has("grid")) pen("cell", 6);
    if (shapes > 0) indirect("shape", 0);
    if (this.layers.has("aabbs")) pen("box", 6 * shapes);
    if (this.layers.has("joints") && joints > 0) pen("joint", 36 * joints);
    if (hasContacts) {
      indirect("sleeping", 32);
      indirect("contact", 16);
    }
    if (this.layers.has("velocities")) pen("velocity", 6 * bodies);
    pass.end();
    this.screen.copy(encoder);
    world.device.queue.submit([encoder.finish()]);
    this.screen.show();
  }
}

// ── what the visitor does ──

/** @template {HTMLElement} T @param {string} id @returns {T} */
function element(id) {
  return /** @type {T} */ (document.getElementById(id));
}

/** Shows a message instead of the world. @param {string} title @param {string} text @param {string} [command] */
function tell(title, text, command) {
  const box = element("message");
  box.hidden = false;
  box.replaceChildren();
  const add = (/** @type {string} */ tag, /** @type {string} */ content) => box.appendChild(Object.assign(document.createElement(tag), { textContent: content }));
  add("h1", title);
  add("p", text);
  if (command) {
    add("p", "The same scene on your own machine:");
    add("code", command);
  }
  element("status").textContent = "";
}

/** The page: buttons, keys, pointer and frames. */
class PageControl {
  /** @param {World} world @param {Picture} picture */
  constructor(world, picture) {
    this.world = world;
    this.picture = picture;
    this.playing = !new URLSearchParams(location.search).has("paused");
    this.speed = 1;
    this.tool = "drag";
    this.owed = 0;
    this.last = 0;
    this.frames = 0;
    this.since = 0;
    this.rate = 0;
    this.stepRate = 0;
    this.stepsThen = 0;
    this.measuredAt = 0;
    /** What the picture shows, and when it was drawn. */
    this.shown = "";
    this.painted = 0;
    /** @type {Promise<void>} */
    this.work = Promise.resolve();
    this.busy = false;
    /** @type {Map<number, [number, number]>} */
    this.pointers = new Map();
    /** @type {{kind: "pan" | "hold" | "aim" | "none", from: [number, number]}} */
    this.grab = { kind: "none", from: [0, 0] };
    this.bind();
  }

  /** Runs a task after those before it: steps never overlap. @template T @param {() => Promise<T>} task @returns {Promise<T>} */
  queue(task) {
    const done = this.work.then(task);
    this.work = done.then(() => {}, () => {});
    return done;
  }

  bind() {
    const { picture } = this;
    element("play").onclick = () => this.toggle();
    element("once").onclick = () => this.once();
    element("restart").onclick = () => this.restart();
    element("fit").onclick = () => picture.fit();
    element("theme").onclick = () => this.theme(!picture.dark);
    element("info").onclick = () => this.info();
    element("bench").onclick = () => this.bench();
    const speed = /** @type {HTMLSelectElement} */ (element("speed"));
    speed.onchange = () => { this.speed = Number(speed.value); };
    const coloring = /** @type {HTMLSelectElement} */ (element("coloring"));
    coloring.onchange = () => { picture.coloring = coloring.value; };
    const tilt = /** @type {HTMLInputElement} */ (element("tilt"));
    tilt.oninput = () => this.tilt(Number(tilt.value));
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-tool]"))) {
      button.onclick = () => this.choose(button.dataset.tool || "drag");
    }
    const list = /** @type {HTMLElement} */ (document.querySelector("#layers > div"));
    for (const [name, words] of LAYERS) {
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: picture.layers.has(name) });
      box.onchange = () => { if (box.checked) picture.layers.add(name); else picture.layers.delete(name); };
      label.append(box, ` ${words}`);
      list.append(label);
    }
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.theme(dark.matches);
    dark.onchange = () => this.theme(dark.matches);
    this.choose("drag");
    this.bindPointer();
    document.onkeydown = (event) => this.key(event);
  }

  bindPointer() {
    const { picture } = this;
    const { canvas } = picture;
    const at = (/** @type {PointerEvent | WheelEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return /** @type {[number, number]} */ ([((event.clientX - box.x) * canvas.width) / box.width, ((event.clientY - box.y) * canvas.height) / box.height]);
    };
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
      canvas.focus({ preventScroll: true });
      if (this.pointers.size === 1) this.press(at(event), event.button);
      else this.release(null);
    };
    canvas.onpointermove = (event) => {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = at(event);
      this.pointers.set(event.pointerId, now);
      if (this.pointers.size === 2) this.pinch(event.pointerId, before, now);
      else this.move(before, now);
    };
    const up = (/** @type {PointerEvent} */ event) => {
      if (this.pointers.delete(event.pointerId)) this.release(event.type === "pointerup" ? at(event) : null);
    };
    canvas.onpointerup = up;
    canvas.onpointercancel = up;
    canvas.oncontextmenu = (event) => event.preventDefault();
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      picture.zoom(...at(event), Math.exp(0.0015 * event.deltaY));
    }, { passive: false });
  }

  /** @param {[number, number]} pixel @param {number} button */
  async press(pixel, button) {
    const { world, picture } = this;
    const place = picture.place(...pixel);
    this.grab = { kind: "none", from: pixel };
    if (button !== 0) {
      this.grab.kind = "pan";
    } else if (this.tool === "drag") {
      this.grab.kind = "pan";
      const poses = await world.poseRows();
      const found = world.bodyAt(poses, ...place, 8 * picture.metresPerPixel);
      if (!found || this.pointers.size !== 1 || this.grab.from !== pixel) return;
      this.grab.kind = "hold";
      const now = [...this.pointers.values()][0];
      world.held = { ...found, goal: picture.place(...now) };
    } else if (this.tool === "shoot") {
      this.grab.kind = "aim";
    } else if (this.tool === "explode") {
      const poses = await world.poseRows();
      const reach = 4 * world.data.draw.scale[0];
      world.explode(poses, ...place, reach, 4 * world.data.draw.scale[3]);
    } else {
      this.drop(this.tool, place, [0, 0]);
    }
  }

  /** @param {[number, number]} before @param {[number, number]} now */
  move(before, now) {
    const { world, picture } = this;
    if (this.grab.kind === "pan") picture.pan(now[0] - before[0], now[1] - before[1]);
    if (this.grab.kind === "hold" && world.held) world.held.goal = picture.place(...now);
  }

  /** @param {[number, number] | null} pixel */
  release(pixel) {
    const { world, picture } = this;
    if (pixel && this.grab.kind === "aim") {
      const [from, to] = [picture.place(...this.grab.from), picture.place(...pixel)];
      const pulled = [from[0] - to[0], from[1] - to[1]];
      const fast = 4 * world.data.draw.scale[3];
      const isClick = Math.hypot(...pulled) < 10 * picture.metresPerPixel;
      this.drop("ball", from, isClick ? [fast, 0] : [4 * pulled[0], 4 * pulled[1]]);
    }
    world.held = null;
    this.grab = { kind: "none", from: [0, 0] };
  }

  /** @param {number} moved @param {[number, number]} before @param {[number, number]} now */
  pinch(moved, before, now) {
    const other = [...this.pointers].find(([id]) => id !== moved);
    if (!other) return;
    const [x, y] = other[1];
    const apart = (/** @type {[number, number]} */ point) => Math.max(Math.hypot(point[0] - x, point[1] - y), 1);
    this.picture.pan(0.5 * (now[0] - before[0]), 0.5 * (now[1] - before[1]));
    this.picture.zoom(0.5 * (x + now[0]), 0.5 * (y + now[1]), apart(before) / apart(now));
  }

  /** @param {string} kind @param {[number, number]} place @param {[number, number]} velocity */
  drop(kind, place, velocity) {
    if (this.world.add(kind, place, velocity) === null) this.note(`No more than ${this.world.data.spares[0].count} can be added; restart gives them back.`);
  }

  /** @param {string} text @param {number} [ms] */
  note(text, ms = 4000) {
    this.noted = { text, until: performance.now() + ms };
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT"].includes(target.tagName)) return;
    const isButton = ["BUTTON", "SUMMARY"].includes(target.tagName);
    /** @type {Record<string, () => void>} */
    const keys = {
      " ": () => { if (!isButton) this.toggle(); },
      s: () => this.once(), r: () => this.restart(), f: () => this.picture.fit(), d: () => this.theme(!this.picture.dark), i: () => this.info(),
      ArrowLeft: () => this.turn(-15), ArrowRight: () => this.turn(15),
      "+": () => this.picture.zoom(0.5 * this.picture.canvas.width, 0.5 * this.picture.canvas.height, 0.8),
      "-": () => this.picture.zoom(0.5 * this.picture.canvas.width, 0.5 * this.picture.canvas.height, 1.25),
    };
    ["drag", "box", "ball", "shoot", "explode"].forEach((tool, index) => { keys[String(index + 1)] = () => this.choose(tool); });
    if (!(event.key in keys)) return;
    if (!(event.key === " " && isButton)) event.preventDefault();
    keys[event.key]();
  }

  /** @param {boolean} [playing] */
  toggle(playing = !this.playing) {
    this.playing = playing;
    this.owed = 0;
    element("play").textContent = playing ? "Pause" : "Play";
    element("play").setAttribute("aria-pressed", String(playing));
  }

  async once() {
    this.toggle(false);
    await this.queue(() => this.world.step(1));
  }

  async restart() {
    /** @type {HTMLInputElement} */ (element("tilt")).value = "0";
    await this.queue(() => this.world.restart());
  }

  /** @param {number} degrees */
  tilt(degrees) {
    const [x, y] = this.world.data.gravity;
    const [c, s] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
    this.world.command({ kind: "gravity", value: [c * x - s * y, s * x + c * y] });
  }

  /** @param {number} degrees */
  turn(degrees) {
    const tilt = /** @type {HTMLInputElement} */ (element("tilt"));
    tilt.value = String(Number(tilt.value) + degrees);
    this.tilt(Number(tilt.value));
  }

  /** @param {string} tool */
  choose(tool) {
    this.tool = tool;
    for (const button of document.querySelectorAll("[data-tool]")) {
      button.setAttribute("aria-checked", String(/** @type {HTMLElement} */ (button).dataset.tool === tool));
    }
  }

  /** @param {boolean} dark */
  theme(dark) {
    this.picture.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    element("theme").textContent = dark ? "Light" : "Dark";
  }

  /** Measures this scene and offers the result as a file. */
  async bench() {
    this.note("Measuring …");
    const result = await drystone.bench();
    const { ms_per_step: { median, min, max }, limit } = result.rows[0];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(result, null, 1)], { type: "application/json" }));
    link.download = `${this.world.data.title.replace(/[^a-z0-9_]+/gi, "-")}.bench.json`;
    link.click();
    const model = limit ? `, ${limit.ms.toFixed(2)} by the model` : "";
    this.note(`${median.toFixed(2)} ms per step (${min.toFixed(2)} – ${max.toFixed(2)})${model}: \`drystone bench --from ${link.download}\` shows it beside others`, 20000);
  }

  info() {
    const panel = element("panel");
    panel.hidden = !panel.hidden;
    element("info").setAttribute("aria-pressed", String(!panel.hidden));
  }

  /** @param {number} now */
  frame(now) {
    const { world, picture } = this;
    const { canvas } = picture;
    const density = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(canvas.clientWidth * density), Math.round(canvas.clientHeight * density)];
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      picture.covered = /** @type {HTMLElement} */ (document.querySelector("nav")).offsetHeight + 10;
      if (picture.fitted) picture.fit();
    }
    const passed = Math.min(Math.max(now - this.last, 0) / 1000, 0.1);
    this.last = now;
    if (this.playing && !this.busy) {
      this.owed = Math.min(this.owed + (passed * this.speed) / world.data.dt, 8);
      const steps = Math.floor(this.owed);
      this.owed -= steps;
      if (steps > 0) {
        const measured = !element("panel").hidden && now - this.measuredAt > 500;
        if (measured) this.measuredAt = now;
        this.busy = true;
        this.queue(() => world.step(steps, measured)).catch(report).finally(() => { this.busy = false; });
      }
    }
    // A picture of the same is not drawn again, and a software adapter has steps to compute.
    const shown = [world.steps, world.generation, world.added, picture.center, picture.metresPerPixel, picture.dark, picture.coloring, [...picture.layers], canvas.width, canvas.height].join();
    if (shown !== this.shown && !picture.screen.isBusy() && !(world.software && now - this.painted < 100)) {
      [this.shown, this.painted] = [shown, now];
      picture.paint();
    }
    this.frames += 1;
    if (now - this.since > 500) {
      this.rate = (1000 * this.frames) / (now - this.since);
      this.stepRate = (1000 * Math.max(world.steps - this.stepsThen, 0)) / (now - this.since);
      [this.frames, this.since, this.stepsThen] = [0, now, world.steps];
      this.show(now);
    }
    requestAnimationFrame((time) => this.frame(time));
  }

  /** @param {number} now */
  show(now) {
    const { world } = this;
    const bodies = world.data.bodies + world.added.reduce((/** @type {number} */ sum, /** @type {number} */ count) => sum + count, 0);
    const contacts = world.known ? world.known[world.data.counters.touching] : 0;
    const parts = [`step ${world.steps}`, `${bodies} bodies`, `${contacts} contacts`, `${Math.round(this.rate)} frames/s`, `${Math.round(this.stepRate)} steps/s`];
    if (world.software) parts.push("software adapter, not a GPU");
    if (world.overflowed.length > 0) parts.push(`${world.overflowed.length} steps dropped contacts before the tables grew`);
    if (this.noted && this.noted.until > now) parts.unshift(this.noted.text);
    element("status").textContent = parts.join(" · ");
    const panel = element("panel");
    if (panel.hidden) return;
    const rows = Object.entries(world.counters()).filter(([, value]) => typeof value === "number").map(([name, value]) => [name.replaceAll("_", " "), String(value)]);
    const times = [...world.stageTimes].map(([stage, { ms, dispatches }]) => [`${stage.replaceAll("_", " ")} (${dispatches})`, `${ms.toFixed(3)} ms`]);
    const table = document.createElement("table");
    for (const cells of [...rows, ...times]) {
      const row = table.insertRow();
      for (const cell of cells) row.insertCell().textContent = cell;
    }
    panel.replaceChildren(table);
  }
}

/** Shows an error. @param {unknown} error */
function report(error) {
  const message = error instanceof Error ? error.message : String(error);
  drystone.errors.push(message);
  tell(error instanceof PageError ? "This page cannot run here" : "The simulation has stopped", message, drystone.command_line);
}

/** What programs call: `await drystone.ready`, then the rest. */
const drystone = {
  /** Errors so far. @type {string[]} */
  errors: [],
  /** Command that shows the scene natively. */
  command_line: "",
  /** @type {World | null} */
  world: null,
  /** @type {Picture | null} */
  picture: null,
  /** @type {PageControl | null} */
  control: null,
  /** Results of a page that measures several worlds. @type {any} */
  results: null,
  /** Resolves once the world can step. @type {Promise<void>} */
  ready: Promise.resolve(),
  get open() {
    if (!this.world || !this.control || !this.picture) throw new Error("the page is not ready: await drystone.ready");
    return { world: this.world, control: this.control, picture: this.picture };
  },
  /** Pauses. */
  pause() { this.open.control.toggle(false); },
  /** Plays. */
  play() { this.open.control.toggle(true); },
  /** Steps, and waits for the device. @param {number} [count] */
  async step(count = 1) {
    const { world, control } = this.open;
    await control.queue(async () => {
      await world.step(count);
      await world.settle();
    });
  },
  /** Pulls a body at a point, from its centre of mass, in its frame, towards a place; the next call moves the place. @param {number} body @param {[number, number]} point @param {[number, number]} goal */
  pull(body, point, goal) { this.open.world.hold({ body, point, goal }); },
  /** Ends the pull. */
  release() { this.open.world.held = null; },
  /** Goes back to the start. */
  async restart() { await this.open.control.restart(); },
  /** Poses of bodies, in their order, those added last: x, y, cosine, sine. @returns {Promise<Float32Array>} */
  async poses() {
    const { world } = this.open;
    const all = await world.poseRows();
    const added = world.data.spares.flatMap((/** @type {Spare} */ spare, /** @type {number} */ index) => Array.from({ length: world.added[index] }, (_, turn) => spare.first + turn));
    const rows = [...Array(world.data.bodies).keys(), ...added];
    const poses = new Float32Array(4 * rows.length);
    const stride = world.data.rows.pose / 4;
    rows.forEach((row, index) => poses.set(all.subarray(stride * row, stride * row + 4), 4 * index));
    return poses;
  },
  /** Counters of the last step that has arrived. */
  counters() { return this.open.world.counters(); },
  /** Times steps; returns what `drystone bench --from` reads. The world is at its start afterwards. @param {number} [steps] @param {number} [repeats] @param {number} [_count] number of worlds, in a page that measures several @returns {Promise<any>} */
  async bench(steps = 100, repeats = 5, _count = 1) {
    const { world, control } = this.open;
    control.toggle(false);
    const result = await control.queue(() => world.bench(steps, repeats));
    return result;
  },
  /** Gives a command for the next step: gravity, impulse, velocity, … @param {Command} command */
  command(command) { this.open.world.command(command); },
  /** Adds a "ball" or a "box"; returns its index among the poses' slots, or null. @param {string} kind @param {[number, number]} position @param {[number, number]} [velocity] */
  add(kind, position, velocity = [0, 0]) { return this.open.world.add(kind, position, velocity); },
  /** Bytes of a table as base64, for comparisons. @param {string} name */
  async table(name) {
    const bytes = new Uint8Array(await this.open.world.read(name));
    let text = "";
    for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
    return btoa(text);
  },
};

/** Draws times against sizes, both logarithmic, a curve for each scene, and those of the model. @param {any[]} rows */
function plot(rows) {
  const canvas = /** @type {HTMLCanvasElement} */ (element("curve"));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const models = curvesOf(rows);
  const families = [...new Set(rows.map((row) => row.scene.split(":")[0]))];
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  // The legend is above the curves.
  const [width, left, low, top] = [Math.max(canvas.clientWidth, 280), 60, 50, 40 + 20 * (families.length + models.length)];
  const height = 360 + top;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const ink = getComputedStyle(document.documentElement).color;
  context.font = "14px system-ui, sans-serif";
  const range = (/** @type {number[]} */ values) => [Math.floor(Math.log10(Math.min(...values))), Math.max(Math.ceil(Math.log10(Math.max(...values))), Math.floor(Math.log10(Math.min(...values))) + 1)];
  const [x0, x1] = range(rows.map((row) => row.bodies));
  const [y0, y1] = range([...rows.map((row) => row.ms_per_step.median), ...models.flatMap(({ times }) => times)]);
  const at = (/** @type {number} */ bodies, /** @type {number} */ ms) => /** @type {[number, number]} */ ([
    left + ((Math.log10(bodies) - x0) / (x1 - x0)) * (width - left - 30), height - low - ((Math.log10(ms) - y0) / (y1 - y0)) * (height - low - top)]);
  context.strokeStyle = context.fillStyle = ink;
  for (const [from, to, isX] of /** @type {const} */ ([[x0, x1, true], [y0, y1, false]])) {
    for (let power = from; power <= to; power += 1) {
      const [x, y] = isX ? at(10 ** power, 10 ** y0) : at(10 ** x0, 10 ** power);
      context.globalAlpha = 0.2;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(...(isX ? at(10 ** power, 10 ** y1) : at(10 ** x1, 10 ** power)));
      context.stroke();
      context.globalAlpha = 1;
      context.textAlign = isX ? "center" : "right";
      context.fillText(String(10 ** power), isX ? x : x - 8, isX ? y + 20 : y + 5);
    }
  }
  context.textAlign = "left";
  context.fillText("ms per step", 8, top - 16);
  context.textAlign = "right";
  context.fillText("bodies", width - 20, height - 8);
  context.textAlign = "left";
  const legend = (/** @type {number} */ line, /** @type {string} */ text) => {
    const y = 18 + 20 * line;
    context.beginPath();
    context.moveTo(8, y - 5);
    context.lineTo(42, y - 5);
    context.stroke();
    context.fillText(text, 50, y);
  };
  context.lineWidth = 2;
  families.forEach((family, index) => {
    context.strokeStyle = context.fillStyle = ["#3b82c4", "#d8621f", "#3a9a4c", "#8a5cc0"][index % 4];
    const own = rows.filter((row) => row.scene.split(":")[0] === family).map((row) => at(row.bodies, row.ms_per_step.median));
    legend(index, `${family}, measured`);
    context.beginPath();
    own.forEach((point) => context.lineTo(...point));
    context.stroke();
    own.forEach(([x, y]) => context.fillRect(x - 3, y - 3, 6, 6));
    for (const { times, dash } of models) {
      context.setLineDash(dash);
      context.beginPath();
      rows.forEach((row, place) => { if (row.scene.split(":")[0] === family) context.lineTo(...at(row.bodies, times[place])); });
      context.stroke();
    }
    context.setLineDash([]);
  });
  context.strokeStyle = context.fillStyle = ink;
  models.forEach(({ name, dash }, index) => {
    context.setLineDash(dash);
    legend(families.length + index, name);
  });
  context.setLineDash([]);
}

/** Curves of the model: for the visitor's device by measured speeds, for others by assumed ones. @param {any[]} rows */
function curvesOf(rows) {
  if (!rows.every((row) => row.limit)) return [];
  const assumed = ASSUMED.map(({ name, ...speeds }) => ({
    name: `model, ${name} (assumed speeds)`, dash: [2, 5],
    times: rows.map((row) => modelTime(row.limit.bytes, row.dispatches_per_step, speeds)),
  }));
  return [{ name: "model, this device", dash: [9, 5], times: rows.map((row) => row.limit.ms) }, ...assumed];
}

/** Says by which numbers the model is drawn. @param {{copy_gb_s?: {gpu: number}, dispatch_us?: number}} speeds */
function showSpeeds({ copy_gb_s: copy, dispatch_us: cost }) {
  const others = ASSUMED.map(({ name, ...speeds }) => ` For the ${name} ${speeds.copy_gb_s} GB/s and ${speeds.dispatch_us} µs are assumed.`).join("");
  element("model").textContent = copy && cost
    ? `This device copies ${copy.gpu.toPrecision(3)} GB/s (read and written) and takes ${cost.toPrecision(2)} µs for an empty dispatch, measured here.${others}`
    : "There was no memory to measure the copy speed, so there is no model.";
}

/** Opens a page that measures scenes at growing sizes. @param {Element[]} sources */
async function startBench(sources) {
  const { adapter, device } = await openDevice();
  device.lost.then((info) => report(new Error(`The graphics device was lost: ${info.message}`)));
  device.onuncapturederror = (event) => report(new Error(event.error.message));
  const status = element("status");
  const button = /** @type {HTMLButtonElement} */ (element("start"));
  drystone.bench = async (steps = 100, repeats = 5, count = sources.length) => {
    /** @type {any} */
    let all = null;
    button.disabled = true;
    const table = /** @type {HTMLTableSectionElement} */ (element("rows"));
    table.replaceChildren();
    for (const source of sources.slice(0, count)) {
      const { json, bytes } = await readData(source);
      status.textContent = `${json.bench.scene} …`;
      const world = new World(json, bytes, adapter, device);
      const result = await world.bench(steps, repeats);
      world.destroy();
      if (all) all.rows.push(...result.rows);
      else all = result;
      const [row] = result.rows;
      const line = table.insertRow();
      for (const cell of [row.scene, row.bodies, row.contacts, row.ms_per_step.median.toFixed(3), row.ms_per_step.min.toFixed(3), row.ms_per_step.max.toFixed(3), row.limit ? row.limit.ms.toFixed(3) : "", row.limit ? (1 / row.limit.share).toFixed(1) : ""]) line.insertCell().textContent = String(cell);
      plot(all.rows);
      showSpeeds(result.machine.speeds);
    }
    const link = /** @type {HTMLAnchorElement} */ (element("file"));
    link.href = URL.createObjectURL(new Blob([JSON.stringify(all, null, 1)], { type: "application/json" }));
    link.hidden = false;
    button.disabled = false;
    drystone.results = all;
    status.textContent = `Done. ${isSoftware(adapter) ? "This was a software adapter, not a GPU." : ""}`;
    return all;
  };
  const redraw = () => { if (drystone.results) plot(drystone.results.rows); };
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  button.onclick = () => { drystone.bench().catch(report); };
  button.disabled = false;
  status.textContent = `${sources.length} worlds, 5 × 100 steps each.${isSoftware(adapter) ? " Software adapter, not a GPU." : ""}`;
}

/** Opens the page. */
async function start() {
  const sources = [...document.querySelectorAll("script.data")];
  if (document.getElementById("curve")) return startBench(sources);
  const { json, bytes } = await readData(sources[0]);
  drystone.command_line = json.command;
  element("title").textContent = json.title;
  element("title").title = json.summary;
  const { adapter, device } = await openDevice();
  device.lost.then((info) => report(new Error(`The graphics device was lost: ${info.message} Reload the page to start again.`)));
  device.onuncapturederror = (event) => report(new Error(event.error.message));
  const world = new World(json, bytes, adapter, device);
  element("status").textContent = "Compiling …";
  await world.compile([...world.recorder.dispatches(null, world.capacity).map((dispatch) => dispatch.kernel), "command"]);
  const picture = new Picture(world, element("canvas"));
  drystone.world = world;
  drystone.picture = picture;
  drystone.control = new PageControl(world, picture);
  drystone.control.toggle(drystone.control.playing);
  requestAnimationFrame((time) => drystone.control && drystone.control.frame(time));
  // On a software adapter that takes long, and is left until a body is held.
  if (!world.software) world.compile(world.recorder.dispatches(null, world.capacity, false, true).map((dispatch) => dispatch.kernel)).catch(report);
}

Object.assign(window, { drystone });
drystone.ready = start();
drystone.ready.catch(report);
