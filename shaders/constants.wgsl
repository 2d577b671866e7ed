// Constants of the physics that shaders need. src/constants.rs has their units, their sources and what goes wrong with
// other values. tests/layout.rs compares the two.

const MIN_LENGTH: f32 = 1e-5;

const CROWD: u32 = 16384u;

const RECYCLE_COS: f32 = 0.98;
const FACE_PREFERENCE: f32 = 0.1;
const PASSING_MOTION: f32 = 0.1;
const PASSING_SHARE: f32 = 0.5;
const SAME_FACE: f32 = 0.966;
const EDGE_PREFERENCE: f32 = 1e-6;
const LINK_SLACK: f32 = 2e-7;
const LINK_OVERLAP: f32 = 1e-3;
const PARALLEL: f32 = 1e-6;
const MIN_CORNER_ANGLE: f32 = 0.5;
const ROUNDING: f32 = 1e-6;

const FAST: f32 = -1.0;
const SWEPT: f32 = -2.0;

const MIN_DETERMINANT: f32 = 0.01;
const GAP: f32 = 1e-3;
const MAX_PRELOAD: f32 = 20.0;
const UNLOAD_SHARE: f32 = 0.5;
const UNLOAD_RATE: f32 = 0.2;
const CALM: f32 = 4.0;
const SCALED_FLOOR: f32 = 4.0;
const SCALED_SPREAD: f32 = 0.9;
const DAMPED_SHARE: f32 = 0.25;

const UNTOUCHED: f32 = -1.0;
const TREE_RATIO: f32 = 30.0;
const TREE_PULL: f32 = 0.03125;
const MAX_SWING: f32 = 2.0;
const MAX_ANGULAR_CORRECTION: f32 = 0.13962634;

const MAX_SUM: f32 = 1e30;
const FAR_MARGIN: f32 = 2.5e-7;
const FAR: f32 = 1e30;

const CORE: f32 = 0.5;
const STOUT: f32 = 1.5;
const STOP_SHARE: f32 = 0.25;
const STOP_THICKNESS: f32 = 0.1;
const STOP_EXTENT: f32 = 1e-3;
const STOP_TOLERANCE: f32 = 0.01;
const TOUCH: f32 = 2.0;
const MAX_ADVANCES: u32 = 32u;

const MOVED_SHARE: f32 = 0.5;
const MAX_QUIET: u32 = 0xffffu;

const RAY_SLACK: f32 = 2e-6;
const SLICE_CELLS: u32 = 4u;
