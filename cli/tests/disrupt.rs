//! What `disrupt --dry-run` prints.

#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run::{folder, journeyman};

    /// The case that comes first in a file of `tests/cases/core`.
    fn first_case(file: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/core").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        text.split("---\n").next().unwrap().to_owned()
    }

    #[test]
    fn each_node_has_one_line_with_the_rule_that_keeps_it() {
        let folder = folder(&[("world.yaml", &first_case("keep-01-one-reason-a-node.yaml"))]);
        let run = journeyman(folder.path(), &["disrupt", "--dry-run", "world.yaml"]);
        run.expect(0, &["Nodes that stay", "0 of 12 nodes would go."]);
        for (node, rule) in [
            ("big", "budget"),
            ("full", "no-saving"),
            ("guarded", "pdb"),
            ("kept", "do-not-disrupt"),
            ("never", "disabled"),
            ("pinned", "no-room"),
            ("quiet", "do-not-disrupt"),
            ("starting", "not-initialized"),
            ("strange", "disabled"),
            ("twice", "multiple-pdbs"),
            ("working", "disabled"),
            ("young", "too-young"),
        ] {
            let first = |line: &&str| line.split_whitespace().next() == Some(node);
            let lines: Vec<&str> = run.stdout.lines().filter(first).collect();
            assert_eq!(lines.len(), 1, "{node} in:\n{}", run.stdout);
            assert_eq!(lines[0].split_whitespace().nth(1), Some(rule), "{}", lines[0]);
        }
    }

    #[test]
    fn what_a_pool_of_fixed_size_lacks_is_named() {
        let case = first_case("static-01-as-many-as-it-is-to-have.yaml");
        let folder = folder(&[("world.yaml", &case)]);
        journeyman(folder.path(), &["disrupt", "--dry-run", "world.yaml"]).expect(
            0,
            &["Nodes that pools of fixed size lack", "m5.large a on-demand", "0 of 0 nodes would go."],
        );
    }
}
