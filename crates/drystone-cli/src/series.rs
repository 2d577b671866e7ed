//! Tables over time as CSV (`--csv`): energies, contact points, reactions of joints, events. Names of columns end in
//! their unit, as in the tables of the service's page: `time_s`, `force_x_N`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use drystone::low_level::population::joint_place;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::{self, JointReaction, Metrics, ReportedContact};
use drystone::low_level::types::NONE;
use drystone::{BodyId, Event, EventKind, Snapshot, World};

use super::failure::Failure;
use super::output::Destination;
use super::time;

/// Contents of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvKind {
    /// Energies, momentum and penetration, a row a step.
    Energies,
    /// Contact points with impulses and forces, a row a point and step.
    Contacts,
    /// Reactions of joints, a row a joint and step.
    Joints,
    /// Events, a row each: contacts and sensor overlaps that begin and end, joints that break, bodies that fall asleep
    /// and wake.
    Events,
}

/// Value of `--csv`: contents and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOption {
    kind: CsvKind,
    path: PathBuf,
}

/// Parses a value of `--csv`.
///
/// # Errors
/// It is not `KIND=FILE`.
pub fn parse(text: &str) -> Result<CsvOption, String> {
    let (kind, path) =
        text.split_once('=').ok_or("expected energies=FILE, contacts=FILE, joints=FILE or events=FILE")?;
    let kind = match kind {
        "energies" => CsvKind::Energies,
        "contacts" => CsvKind::Contacts,
        "joints" => CsvKind::Joints,
        "events" => CsvKind::Events,
        other => return Err(format!("{other:?} is not energies, contacts, joints or events")),
    };
    Ok(CsvOption { kind, path: path.into() })
}

impl CsvOption {
    /// Returns true if the table needs the events of the world.
    pub fn is_of_events(&self) -> bool {
        self.kind == CsvKind::Events
    }
}

/// A table in progress.
pub struct CsvTable {
    kind: CsvKind,
    destination: Destination,
    /// For each slot, true if its body slept at the last step, for a table of events.
    asleep: Vec<bool>,
}

impl CsvTable {
    /// Opens the file and writes the names of the columns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn open(option: &CsvOption) -> Result<Self, Failure> {
        let mut destination = Destination::open("--csv", &option.path, &["csv"])?;
        let columns = match option.kind {
            CsvKind::Energies => {
                "kinetic_energy_J,potential_energy_J,elastic_energy_J,total_energy_J,momentum_x_kg_m_per_s,\
                 momentum_y_kg_m_per_s,angular_momentum_kg_m2_per_s,max_speed_m_per_s,max_penetration_m,\
                 mean_penetration_m,joint_error_m"
            }
            CsvKind::Contacts => {
                "body_a,body_b,id_a,id_b,point,x_m,y_m,normal_x,normal_y,separation_m,normal_impulse_N_s,\
                 tangent_impulse_N_s,force_x_N,force_y_N"
            }
            CsvKind::Joints => "joint,id,force_x_N,force_y_N,torque_N_m,between_x_m,between_y_m,angle_rad,broken",
            CsvKind::Events => {
                "kind,body_a,body_b,id_a,id_b,shape_a,shape_b,joint,joint_id,x_m,y_m,normal_x,normal_y,\
                 approach_speed_m_per_s"
            }
        };
        destination.fill(format!("step,time_s,{columns}\n").as_bytes())?;
        Ok(Self { kind: option.kind, destination, asleep: Vec::new() })
    }

    /// Returns the file, for checks.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Adds the rows of a state.
    ///
    /// # Errors
    /// If the disk is full, for example.
    pub fn push(&mut self, compiled: &Compiled, snapshot: &Snapshot) -> Result<(), Failure> {
        let time = time::after(snapshot.step, compiled.params.dt);
        let mut rows = String::new();
        let mut row = |cells: String| {
            // Writing to a string does not fail.
            let _ = writeln!(rows, "{},{time},{cells}", snapshot.step);
        };
        match self.kind {
            CsvKind::Energies => {
                let m: Metrics = state::metrics(compiled, snapshot);
                let [x, y] = m.momentum;
                row(format!(
                    "{},{},{},{},{x},{y},{},{},{},{},{}",
                    m.kinetic_energy,
                    m.potential_energy,
                    m.elastic_energy,
                    m.total_energy,
                    m.angular_momentum,
                    m.max_speed,
                    m.max_penetration,
                    m.mean_penetration,
                    m.joint_error
                ));
            }
            CsvKind::Contacts => {
                for contact in state::contact_points(compiled, snapshot) {
                    let ReportedContact { bodies: [a, b], ids: [id_a, id_b], point, .. } = &contact;
                    let ([x, y], [n_x, n_y], [f_x, f_y]) = (contact.position, contact.normal, contact.force);
                    row(format!(
                        "{a},{b},{},{},{point},{x},{y},{n_x},{n_y},{},{},{},{f_x},{f_y}",
                        cell(id_a.as_deref()),
                        cell(id_b.as_deref()),
                        contact.separation,
                        contact.normal_impulse,
                        contact.tangent_impulse
                    ));
                }
            }
            CsvKind::Joints => {
                for reaction in &state::joint_reactions(compiled, snapshot) {
                    let JointReaction { joint, id, force: [f_x, f_y], torque, between: [x, y], angle, broken } =
                        reaction;
                    let index = joint.index;
                    row(format!("{index},{},{f_x},{f_y},{torque},{x},{y},{angle},{broken}", cell(id.as_deref())));
                }
            }
            // They have rows of their own.
            CsvKind::Events => {}
        }
        self.write(&rows)
    }

    fn write(&mut self, rows: &str) -> Result<(), Failure> {
        let shown = self.destination.shown.clone();
        self.destination.write_all(rows.as_bytes()).map_err(|error| Failure::write(&shown, &error))
    }

    /// Returns true if the table is one of events.
    pub fn is_of_events(&self) -> bool {
        self.kind == CsvKind::Events
    }

    /// Adds the events since the last step. The step of a row is that of the state in which it is seen first, as in the
    /// other tables.
    ///
    /// # Errors
    /// If the device is lost, or the disk is full, for example.
    pub fn push_events(&mut self, world: &mut World) -> Result<(), Failure> {
        world.wait()?;
        let events = world.take_events()?;
        let (steps, dt) = (world.steps(), world.compiled().params.dt);
        let mut rows = String::new();
        for event in &events {
            let _ =
                writeln!(rows, "{},{},{}", event.step + 1, time::after(event.step + 1, dt), event_cells(world, event));
        }
        if world.compiled().settings.sleep {
            let snapshot = world.snapshot()?;
            let compiled = world.compiled();
            let asleep: Vec<bool> =
                (0..compiled.bodies.len()).map(|body| state::is_asleep(compiled, &snapshot, body)).collect();
            for (body, (&now, &before)) in asleep.iter().zip(&self.asleep).enumerate() {
                if now != before && world.body_id(body).is_some() {
                    let (kind, id) = (if now { "sleep" } else { "wake" }, cell(compiled.ids[body].as_deref()));
                    let _ = writeln!(rows, "{steps},{},{kind},{body},,{id},,,,,,,,,,", time::after(steps, dt));
                }
            }
            self.asleep = asleep;
        }
        self.write(&rows)
    }

    /// Returns the complete file.
    pub fn finish(self) -> Destination {
        self.destination
    }
}

