// Search of the grid after bin, for pair, continuous, query and the picture of the cells. The importer binds `params`
// and `cell_ends`. Twins on the CPU: `cells_between` and `runs_of_row` of src/stages/bin.rs.
//
// A level is a torus of cells that are stored row by row. The shapes that a box can meet are, in each row, one run of
// slots of `cell_shapes`, or two if the row wraps around the edge.

//#import types
//#import constants
//#import grid

// Slots of `cell_shapes` from `slot` to before `end`. If it `wraps`, the row continues in a second run.
struct Run {
    slot: u32,
    end: u32,
    wraps: bool,
}

// Returns the run, or an empty one for a crowd: a search of k shapes by each of k shapes would take minutes.
fn without_crowd(run: Run) -> Run {
    return Run(select(run.slot, run.end, is_crowd(run)), run.end, run.wraps);
}

fn is_crowd(run: Run) -> bool {
    return run.end - run.slot > CROWD;
}

// Columns and rows of a level, both ends included.
struct CellRange {
    low: vec2<i32>,
    high: vec2<i32>,
}

// Returns the start of a cell in `cell_shapes`.
fn slots_before(cell: u32) -> u32 {
    if cell == 0u {
        return 0u;
    }
    return cell_ends[cell - 1u];
}

fn run_of_cells(first: u32, last: u32) -> Run {
    return Run(slots_before(first), cell_ends[last], false);
}

fn run_of_level(level: u32) -> Run {
    let first = params.levels[level].first_cell;
    return run_of_cells(first, first + (1u << (params.levels[level].log2_width + params.levels[level].log2_height)) - 1u);
}

// Returns the cells of a level with shapes that can meet a box: those within half a cell of it, each once, however
// large the box.
fn cells_around(level: u32, low: vec2<f32>, high: vec2<f32>) -> CellRange {
    let half = params.levels[level].half_cell;
    let first = cell_of(params.levels[level], low - half);
    let torus = vec2<i32>(1i << params.levels[level].log2_width, 1i << params.levels[level].log2_height);
    return CellRange(first, min(cell_of(params.levels[level], high + half), first + torus - 1i));
}

// Returns the first run of a row.
fn run_of_row(level: u32, range: CellRange, row: i32) -> Run {
    let first = cell_index(params.levels[level], range.low.x, row);
    let last = cell_index(params.levels[level], range.high.x, row);
    let wraps = first > last;
    return Run(slots_before(first), cell_ends[select(last, cell_index(params.levels[level], -1, row), wraps)], wraps);
}

// Returns the second run of a row that wraps.
fn rest_of_row(level: u32, range: CellRange, row: i32) -> Run {
    return run_of_cells(
        cell_index(params.levels[level], 0, row), cell_index(params.levels[level], range.high.x, row),
    );
}
