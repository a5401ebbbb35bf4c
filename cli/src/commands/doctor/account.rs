//! Checks of the AWS account: functions, queues, rules, network, roles, quotas, catalogue, clock.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::cluster::FUNCTIONS;
use super::facts::{Facts, Finding, all_of, entries, text};

/// The catalogue is made anew each hour.
const STALE: SignedDuration = SignedDuration::from_hours(2);
/// Signatures of AWS hold for five minutes either way.
const SKEW: SignedDuration = SignedDuration::from_mins(4);
/// The parts of rules' names that say what they listen to.
const RULES: [&str; 5] =
    ["spot-interruption", "rebalance", "state-change", "capacity-reservation", "scheduled-change"];
const SCHEDULES: [&str; 4] = ["provision", "lifecycle", "disruption", "catalog"];
/// Fewer vCPUs are a new account's.
const FEW_CPUS: f64 = 32.0;

pub(super) fn examine(facts: &Facts, now: Timestamp) -> Vec<Finding> {
    let apply = "terraform apply";
    let mut out = Vec::new();
    out.extend(FUNCTIONS.map(|function| {
        facts.check(
            &format!("function {function} works"),
            &format!("function-{function}"),
            "see StateReason and LastUpdateStatusReason of aws lambda get-function-configuration",
            |found| match (text(found, "/State"), text(found, "/LastUpdateStatus")) {
                ("Active", "Successful" | "") => Ok(()),
                ("", _) => Err("there is none of that name".to_owned()),
                (state, update) => Err(format!("its state is {state}, its last update {update}")),
            },
        )
    }));
    out.extend(["wake", "lifecycle", "interruption"].map(|queue| {
        let check = format!("queue {queue} holds nothing back");
        facts.check(&check, &format!("queue-{queue}"), apply, |found| judge_queue(queue, found))
    }));
    out.extend([
        facts.check("rules listen", "rules", "terraform apply; or aws events enable-rule", |rules| {
            all_of("missing or disabled", &RULES, |wanted| {
                let all = entries(rules, "Rules");
                all.iter().any(|it| text(it, "/Name").ends_with(wanted) && text(it, "/State") == "ENABLED")
            })
        }),
        facts.check("schedules are on", "schedules", "terraform apply, with enabled = true", |schedules| {
            all_of("missing or disabled", &SCHEDULES, |wanted| {
                let all = entries(schedules, "Schedules");
                all.iter().any(|it| text(it, "/Name").ends_with(wanted) && text(it, "/State") == "ENABLED")
            })
        }),
        facts.check(
            "subnets are tagged and have addresses",
            "subnets",
            "tag them karpenter.sh/discovery = CLUSTER (subnet_ids of the module), or add a larger one",
            judge_subnets,
        ),
        facts.check(
            "security groups are tagged",
            "security-groups",
            "tag one karpenter.sh/discovery = CLUSTER (security_group_ids of the module)",
            |groups| match entries(groups, "SecurityGroups") {
                [] => Err("none has the tag karpenter.sh/discovery of this cluster".to_owned()),
                _ => Ok(()),
            },
        ),
        facts.check(
            "EC2 may take on the node role",
            "node-role",
            "its trust policy must name ec2.amazonaws.com",
            |role| {
                let trust =
                    role.pointer("/Role/AssumeRolePolicyDocument").map(Value::to_string).unwrap_or_default();
                if trust.contains("ec2.amazonaws.com") {
                    Ok(())
                } else {
                    Err("its trust policy doesn't name EC2".to_owned())
                }
            },
        ),
        facts.check(
            "the account knows Spot",
            "spot-role",
            "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
            |role| {
                let there = !text(role, "/Role/Arn").is_empty();
                if there {
                    Ok(())
                } else {
                    Err("there is no service-linked role for Spot: launches would fail".to_owned())
                }
            },
        ),
    ]);
    out.extend([("on-demand", "quota-on-demand"), ("Spot", "quota-spot")].map(|(what, file)| {
        let help = "ask for more: aws service-quotas request-service-quota-increase";
        facts.check(&format!("the quota of {what} vCPUs is more than a new account's"), file, help, |quota| {
            match quota.pointer("/Quota/Value").and_then(Value::as_f64) {
                Some(most) if most < FEW_CPUS => Err(format!("{most} vCPUs of standard types at once")),
                Some(_) => Ok(()),
                None => Err("it can't be read".to_owned()),
            }
        })
    }));
    out.push(facts.check(
        "the catalogue is fresh",
        "catalogue",
        "aws lambda invoke the function catalog with {\"cluster\": \"NAME\"}, and see its log",
        |object| judge_catalogue(object, now),
    ));
    out.push(facts.check(
        "this machine's clock is right",
        "clock",
        "set it: chronyc makestep, or as the system has it",
        |clock| {
            let read = |pointer: &str| {
                text(clock, pointer).parse::<Timestamp>().map_err(|_| format!("{pointer} is no time"))
            };
            let off = read("/here")?.duration_since(read("/aws")?);
            if off.abs() < SKEW {
                Ok(())
            } else {
                Err(format!("it is {off:#} off: signatures would be refused"))
            }
        },
    ));
    out
}

