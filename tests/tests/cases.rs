//! The case files under `cases/`, which `journeyman test` runs.

#[cfg(test)]
mod repo;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use api::case::Case;
    use api::read::{Document, read_documents};

    use super::repo::{files, read};

    fn cases() -> Vec<(String, Document)> {
        let mut cases = Vec::new();
        for path in files("tests/cases", ".yaml") {
            let documents = read_documents(&path, &read(&path)).unwrap_or_else(|error| panic!("{error}"));
            cases.extend(documents.into_iter().map(|document| (path.clone(), document)));
        }
        cases
    }

    #[test]
    fn a_file_names_each_of_its_cases_once() {
        let mut names = BTreeSet::new();
        for (path, document) in cases() {
            let case = Case::read(&document).unwrap_or_else(|error| panic!("{path}: {error:?}"));
            assert!(names.insert((path.clone(), case.name.clone())), "{path}: {} stands twice", case.name);
        }
    }
}
