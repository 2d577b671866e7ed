// What is in the cells of the grid, after bin: for pair, continuous and query, which read cell_ends.

// Where the shapes of a cell start in the table of shapes by cell.
fn slots_before(cell: u32) -> u32 {
    if cell == 0u {
        return 0u;
    }
    return cell_ends[cell - 1u];
}
