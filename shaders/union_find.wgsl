// Lock-free union-find over bodies, for sleeping islands and their colours in pictures. The root of an island is its
// lowest index, whichever thread unites first. The importing shader owns the table of parents and defines
//
//   fn parent_of(body: u32) -> u32                  returns the parent, which is lower; for a root, the body itself
//   fn lower_parent(body: u32, parent: u32)         lowers the parent to this one if this is lower
//   fn adopt(root: u32, parent: u32) -> bool        puts a root under a parent; false if it is no longer a root

// Returns the root of a body. Every other body on the way is put under the parent of its parent (path halving). Other
// threads may do the same at the same time: each store only moves a body further up.
fn root_of(body: u32) -> u32 {
    var at = body;
    loop {
        let parent = parent_of(at);
        if parent >= at {
            return at;
        }
        let further = min(parent_of(parent), parent);
        if further != parent {
            lower_parent(at, further);
        }
        at = further;
    }
    return at;
}

// Merges two islands: puts the larger root under the smaller, if it is still a root.
fn unite(body_a: u32, body_b: u32) {
    var a = root_of(body_a);
    var b = root_of(body_b);
    while a != b {
        let low = min(a, b);
        let high = max(a, b);
        if adopt(high, low) {
            return;
        }
        a = root_of(high);
        b = root_of(low);
    }
}
