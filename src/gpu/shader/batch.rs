//! Rewrites the shader module of one world into that of many.
//!
//! Many worlds are stored one after another in every table, each with the capacity of the largest, and a dispatch has
//! one layer of workgroups per participating world, listed in `layers[workgroup_id.z]`. The kernel for many worlds is
//! the kernel for one, with the offset of the layer's world added to the index of every table. It is generated here
//! from the same text, so the two cannot differ, and no kernel can reach the rows of another world. Lines keep their
//! order, so that errors name the right file and line.

use super::{Composed, OWN_RULE, SourceLine};

/// Uniform of which every world has its own row.
const PARAMS: &str = "var<uniform> params: Params;";
/// Counters, of which every world has its own row.
const COUNTERS: &str = "var<storage, read_write> counters: Counters;";
/// Tables shared by all worlds: each command, ray or region names its world.
const SHARED_TABLES: [&str; 5] = ["commands", "rays", "ray_hits", "regions", "region_items"];
/// Function by which a kernel switches to another world than its layer's.
const ENTER: &str = "fn enter(world: u32) {";
/// Table with the world of each layer.
pub(in crate::gpu) const LAYERS: &str = "layers";

impl Composed {
    /// Converts the module for one world into one for many.
    #[must_use]
    pub fn batched(self) -> Self {
        // The rule of a scene has no tables, and may use their names for its own.
        let is_own = |line: &usize| self.places.get(*line).is_some_and(|place| place.file == OWN_RULE);
        let first = (0..self.places.len()).find(is_own).unwrap_or(self.places.len());
        let count = (first..self.places.len()).take_while(is_own).count();
        let (before, rest) = self.text.split_at(line_start(&self.text, first));
        let (own, after) = rest.split_at(line_start(rest, count));
        let parts = [before, after].map(without_comments);
        let tables: Vec<&str> = parts.iter().flat_map(|part| tables(part)).collect();
        let mut prologue = String::new();
        if !tables.is_empty() {
            let fields: String = tables.iter().map(|name| format!("    {name}: u32,\n")).collect();
            prologue.push_str(&format!(
                "struct Strides {{\n{fields}}}\n@group(2) @binding(0) var<uniform> strides: Strides;\n"
            ));
        }
        prologue.push_str(&format!("@group(3) @binding(0) var<storage, read> {LAYERS}: array<u32>;\n"));
        prologue.push_str("var<private> world_index: u32;\n");
        let [before, after] = parts.each_ref().map(|part| {
            let part = indexed(part, &tables)
                .replace(PARAMS, "var<storage, read> params: array<Params>;")
                .replace(COUNTERS, "var<storage, read_write> counters: array<Counters>;")
                .replace(ENTER, &format!("{ENTER} world_index = world;"));
            with_layers(&part)
        });
        let made = (1..=prologue.lines().count()).map(|line| SourceLine { file: "", line });
        let places = made.chain(self.places.iter().copied()).collect();
        let strided = tables.iter().map(|&name| name.to_owned()).collect();
        Self { text: prologue + &before + own + &after, places, strided, ..self }
    }
}

/// Returns the tables of which every world has its own rows.
fn tables(text: &str) -> Vec<&str> {
    let declared = text.lines().filter_map(|line| line.strip_prefix("@group(0)")?.split_once("var<storage"));
    let named = declared.filter_map(|(_, rest)| rest.split_once('>')?.1.split_once(": array<"));
    named.map(|(name, _)| name.trim()).filter(|name| !SHARED_TABLES.contains(name)).collect()
}

/// Returns where a line begins, counted from 0; the end if there are fewer.
fn line_start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line).map(str::len).sum()
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).to_owned() + "\n").collect()
}

/// Adds the world's offset to every index of a table.
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

/// Returns the text between the leading bracket and its partner; empty if there is none.
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
    // Not a valid shader; the compiler reports where.
    ""
}

/// Inserts the world of the layer at the start of every entry point.
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

    /// Counts the indices into tables, with and without the offset of the world.
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

    /// Negative control: a missing offset is found.
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

    /// Kernels for many worlds use two more storage buffers, for the constants (a uniform in one world) and the layers;
    /// [`crate::WorldBatch::on_gpu`] asks a device for that many.
    #[test]
    fn kernels_for_many_use_two_tables_more() {
        let most = |module: &dyn Fn(&str) -> Composed| {
            let kernels = SHADERS.iter().flat_map(|shader| reflect(&module(shader.name)).unwrap());
            // The fused kernels with joints run only on devices where they fit.
            let (large, others): (Vec<_>, Vec<_>) = kernels.partition(|(name, _)| name.starts_with("fused_joints"));
            [others, large].map(|of| of.iter().map(|(_, kernel)| kernel.storage_buffers()).max())
        };
        assert_eq!(most(&one), [Some(8), Some(13)]);
        assert_eq!(most(&|name| one(name).batched()), [Some(10), Some(15)]);
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
