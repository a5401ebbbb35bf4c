//! The judge of plans finds what is wrong with broken ones, and nothing wrong with sound ones.
#![expect(clippy::unwrap_used, reason = "helpers of tests: what is missing should stop the test")]

mod held;
mod neighbours;
mod plain;
mod speed;
mod world;

use model::{Plan, Snapshot, audit};

/// What a row does to a sound plan, and a part of what must be found; nothing if it stays sound.
type Row = (&'static str, &'static str, fn(&mut Snapshot, &mut Plan));

/// Breaks a fresh `case` in the way of each row.
#[track_caller]
fn judge(case: impl Fn() -> (Snapshot, Plan), rows: &[Row]) {
    let (snapshot, plan) = case();
    assert_eq!(audit(&plan, &snapshot), Vec::<String>::new(), "before it is broken");
    for (what, expected, change) in rows {
        let (mut snapshot, mut plan) = case();
        change(&mut snapshot, &mut plan);
        let faults = audit(&plan, &snapshot);
        if expected.is_empty() {
            assert!(faults.is_empty(), "{what}: {faults:#?}");
        } else {
            assert!(faults.iter().any(|fault| fault.contains(expected)), "{what}: {faults:#?}");
        }
    }
}
