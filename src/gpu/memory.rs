//! Device memory of a world: every table, the element it has a row for, and its size. Buffers are created from this
//! list, and `drystone info` prints the totals.

use super::capacity::Capacity;
use super::{PARTNER_WORDS, SCAN_BLOCK};
use crate::scene::Compiled;
use crate::stages::color::split::max_splits;
use crate::types::{
    self, Aabb, Accumulator, BodyState, CLAIM_SLOTS, COLOR_BLOCK, COLOR_COUNT, ConstraintTile, Contact, Counters,
    EventData, HUB_WORDS, JointFrame, JointState, Manifold, Pose, Rebound, SURFACES, SleepingContact, Surface,
    TILE_LANES,
};
use crate::world_error::WorldError;

/// Minimum size of a buffer, in bytes: a binding must hold at least one element, even in a world without bodies.
const MIN_BUFFER: u64 = 256;

/// Element that a table has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// The world.
    World,
    /// A body, or a free slot for one.
    Body,
    /// A shape, or a free slot for one.
    Shape,
    /// A vertex of a polygon.
    Vertex,
    /// A cell of the grid.
    Cell,
    /// A word of `partners`: ten per shape, two per body, four per joint.
    Partner,
    /// A block of the longest scanned list, except lists of contacts.
    ScanBlock,
    /// A joint, or a free slot for one.
    Joint,
    /// Half a joint: two hinges of a tree have up to three bodies.
    TreeBody,
    /// A row of a joint.
    JointRow,
    /// A word of the lists of joints by colour.
    JointOrder,
    /// A shape or joint, whose events are counted.
    Reporter,
    /// A unit of contact capacity.
    Contact,
    /// A tile of [`TILE_LANES`] units of contact capacity.
    ContactTile,
    /// A colour of a block of contacts.
    BlockColor,
    /// A scan block of [`Per::BlockColor`] rows.
    BlockColorSum,
    /// A unit of event capacity.
    Event,
}

/// Condition under which a world has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Every world.
    Always,
    /// Worlds whose bodies may sleep.
    Sleep,
    /// Worlds in strict mode.
    Strict,
    /// Worlds in strict mode whose bodies may sleep.
    StrictSleep,
    /// Worlds whose materials need surface data: sliding friction, conveyor belts, rolling resistance.
    Surfaces,
    /// Worlds with restitution.
    Bounces,
    /// Worlds with events.
    Events,
}

/// A table on the device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceTable {
    /// Name of the table in the shaders.
    pub name: &'static str,
    /// Element it has a row for.
    pub per: Per,
    /// Size of a row, in bytes.
    pub bytes: usize,
    /// Additional rows.
    pub more: usize,
    /// Additional rows for each contact that can be split ([`max_splits`]).
    pub per_split: usize,
    /// Condition under which it exists.
    pub only: Where,
}

const fn table<T>(name: &'static str, per: Per) -> DeviceTable {
    DeviceTable { name, per, bytes: size_of::<T>(), more: 0, per_split: 0, only: Where::Always }
}

const fn only(table: DeviceTable, only: Where) -> DeviceTable {
    DeviceTable { only, ..table }
}

/// Adds one row, for the total of a scan.
const fn total(table: DeviceTable) -> DeviceTable {
    DeviceTable { more: 1, ..table }
}

/// Adds rows for the shares of hubs.
const fn split(table: DeviceTable, more: usize, per_split: usize) -> DeviceTable {
    DeviceTable { more, per_split, ..table }
}

