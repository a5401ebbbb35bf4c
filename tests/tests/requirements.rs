//! Karpenter's algebra of requirements, a test for each behaviour of the list.

#[cfg(test)]
mod tests {
    use model::{
        Operator, Requirement, Requirements, Taint, TaintEffect, Toleration, TolerationOperator, Undefined,
        labels,
    };
    use tests::kit;

    fn req(operator: Operator, values: &[&str]) -> Requirement {
        Requirement::new(operator, values.iter().copied()).unwrap()
    }

    use Operator::{DoesNotExist, Exists, Gt, Gte, In, Lt, Lte, NotIn};

    #[track_caller]
    fn intersects_to(one: (Operator, &[&str]), two: (Operator, &[&str]), expected: Requirement) {
        let (one, two) = (req(one.0, one.1), req(two.0, two.1));
        assert_eq!(one.intersection(&two), expected, "{one} and {two}");
        assert_eq!(two.intersection(&one), expected, "{two} and {one}");
    }

    #[test]
    fn req_01_in_and_in() {
        intersects_to((In, &["A", "B"]), (In, &["B", "C"]), req(In, &["B"]));
        intersects_to((In, &["A"]), (In, &["B"]), req(DoesNotExist, &[]));
    }

    #[test]
    fn req_02_not_in() {
        intersects_to((In, &["A", "B"]), (NotIn, &["A"]), req(In, &["B"]));
        intersects_to((NotIn, &["A"]), (NotIn, &["B"]), req(NotIn, &["A", "B"]));
    }

    #[test]
    fn req_03_values_beyond_a_bound_and_words_are_dropped() {
        intersects_to((In, &["1", "9"]), (Gt, &["5"]), req(In, &["9"]));
        intersects_to((In, &["9", "large"]), (Gt, &["5"]), req(In, &["9"]));
    }

    #[test]
    fn req_04_bounds_that_leave_nothing_or_one_number() {
        intersects_to((Gt, &["5"]), (Lt, &["6"]), req(DoesNotExist, &[]));
        let five = req(Gte, &["5"]).intersection(&req(Lte, &["5"]));
        assert!(five.has("5") && !five.has("4") && !five.has("6"));
    }

    #[test]
    fn req_05_open_bounds_are_kept_as_closed_ones() {
        assert_eq!(req(Gt, &["5"]).entries(), [(Gte, vec!["6".to_owned()])]);
        assert_eq!(req(Lt, &["5"]).entries(), [(Lte, vec!["4".to_owned()])]);
    }

    #[test]
    fn req_06_both_bounds_are_two_entries() {
        let between = req(Gt, &["1"]).intersection(&req(Lt, &["9"]));
        assert_eq!(between.entries(), [(Gte, vec!["2".to_owned()]), (Lte, vec!["8".to_owned()])]);
    }

    #[test]
    fn req_07_the_larger_min_values_is_kept() {
        let with = |most| Requirement::exists().with_min_values(most);
        for (one, two, most) in [(Some(2), Some(5), Some(5)), (None, Some(3), Some(3)), (None, None, None)] {
            assert_eq!(with(one).intersection(&with(two)).min_values, most);
            assert_eq!(with(two).intersection(&with(one)).min_values, most);
        }
    }

    #[test]
    fn req_08_what_each_operator_accepts() {
        #[rustfmt::skip]
        let table = [
            (Exists,       &[][..],      "x", true),
            (DoesNotExist, &[][..],      "x", false),
            (NotIn,        &["x"][..],   "x", false),
            (NotIn,        &["x"][..],   "y", true),
            (In,           &["x"][..],   "x", true),
            (In,           &["x"][..],   "y", false),
        ];
        for (operator, values, value, accepted) in table {
            assert_eq!(req(operator, values).has(value), accepted, "{operator:?} {values:?} {value}");
        }
    }

    #[test]
    fn req_09_old_names_of_labels() {
        for (old, new) in [
            ("failure-domain.beta.kubernetes.io/zone", labels::ZONE),
            ("failure-domain.beta.kubernetes.io/region", labels::REGION),
            ("beta.kubernetes.io/arch", labels::ARCH),
            ("beta.kubernetes.io/os", labels::OS),
            ("beta.kubernetes.io/instance-type", labels::INSTANCE_TYPE),
        ] {
            assert!(one(old, req(In, &["x"])).get(new).is_some(), "{old}");
        }
    }

