//! Search for paths of the machine that built the command, in what users see.

/// Returns the words of a text that are paths of a build: sources with their lines, the registry of crates, the folder
/// of this workspace.
pub fn build_paths(text: &str) -> Vec<String> {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace");
    let workspace = workspace.to_string_lossy().into_owned();
    let home = std::env::var("CARGO_HOME").ok().filter(|home| home.len() > 1);
    let is_one = |word: &str| {
        let word = word.replace('\\', "/");
        let has_line = word.split(".rs:").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let of_machine = [".cargo/", "registry/src/", "/rustc/", "index.crates.io"];
        has_line
            || word.contains(&workspace)
            || home.as_ref().is_some_and(|home| word.contains(home))
            || of_machine.iter().any(|part| word.contains(part))
            || (word.contains(".rs") && (word.contains("src/") || word.contains("crates/") || word.contains("tests/")))
    };
    text.split_whitespace().filter(|word| is_one(word)).map(str::to_owned).collect()
}
