//! No input makes the readers panic.

use api::case::Case;
use api::lower::{LowerOptions, Objects, lower};
use api::read::{self, locate, read_documents};
use proptest::prelude::*;

use super::kit::POOL;

const CASE: &str = "name: c\nobjects:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: {a: b}}}\n\
instanceTypes: [{name: a.b, cpu: 2, memory: 4Gi, zones: [a], onDemand: 0.1}]\nexpect: {unschedulable: {}}\n";
const DUMP: &str = r#"{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u"},
 "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}, "status": {"phase": "Pending"}}]}"#;

/// Everything that reads, one after the other.
fn read_all(text: &str) {
    let Ok(documents) = read_documents("f", text) else { return };
    let mut objects = Objects::default();
    for document in &documents {
        let _ = locate(document, "spec.template.spec.requirements[0].key");
        if document.is_case() {
            if let Ok(case) = Case::read(document) {
                let _ = case.snapshot();
            }
        } else {
            objects.add(document);
        }
    }
    let _ = lower(&objects, &LowerOptions::default());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(text) = read::text("f", &bytes) {
            read_all(text);
        }
    }

    #[test]
    fn arbitrary_text(text in "[-a-z0-9:{}\\[\\]&*!|>'\"#%@,? \\n\\t]{0,200}") {
        read_all(&text);
    }

    #[test]
    fn mutated_inputs(which in 0_usize..3, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = [POOL, CASE, DUMP][which].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(text) = read::text("f", &bytes) {
            read_all(text);
        }
    }

    #[test]
    fn truncated_inputs(which in 0_usize..3, at in any::<prop::sample::Index>()) {
        let text = [POOL, CASE, DUMP][which];
        read_all(&text[..at.index(text.len() + 1)]);
    }
}

#[test]
fn the_inputs_are_good_before_they_are_spoilt() {
    for text in [POOL, DUMP] {
        let mut objects = Objects::default();
        objects.read("f", text).expect("readable");
        assert!(lower(&objects, &LowerOptions::default()).is_ok());
    }
    let case = Case::read(&read_documents("f", CASE).expect("readable")[0]).expect("a case");
    assert_eq!(case.snapshot().expect("a snapshot").cluster.pods.len(), 1);
}
