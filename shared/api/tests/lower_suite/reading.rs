//! Documents, their places, and inputs that can't be read.

use api::read::{self, MAX_BYTES, locate, read_documents};
use miette::Diagnostic;

fn places(text: &str) -> Vec<String> {
    let documents = read_documents("f", text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let name = |document: &read::Document| {
        document.value.pointer("/metadata/name").and_then(|name| name.as_str()).unwrap_or("-").to_owned()
    };
    documents.iter().map(|document| format!("{} {}", document.place, name(document))).collect()
}

#[test]
fn documents_of_every_form_know_their_places() {
    #[rustfmt::skip]
    let table: [(&str, &[&str]); 11] = [
        ("kind: A\nmetadata: {name: a}\n", &["f:1:1 a"]),
        ("# a comment\n---\n# another\nkind: A\nmetadata: {name: a}\n---\nkind: B\n", &["f:4:1 a", "f:7:1 -"]),
        ("---\n---\nkind: A\n---\n", &["f:3:1 -"]),
        ("--- {kind: A, metadata: {name: a}}\n", &["f:1:5 a"]),
        ("%YAML 1.2\n---\nkind: A\n", &["f:3:1 -"]),
        ("kind: List\nitems:\n- kind: A\n  metadata: {name: a}\n- kind: B\n  metadata: {name: b}\n", &["f:3:3 a", "f:5:3 b"]),
        ("{\"kind\": \"A\"}", &["f:1:1 -"]),
        ("{\"items\": [\n {\"kind\": \"A\"},\n   {\"metadata\": {\"name\": \"b\"}}],\n \"kind\": \"PodList\"}", &["f:2:2 -", "f:3:4 b"]),
        ("{\"kind\": \"A\"}\n{\"kind\": \"B\"}", &["f:1:1 -", "f:2:1 -"]),
        ("[{\"kind\": \"A\"}]", &["f:1:2 -"]),
        ("{kind: A, metadata: {name: flow}}", &["f:1:1 flow"]),
    ];
    for (text, expected) in table {
        assert_eq!(places(text), expected, "{text}");
    }
}

#[test]
fn a_document_marker_inside_a_block_still_ends_it() {
    assert_eq!(places("kind: A\ntext: |\n  one\n---\nkind: B\n").len(), 2);
    assert_eq!(places("kind: A\ntext: |\n  --- one\n  ---\n").len(), 1);
}

#[test]
fn what_cannot_be_read_says_where_and_how_to_help() {
    #[rustfmt::skip]
    let table: [(&str, &str, &str); 12] = [
        ("", "f holds no object", "read::empty"),
        ("\n# only a comment\n", "f holds no object", "read::empty"),
        ("---\n---\n", "f holds no object", "read::empty"),
        ("kind: [a", "f:1:", "read::syntax"),
        ("a: 1\nb: 2\na: 3\n", "f:3:1", "read::syntax"),
        ("kind: A\n\tmetadata: b\n", "f:1:7: not YAML", "read::syntax"),
        ("{\"kind\": \"A\",", "f:1:13", "read::syntax"),
        ("{\"kind\": \"A\"}\n{\"kind\" \"B\"}", "f:2:9", "read::syntax"),
        ("- 1\n- 2\n", "f:1:1: expected an object", "read::not_an_object"),
        ("just text", "f:1:1: expected an object", "read::not_an_object"),
        ("kind: List\nitems: [{kind: A}, 7]\n", "f:2:", "read::not_an_object"),
        ("a: *nothing\n", "f:1:", "read::syntax"),
    ];
    for (text, message, code) in table {
        let error = read_documents("f", text).expect_err(text);
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert_eq!(error.code().map(|code| code.to_string()).as_deref(), Some(code), "{text}");
        if code != "read::syntax" {
            assert!(error.help().is_some(), "{text}");
        }
    }
}

#[test]
fn inputs_that_would_exhaust_us_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", ")));
    }
    let deep_yaml = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
    let deep_json = format!("{}{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    for text in [bomb, deep_yaml, deep_json] {
        assert!(read_documents("f", &text).is_err(), "{}", &text[..40]);
    }
    let large = " ".repeat(MAX_BYTES + 1);
    let error = read_documents("f", &large).expect_err("large");
    assert_eq!(error.to_string(), "f holds 64 MiB, more than the 64 MiB that are read");
    assert!(error.help().is_some());
    assert!(read::check_size("f", MAX_BYTES).is_ok());
}

#[test]
fn bytes_that_are_no_text_say_where() {
    let error = read::text("f", b"a: b\nc: \xff\n").expect_err("no UTF-8");
    assert_eq!(error.to_string(), "f:2:4: not UTF-8 text");
}

#[test]
fn fields_are_found_again() {
    let yaml = "\n---\nkind: A\nmetadata:\n  labels:\n    a.b/c: d\nspec:\n  list:\n  - x: 1\n  - y: 2\n";
    let list = "kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    list: [{x: 1}, {y: 2}]\n";
    let json = "{\"kind\": \"List\", \"items\": [\n  {\"kind\": \"A\"}, {\"kind\": \"B\",\n   \"spec\": {\"list\": [1,\n 2]}}]}";
    #[rustfmt::skip]
    let table = [
        (yaml, 0, "spec.list[1].y", "f:10:5"),
        (yaml, 0, "metadata.labels[\"a.b/c\"]", "f:6:5"),
        (yaml, 0, "metadata.labels.a.b/c", "f:6:5"),
        (yaml, 0, "metadata.labels[a.b/c]", "f:6:5"),
        (yaml, 0, "spec.list[7].y", "f:8:3"),
        (yaml, 0, "spec.missing", "f:7:1"),
        (yaml, 0, "", "f:3:1"),
        (list, 1, "spec.list[1].y", "f:6:21"),
        (json, 1, "spec.list[1]", "f:4:2"),
        (json, 1, "kind", "f:2:19"),
    ];
    for (text, index, path, place) in table {
        let documents = read_documents("f", text).expect(text);
        let found = locate(&documents[index], path).map(|place| place.to_string());
        assert_eq!(found.as_deref(), Some(place), "{path} in {text}");
    }
}

#[test]
fn environment_variables_are_dropped_and_labels_of_that_name_kept() {
    let yaml = "
kind: Pod
metadata:
  labels: {env: prod}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{\"env\": \"hunter2\"}'
    other: kept
  managedFields: [{manager: hunter2}]
spec:
  containers:
  - {name: c, env: [{name: A, value: hunter2}], envFrom: [{prefix: hunter2}], image: i}
";
    let from_yaml = read_documents("f", yaml).expect("YAML");
    let json = serde_json::to_string(&serde_json::json!({ "kind": "List", "items": [{
        "kind": "Pod", "metadata": { "labels": { "env": "prod" } },
        "spec": { "containers": [{ "env": [{ "value": "hunter2" }], "image": "i" }] },
    }] }));
    let from_json = read_documents("f", &json.expect("JSON")).expect("JSON");
    for document in from_yaml.iter().chain(&from_json) {
        let text = document.value.to_string();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("\"env\":\"prod\"") && text.contains("\"image\":\"i\""), "{text}");
    }
}

#[test]
fn case_files_are_told_from_objects() {
    for (text, is_case) in [
        ("name: x\nobjects: []\nexpect: {}\n", true),
        ("kind: A\nobjects: []\n", false),
        ("kind: A\n", false),
    ] {
        assert_eq!(read_documents("f", text).expect(text)[0].is_case(), is_case, "{text}");
    }
}