    fn one(key: &str, requirement: Requirement) -> Requirements {
        [(key.to_owned(), requirement)].into_iter().collect()
    }

    #[test]
    fn req_10_well_known_labels_need_not_be_defined_on_new_nodes() {
        let wants = one(labels::ZONE, req(In, &["a"]));
        assert!(Requirements::new().compatible(&wants, Undefined::WellKnownAllowed).is_ok());
        assert!(Requirements::new().compatible(&wants, Undefined::Refused).is_err());
    }

    #[test]
    fn req_11_labels_that_nobody_defines() {
        for (operator, values, passes) in
            [(In, &["x"][..], false), (Exists, &[], false), (NotIn, &["x"], true), (DoesNotExist, &[], true)]
        {
            let wants = one("team", req(operator, values));
            for undefined in [Undefined::Refused, Undefined::WellKnownAllowed] {
                assert_eq!(Requirements::new().compatible(&wants, undefined).is_ok(), passes, "{wants}");
            }
        }
    }

    #[test]
    fn req_12_sides_that_accept_absence_never_conflict() {
        let sides = [req(NotIn, &["x"]), req(NotIn, &["y"]), req(DoesNotExist, &[])];
        for has in &sides {
            for wants in &sides {
                assert!(
                    one("team", has.clone()).intersects(&one("team", wants.clone())).is_ok(),
                    "{has} and {wants}"
                );
            }
        }
    }

    #[test]
    fn req_13_a_label_that_nobody_knows_is_told_from_the_one_that_was_meant() {
        #[rustfmt::skip]
        let table = [
            ("zone", Some(labels::ZONE)), ("topology.kubernetes.io/zones", Some(labels::ZONE)),
            ("topologie.kubernetes.io/zone", Some(labels::ZONE)), ("karpenter.sh/capacity", Some(labels::CAPACITY_TYPE)),
            ("karpenter.sh/capacity-tpye", Some(labels::CAPACITY_TYPE)), ("instance-type", Some(labels::INSTANCE_TYPE)),
            ("instance-family", Some("karpenter.k8s.aws/instance-family")), ("example.com/colour", None),
        ];
        for (key, meant) in table {
            let pod = kit::with(kit::pod("web", "1", "1Gi"), |spec| {
                spec.node_selector.add(key, req(In, &["x"]));
            });
            let types = vec![kit::instance_type("m5.large", 2, 8, 96_000, &kit::ZONES)];
            let plan = planner::decide(
                &kit::snapshot(vec![kit::pool("default")], types, vec![pod]),
                planner::PROVISION,
            );
            let help = plan.unschedulable[0].reason.help().unwrap().to_string();
            match meant {
                Some(meant) => assert_eq!(help, format!("did you mean the label {meant} rather than {key}?")),
                None => assert!(!help.contains("did you mean"), "{key}: {help}"),
            }
        }
    }

    #[test]
    fn req_14_printing_does_not_depend_on_order() {
        let keys = [("b", req(In, &["2", "1"])), ("a", req(Exists, &[]))];
        let there: Requirements = keys.iter().cloned().map(|(key, req)| (key.to_owned(), req)).collect();
        let back: Requirements = keys.iter().rev().cloned().map(|(key, req)| (key.to_owned(), req)).collect();
        assert_eq!(there.to_string(), back.to_string());
        assert!(there.to_string().starts_with('a'), "{there}");
    }

    #[test]
    fn req_17_tolerating_everything_and_taints_that_differ_in_value() {
        let all = Toleration {
            key: None,
            operator: TolerationOperator::Exists,
            value: String::new(),
            effect: None,
        };
        let taint = |value: &str, effect| Taint { key: "team".into(), value: value.into(), effect };
        for effect in [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute] {
            assert!(all.tolerates(&taint("a", effect)));
        }
        assert!(taint("a", TaintEffect::NoSchedule).matches(&taint("b", TaintEffect::NoSchedule)));
        assert!(!taint("a", TaintEffect::NoSchedule).matches(&taint("a", TaintEffect::NoExecute)));
    }
}
