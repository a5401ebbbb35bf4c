//! What `infra/` lets each function do: no more than the code calls, each write bound to what is ours.

#[cfg(test)]
mod repo;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    use super::repo::{files, read};

    /// What is allowed though no line of `shared/cloud` calls it, and why.
    const NOT_CALLED: [(&str, &str); 14] = [
        ("ec2:AssignPrivateIpAddresses", "Lambda, to put functions into a VPC; denied to the functions"),
        ("ec2:CreateNetworkInterface", "Lambda, to put functions into a VPC; denied to the functions"),
        ("ec2:DeleteNetworkInterface", "Lambda, to put functions into a VPC; denied to the functions"),
        ("ec2:DescribeNetworkInterfaces", "Lambda, to put functions into a VPC; denied to the functions"),
        ("ec2:RunInstances", "what CreateFleet asks for in the caller's name"),
        ("ec2:UnassignPrivateIpAddresses", "Lambda, to put functions into a VPC; denied to the functions"),
        ("iam:PassRole", "what CreateFleet and AddRoleToInstanceProfile ask for"),
        ("iam:TagInstanceProfile", "CreateInstanceProfile with tags"),
        ("kms:Decrypt", "S3, SQS and DynamoDB in the caller's name, with a key of one's own"),
        ("kms:GenerateDataKey", "S3, SQS and DynamoDB in the caller's name, with a key of one's own"),
        ("lambda:InvokeFunction", "EventBridge Scheduler"),
        ("logs:CreateLogStream", "Lambda, for what is written to standard output"),
        ("logs:PutLogEvents", "Lambda, for what is written to standard output"),
        ("s3:ListBucket", "without it S3 calls an object that isn't there forbidden"),
    ];

    /// Of queues, Lambda asks in the function's name.
    const NOT_CALLED_OF_QUEUES: &str = "sqs:GetQueueAttributes";

    /// What is called by nobody who runs as a function.
    const NOT_ALLOWED: [&str; 1] = ["dynamodb:DeleteItem"];

    /// Reads that know no resources: AWS has nothing narrower than all.
    const UNSCOPED_READS: [&str; 3] = ["ec2:Describe", "pricing:GetProducts", "iam:ListInstanceProfiles"];

    /// A statement of a policy.
    struct Statement {
        policy: String,
        sid: String,
        allows: bool,
        actions: Vec<String>,
        resources: Vec<String>,
        condition: Value,
    }

    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(all) => all.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
            other => panic!("neither text nor texts: {other}"),
        }
    }

    fn statements() -> Vec<Statement> {
        let mut out = Vec::new();
        for path in files("infra/policies", ".json") {
            let policy = path.rsplit('/').next().unwrap().trim_end_matches(".json").to_owned();
            let document: Value =
                serde_json::from_str(&read(&path)).unwrap_or_else(|e| panic!("{path}: {e}"));
            for statement in document["Statement"].as_array().unwrap() {
                out.push(Statement {
                    policy: policy.clone(),
                    sid: statement["Sid"].as_str().unwrap().to_owned(),
                    allows: statement["Effect"] == "Allow",
                    actions: texts(&statement["Action"]),
                    resources: texts(&statement["Resource"]),
                    condition: statement["Condition"].clone(),
                });
            }
        }
        assert!(out.len() > 20, "only {} statements found", out.len());
        out
    }

    fn is_read(action: &str) -> bool {
        let verb = action.split(':').nth(1).unwrap();
        ["Describe", "Get", "List"].iter().any(|word| verb.starts_with(word))
    }

    /// `run_instances` of the client `ec2` as IAM has it.
    fn action(service: &str, method: &str) -> String {
        let name: String =
            method.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect::<Vec<_>>().concat();
        match (service, name.as_str()) {
            ("client", _) => format!("ec2:{name}"),
            // One right for one message and for ten.
            ("sqs", "SendMessageBatch") => "sqs:SendMessage".to_owned(),
            _ => format!("{service}:{name}"),
        }
    }

    /// What `shared/cloud` asks of AWS, and where.
    fn calls() -> BTreeMap<String, String> {
        let services = ["ec2", "ssm", "iam", "eks", "pricing", "s3", "sqs", "dynamodb", "events"];
        let mut out = BTreeMap::new();
        for path in files("shared/cloud/src", ".rs") {
            let text: String = read(&path).split_whitespace().collect();
            for (service, start) in services
                .iter()
                .map(|it| (*it, format!("self.{it}.")))
                .chain([("client", "client.".to_owned())])
            {
                for (at, _) in text.match_indices(&start) {
                    let rest = &text[at + start.len()..];
                    let method: String =
                        rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                    if rest[method.len()..].starts_with("()") && !method.is_empty() {
                        out.insert(action(service, &method), path.clone());
                    }
                }
            }
        }
        assert!(out.len() > 25, "only {} calls found: {out:?}", out.len());
        out
    }

    #[test]
    fn nothing_is_allowed_by_a_star() {
        for Statement { policy, sid, allows, actions, resources, .. } in statements() {
            for action in &actions {
                assert!(!action.contains('*'), "{policy}/{sid}: {action}");
            }
            let unscoped = |action: &String| UNSCOPED_READS.iter().any(|read| action.starts_with(read));
            // What Lambda does for a function has no name beforehand; the function itself is denied it.
            let is_star = allows && policy != "network" && resources.iter().any(|resource| resource == "*");
            assert!(
                !is_star || actions.iter().all(unscoped),
                "{policy}/{sid}: all resources, for {actions:?}"
            );
        }
    }

    #[test]
    fn each_write_to_ec2_and_iam_has_a_condition() {
        for Statement { policy, sid, allows, actions, resources, condition } in statements() {
            let writes = actions
                .iter()
                .any(|action| (action.starts_with("ec2:") || action.starts_with("iam:")) && !is_read(action));
            if !allows || !writes {
                continue;
            }
            assert!(condition.is_object(), "{policy}/{sid}: {actions:?} without a condition");
            let makes_or_ends = ["instance", "launch-template", "volume", "fleet", "instance-profile"];
            let ours = resources
                .iter()
                .any(|resource| makes_or_ends.iter().any(|kind| resource.contains(&format!(":{kind}/"))));
            let tag = condition["StringEquals"].as_object().is_some_and(|conditions| {
                let mut tags = conditions.iter().filter(|(key, _)| key.ends_with("Tag/eks:eks-cluster-name"));
                tags.any(|(_, value)| *value == serde_json::json!(["${clusters}"]))
            });
            assert!(!ours || tag, "{policy}/{sid}: {actions:?} on {resources:?} of other clusters too");
        }
    }

    #[test]
    fn what_lambda_does_for_a_function_the_function_may_not() {
        let statements = statements();
        let network = |allows: bool| -> BTreeSet<String> {
            let of = statements.iter().filter(|one| one.policy == "network" && one.allows == allows);
            of.flat_map(|one| one.actions.clone()).filter(|action| action != "ec2:DescribeSubnets").collect()
        };
        assert_eq!(network(true), network(false));
        let denied = statements.iter().find(|one| !one.allows).unwrap();
        assert_eq!(denied.condition["ArnEquals"]["lambda:SourceFunctionArn"], "${function_arn}");
    }

    #[test]
    fn no_more_is_allowed_than_is_called_and_no_less() {
        let calls = calls();
        let excepted: BTreeSet<&str> =
            NOT_CALLED.iter().map(|(action, _)| *action).chain([NOT_CALLED_OF_QUEUES]).collect();
        let mut allowed = BTreeSet::new();
        for Statement { policy, sid, allows, actions, .. } in statements() {
            for action in actions.into_iter().filter(|_| allows) {
                let is_known = calls.contains_key(&action) || excepted.contains(action.as_str());
                assert!(is_known, "{policy}/{sid}: nobody calls {action}");
                allowed.insert(action);
            }
        }
        for action in excepted {
            assert!(allowed.contains(action), "{action} is excepted and not allowed: take it off the list");
            assert!(!calls.contains_key(action), "{action} is called: take it off the list");
        }
        for (action, place) in calls {
            let known = allowed.contains(&action) || NOT_ALLOWED.contains(&action.as_str());
            assert!(known, "{place} calls {action}, which no function is allowed");
        }
    }

    #[test]
    fn one_function_writes_to_ec2_and_one_to_iam() {
        for Statement { policy, sid, allows, actions, resources, .. } in statements() {
            for action in actions.iter().filter(|action| allows && !is_read(action)) {
                let writer: &[&str] = match action.split(':').next().unwrap() {
                    _ if action == "iam:PassRole" => &["catalog", "lifecycle"],
                    "ec2" => &["lifecycle", "network"],
                    "iam" => &["catalog"],
                    _ => continue,
                };
                assert!(writer.contains(&policy.as_str()), "{policy}/{sid}: {action}");
                if action == "iam:PassRole" {
                    assert_eq!(resources, ["${node_role_arns}"], "{policy}/{sid}");
                }
            }
        }
    }

    #[test]
    fn roles_in_the_cluster_know_no_star_and_no_secret() {
        let mut seen = 0;
        for path in files("infra/kubernetes", ".yaml") {
            let text = read(&path);
            if !text.contains("rbac.authorization.k8s.io") {
                continue;
            }
            seen += 1;
            for word in ["\"*\"", "'*'", "secrets", "escalate", "impersonate", "bind]"] {
                assert!(!text.contains(word), "{path}: {word}");
            }
            assert!(!text.contains("cluster-admin"), "{path}");
        }
        assert_eq!(seen, 7, "a file a function, the Lease, and what may be added");
    }

    #[test]
    fn the_crds_that_are_applied_are_those_of_the_code() {
        let made: Vec<String> = api::crd::crds()
            .iter()
            .map(|crd| format!("---\n{}", serde_saphyr::to_string(crd).unwrap()))
            .collect();
        assert!(read("infra/kubernetes/crds.yaml") == made.concat(), "make it anew: just crds");
    }
}
