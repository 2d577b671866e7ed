//! Scenes: from the catalogue, from text, from files.

use std::path::PathBuf;
use std::sync::Arc;

use drystone::{Body, Geometry, Joint, NamedMaterial, Property, Scene, Shape};
use drystone_scenes::catalogue::{self, CatalogueError};
use drystone_scenes::file::{self, FileErrorKind};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::{PyResult, Python, pyclass, pyfunction, pymethods};

use crate::call::{CallError, detached};

/// A checked scene. Worlds are made from it.
#[pyclass(name = "Scene", module = "drystone._drystone", frozen)]
#[derive(Debug)]
pub struct SceneHandle {
    scene: Arc<Scene>,
}

impl SceneHandle {
    /// Returns the scene.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }
}

#[pymethods]
impl SceneHandle {
    /// Builds a scene of the catalogue, such as "large_pyramid:base=20".
    #[staticmethod]
    fn build(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let built = detached(py, || {
            catalogue::build(spec).map_err(|error| {
                let expected = match error {
                    CatalogueError::UnknownScene { .. } => {
                        "a name from drystone.scenes(), or a file that ends in .json or .ron"
                    }
                    _ => "a scene with parameters, such as large_pyramid:base=20",
                };
                CallError::explained("scene", &error.to_string(), expected)
            })
        });
        Ok(Self { scene: Arc::new(built?) })
    }

    /// Parses the text of a scene file, JSON.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        let parsed = detached(py, || Ok(file::parse(text, "scene.json")?));
        Ok(Self { scene: Arc::new(parsed?) })
    }

    /// Reads a scene file, JSON or RON.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        if !path.exists() {
            return Err(PyFileNotFoundError::new_err(format!("scene: {} is not there", path.display())));
        }
        let read = detached(py, || {
            file::read(&path).map_err(|error| match error.kind {
                FileErrorKind::Value | FileErrorKind::Structure => error.into(),
                _ => CallError::explained("scene", &error.to_string(), "a scene file"),
            })
        });
        Ok(Self { scene: Arc::new(read?) })
    }

    /// Returns the scene as JSON.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(detached(py, || Ok(file::write_json(&self.scene)))?)
    }

    /// Returns the name of the scene.
    #[getter]
    fn name(&self) -> &str {
        &self.scene.name
    }

    /// Returns the number of bodies at the start.
    #[getter]
    fn body_count(&self) -> usize {
        self.scene.bodies.len()
    }
}

/// Parses a body, JSON, whose shapes may name these materials.
///
/// # Errors
/// The first value that is not valid. Its path begins with the body.
pub fn parse_body(text: &str, materials: &[NamedMaterial]) -> Result<Body, CallError> {
    let materials = file::write_materials(materials);
    let whole = format!("{{\"version\":1,\"materials\":{materials},\"bodies\":[{text}]}}");
    let scene = within(file::parse(&whole, "body.json"), "bodies[0]")?;
    scene.bodies.into_iter().next().ok_or(CallError::Broken)
}

/// Parses the shapes of a body, a list in JSON, which may name these materials.
///
/// # Errors
/// The first value that is not valid. Its path begins with `shapes`.
pub fn parse_shapes(text: &str, materials: &[NamedMaterial]) -> Result<Vec<Shape>, CallError> {
    Ok(parse_body(&format!("{{\"type\":\"static\",\"shapes\":{text}}}"), materials)?.shapes)
}

/// Parses the outline of a shape, JSON, as a shape of a scene file.
///
/// # Errors
/// The first value that is not valid. Its path begins with the shape.
pub fn parse_shape(text: &str) -> Result<Geometry, CallError> {
    let whole = format!("{{\"version\":1,\"bodies\":[{{\"type\":\"static\",\"shapes\":[{text}]}}]}}");
    let scene = within(file::parse(&whole, "shape.json"), "bodies[0].shapes[0]")?;
    let shapes = scene.bodies.into_iter().flat_map(|body| body.shapes);
    shapes.map(|shape| shape.geometry).next().ok_or(CallError::Broken)
}

/// Parses properties of a body, JSON.
///
/// # Errors
/// The first value that is not valid.
pub fn parse_properties(text: &str) -> Result<Vec<Property>, CallError> {
    file::parse_properties(text, "properties.json")
        .map_err(|error| CallError::Scene(error.path, error.problem, error.expected))
}

/// Parses a joint, JSON, whose bodies are given apart.
///
/// # Errors
/// The first value that is not valid.
pub fn parse_joint(text: &str) -> Result<Joint, CallError> {
    let body = r#"{"shapes":[{"circle":{"radius":1}}]}"#;
    let whole = format!("{{\"version\":1,\"bodies\":[{body},{body}],\"joints\":[{text}]}}");
    let scene = within(file::parse(&whole, "joint.json"), "joints[0]")?;
    scene.joints.into_iter().next().ok_or(CallError::Broken)
}

fn within(parsed: Result<Scene, file::FileError>, start: &str) -> Result<Scene, CallError> {
    parsed.map_err(|error| {
        let path = error.path.strip_prefix(start).unwrap_or(&error.path).trim_start_matches('.');
        CallError::Scene(path.to_owned(), error.problem, error.expected)
    })
}

/// Returns name and summary of each scene of the catalogue.
#[pyfunction]
pub fn scene_names() -> Vec<(&'static str, &'static str)> {
    catalogue::entries().iter().map(|entry| (entry.name, entry.summary)).collect()
}

/// Returns name and summary of the scenes that match a text, best first.
#[pyfunction]
pub fn search_scenes(text: &str) -> Vec<(&'static str, &'static str)> {
    catalogue::search(text).into_iter().map(|entry| (entry.name, entry.summary)).collect()
}

/// Returns the JSON schema of scene files.
#[pyfunction]
pub fn json_schema() -> String {
    file::json_schema()
}
