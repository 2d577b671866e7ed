//! From the module of one world to that of many.
//!
//! Many worlds lie one behind the other in every table, each with as much room as the largest needs, and a dispatch has
//! one layer of workgroups for each that takes part: a list says which world a layer is (`layers[workgroup_id.z]`). A kernel
//! for many worlds is the one for one world, with the place of its world added to the index of every table: the text is
//! made from the other here and written nowhere, so the two cannot differ. No line moves to another, so that errors find
//! their file. What a world computes then cannot depend on its
//! neighbours, as no kernel can reach them.

use super::{Composed, Place};

/// The one uniform that every world has a row of its own of.
const PARAMS: &str = "var<uniform> params: Params;";
/// Counts of one world.
const COUNTERS: &str = "var<storage, read_write> counters: Counters;";
/// Shared by all worlds: each command, ray or region says whose it is.
const SHARED_TABLES: [&str; 5] = ["commands", "rays", "ray_hits", "regions", "region_items"];
/// Where a kernel says that it goes on for another world than its layer's.
const ENTER: &str = "fn enter(world: u32) {";
/// Table of the world of each layer.
pub(in crate::gpu) const LAYERS: &str = "layers";

impl Composed {
    /// Turns the module for one world into that for many.
    #[must_use]
    pub fn batched(self) -> Self {
        let text = without_comments(&self.text);
        let tables = tables(&text);
        let mut prologue = String::new();
        if !tables.is_empty() {
            let fields: String = tables.iter().map(|name| format!("    {name}: u32,\n")).collect();
            prologue.push_str(&format!(
                "struct Strides {{\n{fields}}}\n@group(2) @binding(0) var<uniform> strides: Strides;\n"
            ));
        }
        prologue.push_str(&format!("@group(3) @binding(0) var<storage, read> {LAYERS}: array<u32>;\n"));
        prologue.push_str("var<private> world_index: u32;\n");
        let body = indexed(&text, &tables)
            .replace(PARAMS, "var<storage, read> params: array<Params>;")
            .replace(COUNTERS, "var<storage, read_write> counters: array<Counters>;")
            .replace(ENTER, &format!("{ENTER} world_index = world;"));
        let made = (1..=prologue.lines().count()).map(|line| Place { file: "", line });
        let places = made.chain(self.places.iter().copied()).collect();
        let strided = tables.iter().map(|&name| name.to_owned()).collect();
        Self { text: prologue + &with_layers(&body), places, strided, ..self }
    }
}

/// Tables of which every world has a part of its own.
fn tables(text: &str) -> Vec<&str> {
    let declared = text.lines().filter_map(|line| line.strip_prefix("@group(0)")?.split_once("var<storage"));
    let named = declared.filter_map(|(_, rest)| rest.split_once('>')?.1.split_once(": array<"));
    named.map(|(name, _)| name.trim()).filter(|name| !SHARED_TABLES.contains(name)).collect()
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).to_owned() + "\n").collect()
}

/// Adds the place of the world to every index.
fn indexed(text: &str, tables: &[&str]) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        made.push_str(&rest[..start]);
        let is_member = rest[..start].ends_with('.');
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        let length = rest.strip_prefix("(&").filter(|_| word == "arrayLength").and_then(|of| of.split_once(')'));
        if let Some((table, after)) = length.filter(|(table, _)| tables.contains(table)) {
            made.push_str(&format!("strides.{table}"));
            rest = after;
        } else if (word == "params" || word == "counters") && rest.starts_with('.') && !is_member {
            made.push_str(&format!("{word}[world_index]"));
        } else if tables.contains(&word) && rest.starts_with('[') && !is_member {
            let index = bracketed(rest);
            made.push_str(&format!("{word}[world_index * strides.{word} + ({})]", indexed(index, tables)));
            rest = &rest[index.len() + 2..];
        } else {
            made.push_str(word);
        }
    }
    made + rest
}

/// What is between the bracket that the text begins with and its partner; all there is if it has none.
fn bracketed(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return &text[1..at],
            ']' => depth -= 1,
            _ => {}
        }
    }
    // No valid shader; the compiler says where.
    ""
}

