//! The READMEs keep to what is there.

#[cfg(test)]
mod repo;

#[cfg(test)]
mod tests {
    use super::repo::{files, read, root};

    #[test]
    fn two_commands_set_everything_up() {
        let text = read("README.md");
        let first = text.split("```console").nth(1).and_then(|rest| rest.split("```").next());
        let commands: Vec<_> = first.unwrap().lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        assert_eq!(commands, ["cargo run --release -- simulate", "tests/run"]);
        assert!(text.lines().count() <= 120, "the README has more than 120 lines");
    }

    #[test]
    fn links_lead_somewhere() {
        for path in files("", ".md") {
            let folder = root().join(&path).parent().unwrap().to_path_buf();
            for target in read(&path).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = target.split('#').next().unwrap();
                if !file.is_empty() && !file.contains("://") {
                    assert!(folder.join(file).exists(), "{path}: {target} leads nowhere");
                }
            }
        }
    }

    #[test]
    fn files_that_are_shown_as_arguments_exist() {
        for path in ["README.md", "cli/README.md", "CONTRIBUTING.md"] {
            for line in read(path).lines().filter(|line| line.contains("journeyman")) {
                for word in line
                    .split_whitespace()
                    .filter(|word| word.starts_with("cli/examples/") || word.starts_with("tests/"))
                {
                    let file = word.trim_matches(['`', ',', '.', ':']);
                    assert!(root().join(file).exists(), "{path}: there is no {file}");
                }
            }
        }
    }
}
