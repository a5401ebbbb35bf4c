//! Decisions taken again from their records.

#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run::{folder, journeyman};

    #[test]
    fn a_record_is_replayed_byte_for_byte_and_a_doctored_one_is_found_out() {
        let folder = folder(&[
            ("none.json", "{}"),
            ("later.json", r#"{"version": 99}"#),
            ("damaged", "(\u{b5}/\u{fd}"),
        ]);
        let basic = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/basic").display().to_string();
        journeyman(folder.path(), &["plan", "--record", "record.json", &basic])
            .expect(0, &["Nodes to launch"]);
        journeyman(folder.path(), &["replay", "record.json"])
            .expect(0, &["plan of files at", "Nodes to launch", "the same decision, byte for byte"]);

        let record = std::fs::read_to_string(folder.path().join("record.json")).unwrap();
        // The decision comes after what it was taken from.
        let (seen, decided) = record.rsplit_once("\"plan\":").unwrap();
        let doctored = format!("{seen}\"plan\":{}", decided.replacen("spot", "on-demand", 1));
        assert_ne!(doctored, record);
        std::fs::write(folder.path().join("doctored.json"), doctored).unwrap();
        journeyman(folder.path(), &["replay", "doctored.json"])
            .expect(1, &["another decision; they first part here:", "then:", "now:"]);

        for (file, told) in [
            ("none.json", "not a decision record"),
            ("later.json", "a record of format 99"),
            ("damaged", "not a decision record"),
            ("missing.json", "missing.json"),
        ] {
            journeyman(folder.path(), &["replay", file]).expect(2, &[told, "help:"]);
        }
    }
}
