//! What keeps the repository in shape: arrows between crates, words, sizes, places.

#[cfg(test)]
mod repo;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::{Component, Path, PathBuf};
    use std::process::Command;

    use super::repo::{files, read, root};

    /// Which crates of ours a crate may be built from, beside what these are built from. Tests may use more.
    const ARROWS: &[(&str, &[&str])] = &[
        ("model", &[]),
        ("solver", &["model"]),
        ("planner", &["model", "solver"]),
        ("catalog", &["model"]),
        ("api", &["model", "catalog"]),
        ("simulation", &["model", "planner"]),
        ("cloud", &["api", "catalog", "model"]),
        ("cluster", &["api", "model"]),
        ("runtime", &["api", "catalog", "cloud", "cluster", "model", "planner"]),
        ("functions", &["api", "cloud", "model", "planner", "runtime"]),
        ("journeyman", &["api", "catalog", "cloud", "cluster", "model", "planner", "runtime", "simulation"]),
        ("tests", &["api", "catalog", "model", "planner", "simulation", "solver"]),
    ];

    /// Crates that see nothing of the world: no clock, environment, thread or unordered map.
    const PURE: [&str; 6] = ["api", "catalog", "model", "planner", "simulation", "solver"];

    /// All that may stand at the top.
    const TOP: [&str; 21] = [
        ".ci",
        ".git",
        ".gitignore",
        "AGENTS.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "cli",
        "clippy.toml",
        "deny.toml",
        "functions",
        "infra",
        "justfile",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "shared",
        "target",
        "tests",
    ];

    /// Words a crate doesn't know: what it must not depend on even in thought.
    const UNKNOWN_WORDS: [(&str, &[&str]); 2] =
        [("solver", &["pod", "pods", "node", "nodes", "ec2"]), ("planner", &["aws", "ec2", "ec2nodeclass"])];

    #[test]
    fn crates_depend_only_along_the_arrows() {
        let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let ours: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
        let arrows = ARROWS.iter().copied().collect::<BTreeMap<_, _>>();
        for package in packages {
            let name = package["name"].as_str().unwrap();
            let allowed = arrows.get(name).unwrap_or_else(|| panic!("add {name} to ARROWS"));
            for dependency in package["dependencies"].as_array().unwrap() {
                let target = dependency["name"].as_str().unwrap();
                let for_tests = dependency["kind"] == "dev";
                assert!(
                    for_tests || !ours.contains(target) || allowed.contains(&target),
                    "{name} may not use {target}"
                );
            }
        }
    }

    #[test]
    fn the_arrows_lead_nowhere_in_a_circle() {
        let arrows = ARROWS.iter().copied().collect::<BTreeMap<_, _>>();
        for name in arrows.keys() {
            let mut reached = BTreeSet::new();
            let mut next = arrows[name].to_vec();
            while let Some(target) = next.pop() {
                assert_ne!(&target, name, "{name} leads to itself");
                if reached.insert(target) {
                    next.extend(arrows[target]);
                }
            }
        }
    }

    #[test]
    fn every_source_file_says_what_it_is_and_stays_short() {
        for path in files("", ".rs") {
            let text = read(&path);
            assert!(text.starts_with("//!"), "{path}: begin with a //! line that says what it is");
            let lines = text.lines().count();
            assert!(lines <= 600, "{path}: {lines} lines, over 600: split it by what it is about");
        }
    }

    #[test]
    fn nothing_is_put_off_or_switched_off() {
        // Written in two parts, so that this file doesn't find itself.
        let notes = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];
        for end in [".rs", ".toml", ".md", ".yaml", ".go"] {
            for path in files("", end) {
                let text = read(&path);
                for word in notes {
                    assert!(
                        !text.contains(word),
                        "{path}: {word}: do it, or say what is missing in the docs"
                    );
                }
                let off = end == ".rs" && text.contains(concat!("#[ig", "nore"));
                assert!(!off, "{path}: a test that is switched off: mend it, or take it out");
            }
        }
    }

    #[test]
    fn every_source_file_is_compiled() {
        let mut reached = BTreeSet::new();
        let all = files("", ".rs");
        let mut next: Vec<String> = all.iter().filter(|path| is_crate_root(path)).cloned().collect();
        while let Some(path) = next.pop() {
            let folder = Path::new(&path).parent().unwrap();
            for module in modules(&read(&path)) {
                let own = match Path::new(&path).file_stem().unwrap().to_str().unwrap() {
                    "lib" | "main" | "mod" => folder.to_path_buf(),
                    _ if is_crate_root(&path) => folder.to_path_buf(),
                    stem => folder.join(stem),
                };
                let places = match module {
                    Module::Named(name) => {
                        vec![own.join(format!("{name}.rs")), own.join(name).join("mod.rs")]
                    }
                    Module::At(place) => vec![plain(&folder.join(place))],
                };
                let places = places.iter().map(|place| place.to_string_lossy().into_owned());
                next.extend(places.filter(|place| all.contains(place) && !reached.contains(place)));
            }
            reached.insert(path);
        }
        let orphans: Vec<_> = all.iter().filter(|path| !reached.contains(*path)).collect();
        assert!(orphans.is_empty(), "no `mod` leads to {orphans:?}");
    }

    fn is_crate_root(path: &str) -> bool {
        let parts: Vec<_> = path.rsplit('/').take(3).collect();
        match parts.as_slice() {
            ["lib.rs" | "main.rs", "src", ..] | ["build.rs", ..] | [_, "bin", "src"] => true,
            ["main.rs", _, "tests" | "benches" | "examples" | "functions"] => true,
            [_, "tests", parent] => *parent != "src",
            [_, "benches" | "examples", ..] => true,
            _ => false,
        }
    }

    /// Where a module is to be found.
    enum Module {
        Named(String),
        At(String),
    }

    /// The modules in `mod name;` lines.
    fn modules(text: &str) -> Vec<Module> {
        let mut modules = Vec::new();
        let mut place = None;
        for line in text.lines().map(str::trim_start) {
            let bare = ["pub(crate) ", "pub(super) ", "pub "].iter().find_map(|word| line.strip_prefix(word));
            if let Some((name, _)) =
                bare.unwrap_or(line).strip_prefix("mod ").and_then(|rest| rest.split_once(';'))
            {
                modules.push(place.take().map_or_else(|| Module::Named(name.to_owned()), Module::At));
            }
            let at = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]"));
            place = at.map(str::to_owned);
        }
        modules
    }

    /// The path without `..`.
    fn plain(path: &Path) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in path.components() {
            if part == Component::ParentDir {
                plain.pop();
            } else {
                plain.push(part);
            }
        }
        plain
    }

    #[test]
    fn pure_crates_are_held_to_the_same_absences() {
        let rules = |name: &str| read(&format!("shared/{name}/clippy.toml"));
        let first = rules(PURE[0]);
        for banned in
            ["HashMap", "HashSet", "SystemTime", "Instant", "env::var", "thread::spawn", "Timestamp::now"]
        {
            assert!(first.contains(banned), "shared/{}/clippy.toml doesn't ban {banned}", PURE[0]);
        }
        for name in PURE {
            assert_eq!(
                rules(name),
                first,
                "shared/{name}/clippy.toml differs from shared/{}/clippy.toml",
                PURE[0]
            );
        }
    }

    #[test]
    fn every_crate_takes_the_workspace_lints() {
        for path in files("", "Cargo.toml").iter().filter(|path| *path != "Cargo.toml") {
            let text = read(path);
            assert!(text.contains("[lints]\nworkspace = true"), "{path}: take the workspace's lints");
        }
    }

    #[test]
    fn crates_do_not_know_words_of_other_crates() {
        for (name, forbidden) in UNKNOWN_WORDS {
            for path in files(&format!("shared/{name}/src"), ".rs") {
                for (number, line) in read(&path).lines().enumerate() {
                    let code = line.split("//").next().unwrap();
                    for word in code.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(words) {
                        assert!(
                            !forbidden.contains(&word.as_str()),
                            "{path}:{}: {name} knows no {word}",
                            number + 1
                        );
                    }
                }
            }
        }
    }

    /// The words of an identifier in lower case: `PodSpec` is `pod` and `spec`.
    fn words(identifier: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut last_lower = false;
        for letter in identifier.chars() {
            if words.is_empty() || (letter.is_ascii_uppercase() && last_lower) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(letter.to_ascii_lowercase());
            }
            last_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        }
        words
    }

    #[test]
    fn the_top_level_is_closed() {
        for entry in std::fs::read_dir(root()).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            assert!(TOP.contains(&name.as_str()), "{name} stands at the top: put it where it belongs");
        }
    }

    #[test]
    fn every_folder_explains_itself() {
        for parent in ["", "shared"] {
            let folder = root().join(parent);
            if !folder.exists() {
                continue;
            }
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() && !name.starts_with('.') && name != "target" {
                    let readme = path.join("README.md");
                    assert!(
                        readme.exists(),
                        "{} has no README.md",
                        path.strip_prefix(root()).unwrap().display()
                    );
                }
            }
        }
    }
}
