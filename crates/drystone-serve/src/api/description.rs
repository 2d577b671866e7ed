//! API description (OpenAPI): what the handlers declare, the responses common to all of them, and the schema of
//! scenes.

use serde_json::{Map, Value, json};

use drystone_scenes::file::json_schema;

/// Status codes of problems that any request may get.
const ANY: &[u16] = &[400, 401, 403, 429];
/// Status codes of a request about a world.
const WORLD: &[u16] = &[404, 422, 500, 503, 507];
/// Status codes of a request with a body.
const BODY: &[u16] = &[408, 409, 413, 415, 422, 500, 503, 507];

fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "Done",
        "201" => "Created",
        "204" => "Deleted",
        "400" => "Malformed request",
        "401" => "Unauthorized: a token is required",
        "403" => "Forbidden: Host or Origin not allowed",
        "404" => "Not found",
        "408" => "Request timeout: the body did not arrive in time",
        "409" => {
            "Conflict: the world is in another state, or (type `urn:drystone:busy`) the first request with this key is \
             still in progress"
        }
        "413" => "Request too large",
        "415" => "Unsupported media type: the body is not JSON",
        "422" => "Invalid value, or limit exceeded; `path` says which",
        "429" => "Too many requests; `Retry-After` says when to retry",
        "500" => "Internal server error, or stored world damaged",
        "503" => {
            "Service unavailable: starting, stopping, device lost or store unreachable; `Retry-After` says when to retry"
        }
        "507" => "The store refused the change; it has not happened",
        _ => "",
    }
}

fn problem(status: &str) -> Value {
    let mut response = json!({
        "description": meaning(status),
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
    });
    if matches!(status, "429" | "503" | "507") {
        response["headers"] =
            json!({ "Retry-After": { "description": "Seconds", "schema": { "type": "integer", "minimum": 1 } } });
    }
    response
}

/// Adds the common responses and the schema of scenes to the handlers' declarations.
pub fn complete(mut document: Value) -> Value {
    let empty = Map::new();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            let has_body = method == "post";
            let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { continue };
            for (status, response) in &mut *responses {
                if response["description"].as_str().is_none_or(str::is_empty) {
                    response["description"] = meaning(status).into();
                }
            }
            let mut add = |statuses: &[u16]| {
                for status in statuses {
                    let status = status.to_string();
                    let described = problem(&status);
                    responses.insert(status, described);
                }
            };
            if path.starts_with("/v1/") || path == "/metrics" {
                add(ANY);
            }
            if path.contains("{id}") {
                add(WORLD);
            }
            if has_body {
                add(BODY);
            }
            if method == "delete" {
                add(&[409]);
            }
            if path == "/health/ready" {
                add(&[503]);
            }
        }
    }
    let schema: Value = serde_json::from_str(&json_schema()).unwrap_or_default();
    if let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
        schemas.values_mut().for_each(vectors);
        for name in ["CommandRecord", "QueryRecord"] {
            let kinds = schemas.get_mut(name).and_then(|schema| schema.get_mut("oneOf")).and_then(Value::as_array_mut);
            for kind in kinds.into_iter().flatten().filter_map(Value::as_object_mut) {
                kind.insert("additionalProperties".to_owned(), false.into());
                let inner = kind.get_mut("properties").and_then(Value::as_object_mut);
                for inner in inner.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
                    if inner.get("type").is_some_and(|kind| kind == "object") {
                        inner.insert("additionalProperties".to_owned(), false.into());
                    }
                }
            }
        }
        for (name, part) in schema.get("$defs").and_then(Value::as_object).unwrap_or(&empty) {
            schemas.insert(format!("Scene{name}"), moved(part));
        }
        let mut scene = schema.as_object().cloned().unwrap_or_default();
        scene.remove("$defs");
        scene.remove("$schema");
        schemas.insert("Scene".to_owned(), moved(&Value::Object(scene)));
    }
    document
}

/// Limits each array of numbers to two elements: all are vectors.
fn vectors(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if keys.get("items").is_some_and(|items| items["type"] == "number") {
                keys.insert("minItems".to_owned(), 2.into());
                keys.insert("maxItems".to_owned(), 2.into());
            }
            keys.values_mut().for_each(vectors);
        }
        Value::Array(items) => items.iter_mut().for_each(vectors),
        _ => {}
    }
}

/// Returns a schema with its references changed to the place of the scene's parts in this document.
fn moved(schema: &Value) -> Value {
    match schema {
        Value::Object(keys) => keys
            .iter()
            .map(|(key, value)| {
                let place = value.as_str().filter(|_| key == "$ref").and_then(|text| text.strip_prefix("#/$defs/"));
                let value =
                    place.map_or_else(|| moved(value), |name| format!("#/components/schemas/Scene{name}").into());
                (key.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(moved).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(keys) => {
                for (key, value) in keys {
                    match value.as_str().filter(|_| key == "$ref") {
                        Some(place) => found.push(place),
                        None => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = super::super::document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.contains(&"#/components/schemas/SceneBody"), "{found:?}");
        for place in found {
            assert!(document.pointer(&place[1..]).is_some(), "{place}");
        }
        let push = &document["components"]["schemas"]["CommandRecord"]["oneOf"][0];
        assert_eq!(push["properties"]["impulse"]["properties"]["impulse"]["maxItems"], 2, "{push}");
        assert_eq!(push["properties"]["impulse"]["additionalProperties"], false, "{push}");
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    assert_ne!(response["description"], "", "{method} {path}: {status}");
                }
            }
        }
    }
}