/// Returns the cells of an event after its time.
fn event_cells(world: &World, event: &Event) -> String {
    let compiled = world.compiled();
    let number = |index: u32| if index == NONE { String::new() } else { index.to_string() };
    let [a, b] = event.bodies.map(number);
    // A body that was removed, and whose slot another one has, has no name any more.
    let name = |id: Option<BodyId>| {
        let slot = id.filter(|&id| world.contains(id)).map(|id| id.index as usize);
        cell(slot.and_then(|slot| compiled.ids[slot].as_deref()))
    };
    let [id_a, id_b] = event.ids.map(name);
    let [shape_a, shape_b] = event.shapes.map(number);
    let joint = event.joint.map_or_else(String::new, |joint| joint.index.to_string());
    let is_there = event.joint.filter(|&joint| joint_place(compiled, joint).is_some());
    let joint_name = is_there.and_then(|joint| compiled.joints.ids[joint.index as usize].as_deref());
    let contact = if event.kind == EventKind::Begin {
        let ([x, y], [n_x, n_y]) = (event.point, event.normal);
        format!("{x},{y},{n_x},{n_y},{}", event.approach_speed)
    } else {
        ",,,,".to_owned()
    };
    format!("{},{a},{b},{id_a},{id_b},{shape_a},{shape_b},{joint},{},{contact}", event.kind, cell(joint_name))
}

/// Returns a name as a cell of CSV (RFC 4180); empty without a name.
fn cell(name: Option<&str>) -> String {
    match name {
        Some(name) if name.contains([',', '"', '\n', '\r']) => format!("\"{}\"", name.replace('"', "\"\"")),
        name => name.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_contents_and_file() {
        let option = parse("contacts=a=b.csv").unwrap();
        assert_eq!(option, CsvOption { kind: CsvKind::Contacts, path: "a=b.csv".into() });
        assert!(parse("a.csv").unwrap_err().contains("energies=FILE"));
        assert!(parse("forces=a.csv").unwrap_err().contains("forces"));
    }

    #[test]
    fn names_with_commas_stay_one_cell() {
        assert_eq!(cell(Some("a,\"b\"")), "\"a,\"\"b\"\"\"");
        assert_eq!(cell(Some("plain")), "plain");
        assert_eq!(cell(None), "");
    }
}
