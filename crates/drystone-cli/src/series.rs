//! Tables over time as CSV (`--csv`): energies, contact points, reactions of joints.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use drystone::Snapshot;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::{self, JointReaction, Metrics, ReportedContact};

use super::failure::Failure;
use super::output::Destination;

/// Contents of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvKind {
    /// Energies, momentum and penetration, a row a step.
    Energies,
    /// Contact points with impulses and forces, a row a point and step.
    Contacts,
    /// Reactions of joints, a row a joint and step.
    Joints,
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
    let (kind, path) = text.split_once('=').ok_or("expected energies=FILE, contacts=FILE or joints=FILE")?;
    let kind = match kind {
        "energies" => CsvKind::Energies,
        "contacts" => CsvKind::Contacts,
        "joints" => CsvKind::Joints,
        other => return Err(format!("{other:?} is not energies, contacts or joints")),
    };
    Ok(CsvOption { kind, path: path.into() })
}

/// A table in progress.
pub struct CsvTable {
    kind: CsvKind,
    destination: Destination,
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
                "kinetic_energy,potential_energy,elastic_energy,total_energy,momentum_x,momentum_y,angular_momentum,\
                 max_speed,max_penetration,mean_penetration,joint_error"
            }
            CsvKind::Contacts => {
                "body_a,body_b,id_a,id_b,point,x,y,normal_x,normal_y,separation,normal_impulse,tangent_impulse,\
                 force_x,force_y"
            }
            CsvKind::Joints => "joint,id,force_x,force_y,torque,between_x,between_y,angle,broken",
        };
        destination.fill(format!("step,time,{columns}\n").as_bytes())?;
        Ok(Self { kind: option.kind, destination })
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
        let time = snapshot.step as f64 * f64::from(compiled.params.dt);
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
                for (index, joint) in state::joint_reactions(compiled, snapshot).iter().enumerate() {
                    let JointReaction { id, force: [f_x, f_y], torque, between: [x, y], angle, broken } = joint;
                    row(format!("{index},{},{f_x},{f_y},{torque},{x},{y},{angle},{broken}", cell(id.as_deref())));
                }
            }
        }
        let shown = self.destination.shown.clone();
        self.destination.write_all(rows.as_bytes()).map_err(|error| Failure::write(&shown, &error))
    }

    /// Returns the complete file.
    pub fn finish(self) -> Destination {
        self.destination
    }
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
