// Union-find over bodies, without locks: islands of sleep, and their colours in pictures. The root of an island is its lowest
// index, whichever thread unites first. The importer has the table and defines
//
//   fn parent_of(body: u32) -> u32                  the parent, lower than the body; or the body itself, if it is a root
//   fn lower_parent(body: u32, parent: u32)         the lower of its parent and this one becomes its parent
//   fn adopt(root: u32, parent: u32) -> bool        puts a root under a parent; false if it is a root no longer

// The root above a body. Every other body on the way is put under the parent of its parent: other threads may do the same,
// and all that is ever stored is a body further up.
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

// Makes one island of two: the larger root goes under the smaller, if it still is one.
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