/// All tables of a world.
pub const TABLES: &[DeviceTable] = &[
    table::<types::BodyData>("bodies", Per::Body),
    table::<Pose>("poses", Per::Body),
    // Behind the bodies, one row for each end of a contact that is split.
    split(table::<BodyState>("states", Per::Body), 0, 2),
    split(table::<Accumulator>("accumulators", Per::Body), 0, 2),
    table::<types::BodyMotion>("motions", Per::Body),
    table::<u32>("color_masks", Per::Body),
    table::<[u32; CLAIM_SLOTS as usize]>("color_claims", Per::Body),
    only(table::<Pose>("poses_backup", Per::Body), Where::Strict),
    only(split(table::<BodyState>("states_backup", Per::Body), 0, 2), Where::Strict),
    only(table::<u32>("islands", Per::Body), Where::Sleep),
    only(table::<u32>("island_flags", Per::Body), Where::Sleep),
    only(table::<u32>("islands_backup", Per::Body), Where::StrictSleep),
    table::<types::ShapeData>("shapes", Per::Shape),
    table::<types::CcdBody>("ccd_bodies", Per::Shape),
    table::<Aabb>("aabbs", Per::Shape),
    table::<u32>("shape_cells", Per::Shape),
    table::<u32>("cell_unsorted", Per::Shape),
    table::<u32>("cell_shapes", Per::Shape),
    total(table::<u32>("pair_starts_0", Per::Shape)),
    total(table::<u32>("pair_starts_1", Per::Shape)),
    total(only(table::<u32>("sleeping_starts", Per::Shape), Where::Sleep)),
    total(only(table::<u32>("merged_starts", Per::Shape), Where::Sleep)),
    total(only(table::<u32>("sleeping_starts_backup", Per::Shape), Where::StrictSleep)),
    table::<[f32; 2]>("vertices", Per::Vertex),
    total(table::<u32>("cell_ends", Per::Cell)),
    table::<Counters>("counters", Per::World),
    only(table::<Counters>("counters_backup", Per::World), Where::Strict),
    // The colour starts, then hubs and their shares ([`HUB_WORDS`]).
    split(table::<u32>("color_starts", Per::World), HUB_WORDS as usize, 7),
    table::<u32>("partners", Per::Partner),
    table::<u32>("block_sums", Per::ScanBlock),
    table::<types::JointData>("joints", Per::Joint),
    table::<JointState>("joint_states", Per::Joint),
    table::<JointFrame>("joint_frames", Per::Joint),
    only(table::<JointState>("joint_states_backup", Per::Joint), Where::Strict),
    table::<types::JointRow>("joint_rows", Per::JointRow),
    table::<[f32; 2]>("joint_impulses", Per::JointRow),
    only(table::<[f32; 2]>("joint_impulses_backup", Per::JointRow), Where::Strict),
    table::<u32>("joint_starts", Per::JointOrder),
    table::<types::TreeRow>("joint_trees", Per::TreeBody),
    total(only(table::<u32>("event_starts", Per::Reporter), Where::Events)),
    only(table::<EventData>("events", Per::Event), Where::Events),
    table::<Contact>("contacts_0", Per::Contact),
    table::<Contact>("contacts_1", Per::Contact),
    table::<Manifold>("manifolds_0", Per::Contact),
    table::<Manifold>("manifolds_1", Per::Contact),
    only(table::<SleepingContact>("sleeping", Per::Contact), Where::Sleep),
    only(table::<SleepingContact>("sleeping_backup", Per::Contact), Where::StrictSleep),
    // The additional rows are their number, the first that is split and the number of these, then the number of shares
    // at each end of these.
    split(table::<u32>("slots", Per::Contact), 3, 2),
    table::<[u32; 2]>("uncolored", Per::Contact),
    table::<u32>("contact_slots", Per::Contact),
    table::<ConstraintTile>("constraints", Per::ContactTile),
    only(table::<Surface>("surfaces", Per::Contact), Where::Surfaces),
    only(table::<Rebound>("rebounds", Per::Contact), Where::Bounces),
    table::<u32>("color_histogram", Per::BlockColor),
    table::<u32>("color_block_sums", Per::BlockColorSum),
];

/// Tables that are recreated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Tables sized by bodies, shapes and cells.
    Bodies,
    /// Tables sized by joints as well.
    Joints,
    /// Tables sized by contacts.
    Contacts,
    /// Tables sized by events.
    Events,
}

