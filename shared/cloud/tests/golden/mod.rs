//! Files with what is expected of them beside: `name.EXTENSION` is given, `name.txt` must come of it.
#![expect(clippy::unwrap_used, reason = "helpers of tests: what is missing should stop the test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Holds every file of a folder against what is expected of it; with `UPDATE_EXPECTED` set, writes that anew.
pub fn check(folder: &str, extension: &str, outcome: impl Fn(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let inputs = with_extension(&folder, extension);
    assert!(!inputs.is_empty(), "{} has no .{extension}", folder.display());
    let expected = with_extension(&folder, "txt");
    let orphans: Vec<_> =
        expected.iter().filter(|path| !inputs.contains(&path.with_extension(extension))).collect();
    assert!(orphans.is_empty(), "nothing is given for {orphans:?}");

    let mut wrong = Vec::new();
    for input in inputs {
        let found = outcome(&fs::read_to_string(&input).unwrap());
        let path = input.with_extension("txt");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected != found {
            wrong.push(format!("== {}\n-- expected\n{expected}\n-- found\n{found}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nWith UPDATE_EXPECTED=1 they are written anew: look at them.",
        wrong.join("\n")
    );
}

fn with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    paths.sort();
    paths
}
