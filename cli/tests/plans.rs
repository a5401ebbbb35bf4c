//! Plans from files: what is printed, and that it fits.

#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::run::{Run, folder, journeyman};

    const NOW: [&str; 2] = ["--now", "2026-06-01T12:00:00Z"];

    /// Manifests as one would apply them, and pods without a node.
    fn basic() -> String {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/basic").display().to_string()
    }

    const CASE: &str = r#"
name: one pod fits, one is too large, one goes to the node that is there
instanceTypes:
  - {name: c.large, cpu: "2", memory: 4Gi, zones: [a], onDemand: 0.10, overhead: {}}
objects:
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: default}
    spec:
      template:
        spec:
          requirements: []
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  - {apiVersion: v1, kind: Pod, metadata: {name: small}, spec: {containers: [{name: m, image: i, resources: {requests: {cpu: 1500m}}}]}}
  - {apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {containers: [{name: m, image: i, resources: {requests: {cpu: 5}}}]}}
  - {apiVersion: v1, kind: Pod, metadata: {name: tiny}, spec: {nodeSelector: {own: "true"}, containers: [{name: m, image: i}]}}
  - apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {own: "true", kubernetes.io/hostname: n1}}
    status: {capacity: {cpu: "1", memory: 1Gi, pods: "10"}, allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
expect: {nodeCount: 1}
"#;

    #[test]
    fn a_case_is_planned_explained_and_tested() {
        let folder =
            folder(&[("case.yaml", CASE), ("miss.yaml", &CASE.replace("nodeCount: 1", "nodeCount: 2"))]);
        #[rustfmt::skip]
        let table: [(&[&str], u8, &[&str]); 6] = [
            (&["plan", "case.yaml"], 0, &["Nodes to launch", "c.large", "$0.1000", "n1", "resources: 1 pod", "help:", "1 pod without a node"]),
            (&["explain", "small", "case.yaml"], 0, &["default/small goes to the new node", "c.large", "1 offer"]),
            (&["explain", "default/large", "case.yaml"], 0, &["has no node: resources", "help:", "TYPES LEFT"]),
            (&["explain", "tiny", "case.yaml"], 0, &["goes to n1"]),
            (&["test", "case.yaml"], 0, &["pass", "1 passed, 0 failed"]),
            (&["test", "case.yaml", "miss.yaml"], 1, &["MISS", "nodeCount", "1 passed, 1 failed"]),
        ];
        for (arguments, code, fragments) in table {
            journeyman(folder.path(), arguments).expect(code, fragments);
        }
    }

    #[test]
    fn the_plan_for_programs_has_the_documented_fields() {
        let folder = folder(&[("case.yaml", CASE)]);
        let run = journeyman(folder.path(), &["plan", "case.yaml", "--output", "json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let plan: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(plan["usdPerHour"], 0.1);
        let node = &plan["nodes"][0];
        for field in [
            "name",
            "nodePool",
            "instanceType",
            "zone",
            "capacityType",
            "usdPerHour",
            "pods",
            "requests",
            "allocatable",
            "options",
        ] {
            assert!(!node[field].is_null(), "no {field} in {node}");
        }
        assert_eq!(node["pods"], serde_json::json!(["default/small"]));
        assert_eq!(plan["existing"], serde_json::json!({"n1": ["default/tiny"]}));
        assert_eq!(plan["unschedulable"][0]["code"], "resources");
        assert!(plan["notes"].is_array());
        let yaml = journeyman(folder.path(), &["plan", "case.yaml", "--output", "yaml"]);
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml.stdout).unwrap(), plan);
    }

    #[test]
    fn public_manifests_are_planned_unchanged() {
        let folder = folder(&[]);
        let basic = basic();
        let arguments = [&["plan", &basic], &NOW[..]].concat();
        let fragments = [
            "Nodes to launch",
            "inflate",
            "report",
            "api",
            "train",
            "a month",
            "Spot prices are illustrative",
        ];
        journeyman(folder.path(), &arguments).expect(0, &fragments);
        let run = journeyman(folder.path(), &[&arguments[..], &["--output", "json"]].concat());
        let plan: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(plan["unschedulable"], serde_json::json!([]));
        let pods: usize =
            plan["nodes"].as_array().unwrap().iter().map(|node| node["pods"].as_array().unwrap().len()).sum();
        assert_eq!(pods, 117);
        for node in plan["nodes"].as_array().unwrap() {
            let arm = node["nodePool"] == "arm64";
            let api =
                node["pods"].as_array().unwrap().iter().any(|pod| pod.as_str().unwrap().contains("/api-"));
            assert_eq!(arm, api, "{node}");
        }
        journeyman(folder.path(), &[&["explain", "train", &basic], &NOW[..]].concat())
            .expect(0, &["NodePool gpu launches"]);
        journeyman(folder.path(), &["validate", &basic]).expect(0, &["No faults"]);
    }

    #[test]
    fn settings_matter() {
        let folder = folder(&[]);
        let basic = basic();
        let price = |extra: &[&str]| {
            let run =
                journeyman(folder.path(), &[&["plan", &basic, "--output", "json"], &NOW[..], extra].concat());
            assert_eq!(run.code, 0, "{}", run.stderr);
            let plan: Value = serde_json::from_str(&run.stdout).unwrap();
            (plan["usdPerHour"].as_f64().unwrap(), plan["nodes"].as_array().unwrap().len())
        };
        let (plain, nodes) = price(&[]);
        let (with_fee, fewer) = price(&["--fee-per-node", "1"]);
        assert!(with_fee > plain);
        assert!(fewer <= nodes, "a fee per node makes for fewer nodes, not {fewer} for {nodes}");
        let text = "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]}";
        std::fs::write(folder.path().join("spread.yaml"), text).unwrap();
        let (_, spread) = price(&["--default-spread", "spread.yaml"]);
        assert!(spread >= 100, "each of the 100 alike pods has a node of its own, on {spread}");
    }

    #[test]
    fn the_catalogue_is_filtered_and_sorted() {
        let folder = folder(&[]);
        let arguments = ["catalog", "list", "--cpu", "4", "--arch", "arm64", "--output", "json"];
        let run = journeyman(folder.path(), &arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let list: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
        assert!(list.len() > 5);
        assert!(list.iter().all(|kind| kind["cpu"] == 4 && kind["arch"] == "arm64"));
        journeyman(folder.path(), &["catalog", "list", "--gpu", "--sort", "cpu"])
            .expect(0, &["GPUS", "g4dn.xlarge"]);
        journeyman(folder.path(), &["catalog", "list"])
            .expect(0, &["m5.large", "Spot prices are illustrative"]);
        journeyman(folder.path(), &["catalog", "list", "--cpu", "many"]).expect(2, &["many"]);
    }

    #[test]
    fn colours_are_for_those_who_ask() {
        let folder = folder(&[("case.yaml", CASE)]);
        let run = journeyman(folder.path(), &["plan", "case.yaml", "--color", "always"]);
        assert!(run.stdout.contains('\u{1b}'));
        let Run { stdout, .. } = journeyman(folder.path(), &["plan", "case.yaml", "--color", "never"]);
        assert!(!stdout.contains('\u{1b}'));
    }
}