impl DeviceTable {
    pub(super) fn group(&self) -> Group {
        match self.per {
            Per::World | Per::Body | Per::Shape | Per::Vertex | Per::Cell => Group::Bodies,
            Per::Partner
            | Per::ScanBlock
            | Per::Joint
            | Per::TreeBody
            | Per::JointRow
            | Per::JointOrder
            | Per::Reporter => Group::Joints,
            Per::Contact | Per::ContactTile | Per::BlockColor | Per::BlockColorSum => Group::Contacts,
            Per::Event => Group::Events,
        }
    }
}

/// Features of a world that decide which tables exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Bodies may sleep.
    pub sleep: bool,
    /// Steps that overflow a table are repeated.
    pub strict: bool,
    /// Materials need surface data.
    pub surfaces: bool,
    /// Restitution is used.
    pub bounces: bool,
    /// Events are recorded.
    pub events: bool,
}

impl Features {
    /// Returns the features of a compiled scene.
    pub(super) fn of(compiled: &Compiled) -> Self {
        Self {
            sleep: compiled.settings.sleep,
            strict: compiled.settings.strict,
            surfaces: compiled.params.switches & SURFACES != 0,
            bounces: compiled.bounces,
            events: compiled.settings.events,
        }
    }

    /// Returns the union of the features of two worlds with equal settings.
    pub(super) fn and(self, other: Self) -> Self {
        Self { surfaces: self.surfaces || other.surfaces, bounces: self.bounces || other.bounces, ..self }
    }

    /// Returns true if a table with this condition exists.
    fn have(self, only: Where) -> bool {
        match only {
            Where::Always => true,
            Where::Sleep => self.sleep,
            Where::Strict => self.strict,
            Where::StrictSleep => self.strict && self.sleep,
            Where::Surfaces => self.surfaces,
            Where::Bounces => self.bounces,
            Where::Events => self.events,
        }
    }
}

/// Element capacities of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bodies.
    pub bodies: usize,
    /// Shapes.
    pub shapes: usize,
    /// Vertices of polygons.
    pub vertices: usize,
    /// Cells of the grid.
    pub cells: usize,
    /// Joints.
    pub joints: usize,
    /// Rows of joints.
    pub rows: usize,
    /// Words of the lists of joints by colour.
    pub order: usize,
    /// Contacts.
    pub contacts: usize,
    /// Events.
    pub events: usize,
}

impl Sizes {
    pub(super) fn new(capacity: Capacity, contacts: u32, events: u32) -> Self {
        let Capacity { bodies, shapes, vertices, cells, joints, rows, order } = capacity;
        let (contacts, events) = (contacts as usize, events as usize);
        Self { bodies, shapes, vertices, cells, joints, rows, order, contacts, events }
    }

    /// Returns the number of blocks in which contacts are counted by colour.
    #[must_use]
    pub fn color_blocks(&self) -> usize {
        self.contacts.div_ceil(COLOR_BLOCK as usize)
    }

    /// Returns the number of contacts that can be split.
    #[must_use]
    pub fn splits(&self) -> usize {
        max_splits(u32::try_from(self.shapes).unwrap_or(u32::MAX)) as usize
    }

    /// Returns the offsets in `partners`, in words, of the pair exclusions: heads of bodies, links of joints.
    #[must_use]
    pub fn exclusions(&self) -> [usize; 2] {
        [self.shapes * PARTNER_WORDS, self.shapes * PARTNER_WORDS + 2 * self.bodies]
    }

