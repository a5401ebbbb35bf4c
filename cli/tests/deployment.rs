//! `migrate`, `cost` and `doctor`: what they print for what is given.

#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use super::run::{folder, journeyman};

    const NODE_GROUP: &str = r#"{"nodegroup": {
        "nodegroupName": "Web_Spot", "clusterName": "prod", "capacityType": "SPOT", "amiType": "AL2023_ARM_64_STANDARD",
        "scalingConfig": {"minSize": 2, "maxSize": 30, "desiredSize": 3}, "instanceTypes": ["m7g.large", "c7g.large"],
        "subnets": ["subnet-0123456789abcdef0"], "nodeRole": "arn:aws:iam::123456789012:role/path/web-nodes",
        "labels": {"team": "web"}, "taints": [{"key": "web", "value": "yes", "effect": "NO_SCHEDULE"}],
        "diskSize": 50, "updateConfig": {"maxUnavailablePercentage": 20}, "remoteAccess": {"ec2SshKey": "me"},
        "tags": {"cost": "web", "eks:cluster-name": "prod"}
    }}"#;

    const SCALING_GROUP: &str = r#"{"AutoScalingGroups": [{
        "AutoScalingGroupName": "batch", "MinSize": 0, "MaxSize": 100, "DesiredCapacity": 4,
        "VPCZoneIdentifier": "subnet-0123456789abcdef0, subnet-0123456789abcdef1", "MaxInstanceLifetime": 604800,
        "MixedInstancesPolicy": {
            "LaunchTemplate": {"Overrides": [{"InstanceRequirements": {
                "VCpuCount": {"Min": 4, "Max": 16}, "MemoryMiB": {"Min": 8192}, "SpotMaxPricePercentageOverLowestPrice": 50}}]},
            "InstancesDistribution": {"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 0}},
        "Tags": [{"Key": "kubernetes.io/cluster/prod", "Value": "owned"},
            {"Key": "k8s.io/cluster-autoscaler/node-template/label/kind", "Value": "batch"},
            {"Key": "k8s.io/cluster-autoscaler/node-template/taint/batch", "Value": "yes:NoSchedule"}]
    }]}"#;

    const VALUES: &str = "
replicas: 2
settings: {clusterName: prod, interruptionQueue: prod, batchMaxDuration: 20s, preferencePolicy: Ignore}
controller: {resources: {requests: {cpu: 1}}}
";

    #[test]
    fn what_cannot_be_carried_over_is_said_line_by_line() {
        let files =
            folder(&[("group.json", NODE_GROUP), ("asg.json", SCALING_GROUP), ("values.yaml", VALUES)]);
        #[rustfmt::skip]
        let table: [(&str, &[&str]); 3] = [
            ("group.json", &[
                "# minSize 2", "# desiredSize 3", "# remoteAccess", "2 instance type(s)",
                "name: web-spot", "role: web-nodes", "alias: al2023@latest", "arm64", "spot", "m7g.large", "effect: NoSchedule",
                "volumeSize: 50Gi", "20%", "cost: web",
            ]),
            ("asg.json", &[
                "# MaxInstanceLifetime 604800", "# InstanceRequirements.SpotMaxPrice", "# launch template", "# role",
                "name: batch", "karpenter.k8s.aws/instance-cpu", "subnet-0123456789abcdef1", "kind: batch", "spot",
            ]),
            ("values.yaml", &[
                "# replicas: nothing runs in the cluster", "# settings.interruptionQueue", "# controller.resources.requests.cpu",
                "\"prod\" = {", "preference_policy = \"Ignore\"",
            ]),
        ];
        for (file, fragments) in table {
            let run = journeyman(files.path(), &["migrate", file]);
            assert_eq!(run.code, 0, "{file}: {}", run.stderr);
            let flat = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            for fragment in fragments {
                assert!(flat.contains(fragment), "{file}: no {fragment:?} in\n{}", run.stdout);
            }
        }
    }

    #[test]
    fn what_comes_of_a_group_is_valid() {
        for group in [NODE_GROUP, SCALING_GROUP] {
            let files = folder(&[("group.json", group)]);
            let manifests = journeyman(files.path(), &["migrate", "group.json"]).stdout;
            let files = folder(&[("manifests.yaml", &manifests)]);
            journeyman(files.path(), &["validate", "manifests.yaml"]).expect(0, &["No faults", "2 objects"]);
        }
    }

    #[test]
    fn what_is_no_group_is_refused() {
        let nowhere = SCALING_GROUP.replace("kubernetes.io/cluster/prod", "other");
        let files = folder(&[("pod.yaml", "kind: Pod\napiVersion: v1\n"), ("asg.json", &nowhere)]);
        journeyman(files.path(), &["migrate", "pod.yaml"]).expect(2, &["pod.yaml", "describe-nodegroup"]);
        journeyman(files.path(), &["migrate", "asg.json"]).expect(2, &["which cluster", "--cluster NAME"]);
        let named = journeyman(files.path(), &["migrate", "asg.json", "--cluster", "prod"]);
        assert_eq!(named.code, 0, "{}", named.stderr);
    }

    #[test]
    fn a_month_costs_what_its_lines_add_up_to() {
        let report = "REPORT RequestId: 1 Duration: 1 ms Billed Duration: 1000 ms Memory Size: 1024 MB Max Memory Used: 1 MB";
        let files = folder(&[("provision.log", report)]);
        journeyman(files.path(), &["cost"])
            .expect(0, &["provision", "43800 runs", "Karpenter on Fargate", "72.08", "assumed"]);
        journeyman(files.path(), &["cost", "--nodes-usd-per-hour", "10"])
            .expect(0, &["EKS Auto Mode", "876.00"]);
        journeyman(files.path(), &["cost", "--hours", "1", "provision.log"])
            .expect(0, &["730 runs, 730 GB-s", "as measured"]);
        let run = journeyman(files.path(), &["cost", "--linger", "0", "--json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let bill: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let lines = bill["lines"].as_array().unwrap().iter().map(|line| line["usd"].as_f64().unwrap());
        assert!((lines.sum::<f64>() - bill["usdPerMonth"].as_f64().unwrap()).abs() < 0.06);
    }

    #[test]
    fn a_deployment_is_looked_over() {
        let condition = |kind: &str| format!(r#"{{"conditions": [{{"type": "{kind}", "status": "True"}}]}}"#);
        let named = |name: &str, kind: &str| {
            format!(r#"{{"metadata": {{"name": "{name}"}}, "status": {}}}"#, condition(kind))
        };
        let crds = ["ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh"]
            .map(|name| named(name, "Established"));
        let good = format!(r#"{{"items": [{}]}}"#, crds.join(","));
        let ready = format!(r#"{{"items": [{}]}}"#, named("default", "Ready"));
        let unready = ready.replace("True", "False");
        let entry = r#"{"accessEntry": {"kubernetesGroups": ["journeyman:provision"], "type": "STANDARD"}}"#;
        let files = folder(&[
            ("facts/crds.json", &good),
            ("facts/nodepools.json", &ready),
            ("facts/nodeclasses.json", &unready),
            ("facts/access-entry-provision.json", entry),
            ("facts/access-entry-node.json", ""),
        ]);
        journeyman(files.path(), &["doctor", "facts"]).expect(
            1,
            &[
                "ok CRDs are installed",
                "ok provision is let into the cluster",
                "ok NodePools are ready",
                "wrong EC2NodeClasses are ready not ready: default",
                "wrong nodes are let into the cluster the node role has no access entry",
                "unknown queue wake",
                "2 wrong",
            ],
        );
    }
}
