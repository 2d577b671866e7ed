//! Operations on a world: the commands of clients, their parsing, and the records of them in the log.
//!
//! ```
//! use drystone_serve::op::Op;
//!
//! let op = Op::Step { steps: 60 };
//! assert_eq!(serde_json::to_string(&op)?, r#"{"step":{"steps":60}}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod additions;
mod command;
mod ids;
mod lists;
mod reading;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use additions::{Additions, ENTRY_BYTES, ID_BYTES};
pub use command::{CommandRecord, Plain};
pub use ids::{BodySelector, JointRef, body_from_text, joint_from_text};
pub(crate) use ids::{find_body, find_joint};
pub use lists::{PartList, Refs};
pub use reading::{
    read_body, read_commands, read_joint, read_json, read_list, read_parts, read_properties, read_shape, read_shapes,
};

/// Largest number of pointers that hold bodies of a world.
pub const MAX_POINTERS: usize = 64;

/// Change of a world, as the log records it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Commands on bodies and joints, in this order.
    Commands(Vec<CommandRecord>),
    /// Request for steps.
    Step {
        /// Number of steps.
        steps: u64,
    },
    /// Completion of a request for steps. Changes that follow in the log come after those steps, also during a
    /// replay.
    Reached {
        /// Number of the request, counted from the first of the world.
        request: u64,
        /// Answer to the client.
        answer: Value,
    },
    /// Answer to a request with a key that was executed elsewhere, such as in the store. It changes nothing else.
    Told {
        /// HTTP status.
        status: u16,
        /// Body, `null` for none.
        answer: Value,
    },
    /// End of a request for steps before its completion.
    Halt {
        /// Number of the request, counted from the first of the world.
        request: u64,
        /// Reason.
        reason: String,
        /// True if a limit was exceeded: the request is then answered with that problem.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        limit: bool,
    },
    /// Start of play mode: the world steps by itself.
    Play {
        /// Speed as a multiple of real time; None for as fast as possible.
        speed: Option<f64>,
        /// Seconds without a viewer after which the world pauses; None for never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unwatched: Option<f64>,
    },
    /// End of play mode, and of unfinished requests for steps.
    Pause,
    /// End of play mode because no client watched the world.
    PauseUnwatched,
}

/// Record of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogRecord {
    /// Number of steps done before it.
    pub at: u64,
    /// Change of state.
    pub op: Op,
    /// Idempotency key of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RequestKey>,
}

/// Idempotency key of a request, with a hash of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestKey {
    /// Key from the client.
    pub name: String,
    /// Hash of path and body.
    pub hash: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::config::Limits;
    use crate::problem::Problem;

    fn commands(text: &str) -> Result<Vec<CommandRecord>, Problem> {
        read_commands(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn parts_are_kept_as_text_without_blanks() {
        let text =
            r#" {"commands": [ {"spawn": {"bodies": [ {"id": "a \\\" b", "shapes": [ 1, 2 ]}, {"shapes": []} ]}} ]}"#;
        let read = commands(text).unwrap();
        let CommandRecord::Spawn { bodies, joints } = &read[0] else { panic!("{read:?}") };
        assert_eq!((bodies.len(), bodies.shapes(), joints.len()), (2, 2, 0));
        assert_eq!(bodies.text(), r#"[{"id":"a \\\" b","shapes":[1,2]},{"shapes":[]}]"#);
        // The format of earlier releases.
        let written = serde_json::to_string(&read[0]).unwrap();
        assert_eq!(written, format!(r#"{{"spawn":{{"bodies":{}}}}}"#, bodies.text()));
        let again: CommandRecord = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), written);
    }

    #[test]
    fn places_in_lists_are_told() {
        for (text, path) in [
            (r#"{"commands":[{"wake_all":{}},{"spawn":{"bodies":{}}}]}"#, "commands[1].spawn.bodies"),
            (r#"{"commands":[{"remove":{"bodies":[1,"a",-1]}}]}"#, "commands[0].remove.bodies[2]"),
            (r#"{"commands":[{"spawn":{"bodies":[],"more":1}}]}"#, "commands[0].spawn.more"),
            (r#"{"commands":7}"#, "commands"),
            (r#"{"commands":[],"commands":[]}"#, "commands"),
        ] {
            let problem = commands(text).unwrap_err();
            assert_eq!((problem.status, problem.path.as_deref()), (422, Some(path)), "{text}: {problem:?}");
        }
        assert!(commands("{}").unwrap_err().detail.contains("missing field `commands`"));
        assert!(commands("[[]]").unwrap_err().detail.contains("object with the key `commands`"));
    }

    #[test]
    fn lists_of_bodies_read_back() {
        let read = commands(r#"{"commands":[{"remove":{"bodies":[ 3, "1.0" , "a"]}}]}"#).unwrap();
        let CommandRecord::Remove { bodies } = &read[0] else { panic!("{read:?}") };
        let mut seen = Vec::new();
        bodies
            .try_each(|place, body| {
                seen.push((place, body));
                if place == 1 { Err(Problem::invalid("no")) } else { Ok(()) }
            })
            .unwrap_err();
        assert_eq!(seen, [(0, BodySelector::Slot(3)), (1, BodySelector::Name("1.0".to_owned()))]);
        assert_eq!(bodies.len(), 3);
    }

    #[test]
    fn joints_have_their_bodies_beside_them() {
        let joint = |text: &str| read_joint(&RawValue::from_string(text.to_owned()).unwrap(), false);
        assert!(joint(r#"{"type":"weld"}"#).is_ok());
        for (text, path) in [
            (r#"{"type":"weld","a":null}"#, "joint.a"),
            (r#"{"b":1}"#, "joint.b"),
            ("[]", "joint"),
            ("{}", "joint"),
            (r#"{"type":"weld","x":1}"#, "joint.x"),
        ] {
            assert_eq!(joint(text).unwrap_err().path.as_deref(), Some(path), "{text}");
        }
    }

    #[test]
    fn a_list_is_not_read_beyond_its_end() {
        let limits = Limits { commands: 2, ..Limits::default() };
        let text = format!(r#"{{"commands":[{}"#, r#"{"wake_all":{}},"#.repeat(3));
        let problem = read_commands(text.as_bytes(), &limits).unwrap_err();
        assert_eq!((problem.status, problem.path.as_deref()), (422, Some("commands")), "{problem:?}");
        assert!(problem.detail.contains("limits.commands"));
    }
}