    /// Returns the rows of a table.
    #[must_use]
    pub fn rows_of(&self, table: &DeviceTable, features: Features) -> usize {
        if !features.have(table.only) {
            return 0;
        }
        let block_colors = self.color_blocks() * COLOR_COUNT as usize;
        let rows = match table.per {
            Per::World => 1,
            Per::Body => self.bodies,
            Per::Shape => self.shapes,
            Per::Vertex => self.vertices,
            Per::Cell => self.cells,
            Per::Partner => self.exclusions()[1] + 4 * self.joints,
            Per::ScanBlock => (self.cells + 1).max(self.shapes + self.joints + 1).div_ceil(SCAN_BLOCK as usize),
            Per::Joint => self.joints,
            Per::TreeBody => 2 * self.joints,
            Per::JointRow => self.rows,
            Per::JointOrder => self.order,
            Per::Reporter => self.shapes + self.joints,
            Per::Contact => self.contacts,
            Per::ContactTile => self.contacts.div_ceil(TILE_LANES as usize),
            Per::BlockColor => block_colors,
            Per::BlockColorSum => block_colors.div_ceil(SCAN_BLOCK as usize),
            Per::Event => self.events,
        };
        rows + table.more + table.per_split * self.splits()
    }

    /// Returns the size of a table's buffer for this number of worlds, in bytes.
    #[must_use]
    pub fn bytes_of(&self, table: &DeviceTable, features: Features, worlds: u32) -> u64 {
        let bytes = self.rows_of(table, features) as u64 * table.bytes as u64 * u64::from(worlds);
        // A binding must hold at least one row.
        buffer_bytes(bytes.max(table.bytes as u64))
    }

    /// Returns the size of all tables, in bytes.
    #[must_use]
    pub fn bytes(&self, features: Features) -> u64 {
        TABLES.iter().map(|table| self.bytes_of(table, features, 1)).sum()
    }

    /// Returns the table with the largest buffer, and its size in bytes.
    #[must_use]
    pub fn largest(&self, features: Features) -> (&'static str, u64) {
        let sizes = TABLES.iter().map(|table| (table.name, self.bytes_of(table, features, 1)));
        sizes.max_by_key(|&(_, bytes)| bytes).unwrap_or_default()
    }

    /// Checks that all tables of the selected groups fit buffers of this size, before any is created.
    ///
    /// # Errors
    /// The first table that does not fit, with its size.
    pub(super) fn check(
        &self,
        features: Features,
        worlds: u32,
        limit: u64,
        of: impl Fn(Group) -> bool,
    ) -> Result<(), WorldError> {
        for table in TABLES.iter().filter(|table| of(table.group())) {
            let bytes = self.bytes_of(table, features, worlds);
            // Row indices must fit 32 bits, too.
            let rows = self.rows_of(table, features) as u64 * u64::from(worlds);
            if bytes > limit || u32::try_from(rows).is_err() {
                return Err(WorldError::TooLarge { buffer: table.name, bytes, limit });
            }
        }
        Ok(())
    }
}

/// Returns a valid buffer size for a number of bytes: never zero, and a multiple of 16.
pub(super) fn buffer_bytes(bytes: u64) -> u64 {
    bytes.max(MIN_BUFFER).next_multiple_of(16)
}

/// Returns the largest number of bodies (with one shape each) and of contacts for which no table of one world exceeds a
/// buffer of this size.
#[must_use]
pub fn most(limit: u64, features: Features) -> [u64; 2] {
    let one = |bodies: usize, contacts: usize| {
        // Large enough that constant terms are negligible.
        const MANY: usize = 1 << 24;
        let sizes =
            Sizes { bodies: bodies * MANY, shapes: bodies * MANY, contacts: contacts * MANY, ..Sizes::default() };
        let most = TABLES.iter().map(|table| sizes.bytes_of(table, features, 1)).max().unwrap_or(1);
        u64::try_from(u128::from(limit) * MANY as u128 / u128::from(most.max(1))).unwrap_or(u64::MAX)
    };
    [one(1, 0), one(0, 1)].map(|most| most.min(u64::from(u32::MAX)))
}