fn judge_queue(queue: &str, found: &Value) -> Result<(), String> {
    let attribute = |name: &str| text(found, &format!("/Attributes/{name}"));
    if attribute("QueueArn").is_empty() {
        return Err("there is none of that name".to_owned());
    }
    if attribute("DelaySeconds") != "0" {
        return Err(format!(
            "it holds messages back for {} s: a Spot notice leaves 120",
            attribute("DelaySeconds")
        ));
    }
    if attribute("RedrivePolicy").is_empty() {
        return Err("it has no dead-letter queue".to_owned());
    }
    if queue == "interruption" && !attribute("Policy").contains("events.amazonaws.com") {
        return Err("its policy lets no rule of EventBridge send to it".to_owned());
    }
    Ok(())
}

fn judge_subnets(subnets: &Value) -> Result<(), String> {
    let all = entries(subnets, "Subnets");
    if all.is_empty() {
        return Err("none has the tag karpenter.sh/discovery of this cluster".to_owned());
    }
    let few =
        |it: &&Value| it.get("AvailableIpAddressCount").and_then(Value::as_u64).is_some_and(|free| free < 16);
    let full: Vec<&str> = all.iter().filter(few).map(|it| text(it, "/SubnetId")).collect();
    if full.is_empty() {
        Ok(())
    } else {
        Err(format!("fewer than 16 addresses are free in {}", full.join(", ")))
    }
}

fn judge_catalogue(object: &Value, now: Timestamp) -> Result<(), String> {
    let Ok(written) = text(object, "/LastModified").parse::<Timestamp>() else {
        return Err("there is none: prices are those that came with the program".to_owned());
    };
    let age = now.duration_since(written);
    if age < STALE { Ok(()) } else { Err(format!("it is {} hours old", age.as_hours())) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::facts::State;
    use super::*;

    #[test]
    fn each_fault_is_found_and_nothing_else() {
        let queue = |delay: &str, policy: &str| json!({"Attributes": {"QueueArn": "arn", "DelaySeconds": delay, "RedrivePolicy": "{}", "Policy": policy}});
        let events = "{\"Service\":\"events.amazonaws.com\"}";
        let subnet =
            |free: u64| json!({"Subnets": [{"SubnetId": "subnet-1", "AvailableIpAddressCount": free}]});
        let trust = |service: &str| json!({"Role": {"AssumeRolePolicyDocument": {"Principal": {"Service": service}}}});
        let catalogue = |at: &str| json!({"LastModified": at});
        let clock = |aws: &str| json!({"here": "2026-12-02T12:00:00Z", "aws": aws});
        let function = |state: &str| json!({"State": state, "LastUpdateStatus": "Successful"});
        let quota = |most: f64| json!({"Quota": {"Value": most}});
        #[rustfmt::skip]
        let table = [
            ("queue-interruption", queue("0", events),              None),
            ("queue-interruption", queue("5", events),              Some("back for 5 s")),
            ("queue-interruption", queue("0", "{}"),                Some("lets no rule")),
            ("queue-wake",         queue("0", ""),                  None),
            ("queue-wake",         json!({}),                       Some("none of that name")),
            ("subnets",            subnet(200),                     None),
            ("subnets",            subnet(3),                       Some("subnet-1")),
            ("subnets",            json!({"Subnets": []}),          Some("karpenter.sh/discovery")),
            ("node-role",          trust("ec2.amazonaws.com"),      None),
            ("node-role",          trust("lambda.amazonaws.com"),   Some("doesn't name EC2")),
            ("spot-role",          json!({}),                       Some("service-linked role")),
            ("catalogue",          catalogue("2026-12-02T11:10:00+00:00"), None),
            ("catalogue",          catalogue("2026-12-02T02:00:00+00:00"), Some("10 hours")),
            ("catalogue",          json!({}),                       Some("came with the program")),
            ("clock",              clock("2026-12-02T12:00:30Z"),   None),
            ("clock",              clock("2026-12-02T12:10:00Z"),   Some("off")),
            ("function-catalog",   function("Active"),              None),
            ("function-catalog",   function("Inactive"),            Some("Inactive")),
            ("quota-spot",         quota(5.0),                      Some("5 vCPUs")),
            ("quota-spot",         quota(640.0),                    None),
        ];
        let now = "2026-12-02T12:00:00Z".parse().unwrap();
        for (file, value, told) in table {
            let mut facts = Facts::default();
            facts.put(file.to_owned(), value.clone());
            let findings = examine(&facts, now);
            let looked: Vec<&Finding> = findings.iter().filter(|it| it.state != State::Unknown).collect();
            assert_eq!(looked.len(), 1, "{file}");
            match told {
                None => assert_eq!(looked[0].state, State::Fine, "{file} {value}: {:?}", looked[0]),
                Some(told) => {
                    assert_eq!(looked[0].state, State::Wrong, "{file} {value}");
                    assert!(looked[0].message.contains(told), "{file} {value}: {:?}", looked[0]);
                    assert!(!looked[0].help.is_empty(), "{file}");
                }
            }
        }
    }
}