/// Begins every entry point with the world of its layer.
fn with_layers(text: &str) -> String {
    const LAYER: &str = "@builtin(workgroup_id) workgroup: vec3<u32>";
    let mut made = String::with_capacity(text.len() + 1024);
    let mut parts = text.split("@compute");
    made.push_str(parts.next().unwrap_or_default());
    for part in parts {
        made.push_str("@compute");
        let Some((head, body)) = part.split_once(") {") else {
            made.push_str(part);
            continue;
        };
        let (head, blank) = head.split_at(head.trim_end().len());
        let head = head.trim_end_matches(',');
        let missing = if head.contains(LAYER) { String::new() } else { format!(", {LAYER}") };
        made.push_str(&format!("{head}{missing}{blank}) {{ world_index = {LAYERS}[workgroup.z];{body}"));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::kernel::reflect;
    use crate::gpu::shader::{Composer, SHADERS};
    use wgpu::naga::{self, AddressSpace, Expression};

    fn one(name: &str) -> Composed {
        Composer::SOLVER.compose(name).expect("a shader of the solver")
    }

    /// Indices of tables in a module: those with the place of the world, and those without.
    fn indices(text: &str) -> [usize; 2] {
        let module =
            naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
        let world = module.global_variables.iter().find(|(_, global)| global.name.as_deref() == Some("world_index"));
        let world = world.map(|(handle, _)| handle);
        let mut counts = [0; 2];
        let functions = module.functions.iter().map(|(_, function)| function);
        for function in functions.chain(module.entry_points.iter().map(|point| &point.function)) {
            let is_world = |expression: &Expression| match *expression {
                Expression::Load { pointer } => {
                    matches!(function.expressions[pointer], Expression::GlobalVariable(global) if Some(global) == world)
                }
                _ => false,
            };
            for (_, expression) in function.expressions.iter() {
                let (base, index) = match *expression {
                    Expression::Access { base, index } => (base, Some(index)),
                    Expression::AccessIndex { base, .. } => (base, None),
                    _ => continue,
                };
                let Expression::GlobalVariable(global) = function.expressions[base] else { continue };
                let global = &module.global_variables[global];
                let shared = global.name.as_deref().is_some_and(|name| name == LAYERS || SHARED_TABLES.contains(&name));
                if !matches!(global.space, AddressSpace::Storage { .. }) || shared {
                    continue;
                }
                let index = index.map(|index| &function.expressions[index]);
                let placed = index.is_some_and(|index| match *index {
                    // world_index * stride + …, or world_index alone.
                    Expression::Binary { op: naga::BinaryOperator::Add, left, .. } => {
                        matches!(function.expressions[left], Expression::Binary { left, .. }
                            if is_world(&function.expressions[left]))
                    }
                    ref other => is_world(other),
                });
                counts[usize::from(!placed)] += 1;
            }
        }
        counts
    }

    #[test]
    fn every_index_has_its_world() {
        let mut placed = 0;
        for shader in SHADERS {
            let [with, without] = indices(one(shader.name).batched().text());
            assert_eq!(without, 0, "{} reaches into other worlds", shader.name);
            placed += with;
        }
        assert!(placed > 500, "{placed}");
    }

    /// Negative control.
    #[test]
    fn an_index_without_is_found() {
        assert!(indices(one("solve").text())[1] > 20);
        let broken =
            one("solve").batched().text().replacen("states[world_index * strides.states + (a)]", "states[a]", 1);
        assert_eq!(indices(&broken)[1], 1);
    }

    #[test]
    fn every_entry_point_begins_with_its_world() {
        for shader in SHADERS {
            let batched = one(shader.name).batched();
            let text = batched.text();
            let points = text.matches("@compute").count();
            assert_eq!(text.matches("world_index = layers[workgroup.z];").count(), points, "{}", shader.name);
        }
    }

    /// The constants, which are a uniform of one world, and the worlds of the layers: so many storage buffers
    /// [`crate::WorldBatch::on_gpu`] asks of a device.
    #[test]
    fn kernels_for_many_use_two_tables_more() {
        let most = |module: &dyn Fn(&str) -> Composed| {
            let kernels = SHADERS.iter().flat_map(|shader| reflect(&module(shader.name)).unwrap());
            // Those with joints in one workgroup are only run where they fit.
            let (large, others): (Vec<_>, Vec<_>) = kernels.partition(|(name, _)| name.starts_with("alone_joints"));
            [others, large].map(|of| of.iter().map(|(_, kernel)| kernel.storage_buffers()).max())
        };
        assert_eq!(most(&one), [Some(8), Some(12)]);
        assert_eq!(most(&|name| one(name).batched()), [Some(10), Some(14)]);
    }

    #[test]
    fn brackets_and_members() {
        let tables = ["a", "b"];
        assert_eq!(
            indexed("a[b[i] + c[0]].a[1]", &tables),
            "a[world_index * strides.a + (b[world_index * strides.b + (i)] + c[0])].a[1]"
        );
        assert_eq!(indexed("arrayLength(&a) + arrayLength(&c)", &tables), "strides.a + arrayLength(&c)");
        assert_eq!(indexed("params.x + p.params.x", &tables), "params[world_index].x + p.params.x");
    }
}
