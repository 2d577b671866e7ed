//! Handler that lists the built-in scenes.

use super::asked::HandlerResult;
use crate::answers;
use crate::session::Answer;
use drystone_scenes::catalogue;

/// Lists the built-in scenes, with their parameters.
#[utoipa::path(get, path = "/v1/scenes", tag = "scenes",
    responses((status = 200, body = answers::Scenes)))]
pub async fn scenes() -> HandlerResult {
    let parameter = |p: &catalogue::Parameter| answers::SceneParameter {
        name: p.name,
        default: p.default,
        min: p.min,
        max: p.max,
        integer: p.integer,
        meaning: p.meaning,
    };
    let entry = |entry: &catalogue::Entry| answers::SceneEntry {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        steps: entry.steps,
        bodies: entry.body_count(&[]).ok(),
        parameters: entry.parameters.iter().map(parameter).collect(),
    };
    Ok(Answer::json(&answers::Scenes { scenes: catalogue::entries().iter().map(entry).collect() }))
}