/// Returns the bytes per body (with one shape) and per unit of contact capacity in a world with these features. A body
/// is counted with four grid cells, the most that a dense scene has per body.
#[must_use]
pub fn bytes_each(features: Features) -> [f64; 2] {
    const MANY: usize = 1 << 24;
    // Without what any large world has, such as the tables of hubs.
    let bodies = |count: usize| Sizes { bodies: count, shapes: count, cells: 4 * count, ..Sizes::default() };
    let contacts = |count: usize| Sizes { contacts: count, ..Sizes::default() };
    [[bodies(MANY), bodies(2 * MANY)], [contacts(MANY), contacts(2 * MANY)]]
        .map(|[one, two]| (two.bytes(features) - one.bytes(features)) as f64 / MANY as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of boxes with four cells each, and their contacts.
    fn boxes(bodies: usize, contacts: usize) -> Sizes {
        Sizes { bodies, shapes: bodies, cells: 4 * bodies, contacts, order: 256, ..Sizes::default() }
    }

    /// A million boxes with three million contacts fit in 1.63 GB. wgpu allows bindings of 2 GiB less one byte, on any
    /// adapter, for any memory: 19 million contacts.
    #[test]
    fn a_million_and_more_boxes() {
        let features = Features::default();
        let million = boxes(1_000_000, 3_000_000);
        let bytes = million.bytes(features);
        assert!(bytes < 1_630_000_000, "{bytes}");
        let (name, largest) = million.largest(features);
        assert_eq!((name, largest), ("manifolds_1", 336_000_000));
        assert!(million.check(features, 1, 1 << 30, |_| true).is_ok());

        // At three contacts each, six million boxes are the most.
        let large = i32::MAX as u64;
        assert_eq!(most(large, features)[1], 19_173_961);
        assert!(boxes(6_000_000, 19_000_000).check(features, 1, large, |_| true).is_ok());
        let error = boxes(10_000_000, 30_000_000).check(features, 1, large, |_| true).unwrap_err().to_string();
        assert_eq!(error, "buffer manifolds_0 needs 3360000000 bytes, the device allows 2147483647");
        // With a smaller limit, the error names the first table that does not fit, before any is created.
        let error = boxes(6_000_000, 19_000_000).check(features, 1, 1 << 30, |_| true).unwrap_err().to_string();
        assert_eq!(error, "buffer manifolds_0 needs 2128000000 bytes, the device allows 1073741824");
    }

    #[test]
    fn bytes_each_add_up() {
        let all = Features { sleep: true, strict: true, surfaces: true, bounces: true, events: true };
        for features in [Features::default(), all] {
            let [body, contact] = bytes_each(features);
            let whole = boxes(1 << 25, 1 << 26).bytes(features) as f64;
            let sum = body * f64::from(1 << 25) + contact * f64::from(1 << 26);
            assert!((whole / sum - 1.0).abs() < 1e-3, "{whole} {sum}");
        }
        // The figures in README.md.
        let [body, contact] = bytes_each(Features::default());
        assert!((body - 408.0).abs() < 0.1 && (contact - 400.5).abs() < 0.1, "{body} {contact}");
        let [plain, sleepy] = [false, true].map(|sleep| bytes_each(Features { sleep, ..Features::default() }));
        assert!(sleepy[0] > plain[0] && (sleepy[1] - plain[1] - 144.0).abs() < 1.0, "{plain:?} {sleepy:?}");
    }

    #[test]
    fn the_most_fits_and_one_more_does_not() {
        let features = Features::default();
        let limit = 1 << 27;
        let [bodies, contacts] = most(limit, features).map(|most| usize::try_from(most).unwrap());
        let fits = |bodies, contacts| {
            let sizes = Sizes { bodies, shapes: bodies, contacts, ..Sizes::default() };
            sizes.check(features, 1, limit, |_| true).is_ok()
        };
        // Within two, because of additional rows and rounding to 16 bytes.
        assert!(fits(bodies - 2, 0) && !fits(bodies + 2, 0));
        assert!(fits(0, contacts - 2) && !fits(0, contacts + 2));
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::HashSet<&str> = TABLES.iter().map(|table| table.name).collect();
        assert_eq!(names.len(), TABLES.len());
    }
}
