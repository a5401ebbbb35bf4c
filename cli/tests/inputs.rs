//! What the command says and returns for inputs good and bad.

#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::run::{Run, folder, journeyman};

    const POOL: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
";

    const CLASS: &str = "
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {team: a}}]
  securityGroupSelectorTerms: [{tags: {team: a}}]
";

    const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  containers: [{name: main, image: app, resources: {requests: {cpu: 1}}}]
";

    fn all(parts: &[&str]) -> String {
        parts.join("\n---")
    }

    #[test]
    fn bad_inputs_are_refused_with_their_place_and_a_help() {
        let unknown_field = POOL.replace("requirements: []", "requirements: []\n      expireafter: 1h");
        let wrong_unit = POD.replace("cpu: 1", "cpu: 1, memory: 4GiB");
        #[rustfmt::skip]
        let table: [(&str, String, &[&str]); 8] = [
            ("malformed.yaml", "kind: Pod\n  metadata: [".into(),   &["malformed.yaml:2"]),
            ("malformed.json", "{\"kind\": \"Pod\",".into(),        &["malformed.json:1"]),
            ("field.yaml",     all(&[&unknown_field, CLASS, POD]),  &["field.yaml:9", "expireafter", "expireAfter"]),
            ("unit.yaml",      all(&[POOL, CLASS, &wrong_unit]),    &["unit.yaml:", "4GiB"]),
            ("class.yaml",     all(&[POOL, POD]),                   &["class.yaml:", "EC2NodeClass", "default"]),
            ("empty.yaml",     String::new(),                       &["empty.yaml", "no object"]),
            ("comment.yaml",   "# nothing\n---\n".into(),           &["comment.yaml", "no object"]),
            ("text.yaml",      "just some words".into(),            &["text.yaml:1"]),
        ];
        for (name, text, fragments) in table {
            let folder = folder(&[(name, &text)]);
            for command in ["plan", "validate"] {
                let run = journeyman(folder.path(), &[command, name]);
                if (name, command) != ("class.yaml", "validate") {
                    run.expect(2, fragments);
                }
            }
        }
    }

    #[test]
    fn inputs_that_are_not_there_or_too_large() {
        let folder = folder(&[("notes.txt", "hello"), ("sub/notes.md", "hello")]);
        File::create(folder.path().join("huge.yaml")).unwrap().set_len(100 << 20).unwrap();
        std::fs::write(folder.path().join("binary.yaml"), [b'a', 0xff, 0xfe]).unwrap();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        for (input, fragments) in [
            ("missing.yaml", ["missing.yaml", "help"]),
            ("huge.yaml", ["64 MiB", "help"]),
            ("binary.yaml", ["binary.yaml:1:2", "UTF-8"]),
            ("sub", ["holds no manifests", "*.yaml"]),
            ("empty", ["holds no manifests", "*.yaml"]),
        ] {
            for command in ["plan", "validate", "test"] {
                journeyman(folder.path(), &[command, input]).expect(2, &fragments);
            }
        }
    }

    #[test]
    fn usage_errors_are_told_apart_from_findings() {
        let folder = folder(&[("pod.yaml", POD)]);
        #[rustfmt::skip]
        let table: [(&[&str], u8, &[&str]); 8] = [
            (&["plan"],                                        2, &["INPUT"]),
            (&["plan", "pod.yaml", "--output", "xml"],         2, &["table", "json", "yaml"]),
            (&["plan", "pod.yaml", "--fee-per-node", "cheap"], 2, &["price"]),
            (&["plan", "pod.yaml", "--now", "noon"],           2, &["noon"]),
            (&["explain", "nobody", "pod.yaml"],               2, &["no pod nobody", "default/app"]),
            (&["test", "pod.yaml"],                            2, &["not a case file", "journeyman schema"]),
            (&["unknown"],                                     2, &["unknown"]),
            (&["--help"],                                      0, &["plan", "explain", "validate"]),
        ];
        for (arguments, code, fragments) in table {
            journeyman(folder.path(), arguments).expect(code, fragments);
        }
    }

    #[test]
    fn a_folder_and_standard_input_are_read_like_files() {
        let text = all(&[POOL, CLASS, POD]);
        let folder =
            folder(&[("all/pool.yaml", POOL), ("all/more/class.yml", CLASS), ("all/more/.hidden.yaml", "}")]);
        journeyman(folder.path(), &["validate", "all"]).expect(0, &["No faults, 2 objects in 2 files"]);
        Run::with_input(folder.path(), &["validate", "-"], &text)
            .expect(0, &["No faults, 3 objects in 1 file"]);
        Run::with_input(folder.path(), &["validate", "-"], "kind: [").expect(2, &["<stdin>:1"]);
    }

    #[test]
    fn validate_reports_every_fault() {
        let faults = POOL.replace(
            "requirements: []",
            "requirements: [{key: team, operator: Near}]\n      expireAfter: 1d",
        );
        let folder = folder(&[("bad.yaml", &faults), ("good.yaml", CLASS), ("worse.yaml", "kind: [")]);
        let fragments = ["bad.yaml:8", "operator", "bad.yaml:9", "expireAfter", "worse.yaml:1", "in 3 files"];
        journeyman(folder.path(), &["validate", "bad.yaml", "good.yaml", "worse.yaml"]).expect(2, &fragments);
    }

    #[test]
    fn what_is_printed_for_machines_is_well_formed() {
        let folder = folder(&[]);
        let schema = journeyman(folder.path(), &["schema"]);
        schema.expect(0, &["instanceTypes"]);
        let schema: serde_json::Value = serde_json::from_str(&schema.stdout).unwrap();
        assert_eq!(schema["type"], "object");
        let crds = journeyman(folder.path(), &["crds"]);
        crds.expect(
            0,
            &["nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"],
        );
        assert_eq!(crds.stdout.lines().filter(|line| *line == "---").count(), 3);
        for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
            journeyman(folder.path(), &["completions", shell]).expect(0, &["journeyman"]);
        }
    }
}
