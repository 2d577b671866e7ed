//! Fuzz target for scene files: any text, parsed as JSON and as RON, gives either an error with a message and a
//! position, or a valid scene that survives being written and read again.

#![no_main]

use drystone_scenes::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for name in ["fuzz.json", "fuzz.ron"] {
        match file::parse(text, name) {
            Ok(scene) => {
                assert_eq!(scene.check(), Ok(()));
                assert_eq!(file::parse(&file::write_json(&scene), "fuzz.json").as_ref(), Ok(&scene));
                assert_eq!(file::parse(&file::write_ron(&scene), "fuzz.ron").as_ref(), Ok(&scene));
            }
            Err(error) => {
                assert!(!error.problem.is_empty() && !error.expected.is_empty());
                assert!(error.to_string().starts_with(name));
                let place = error.place.expect("a position");
                assert!(text.get(place.span).is_some());
            }
        }
    }
});
