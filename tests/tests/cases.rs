//! The case files under `cases/`, run as `journeyman test` runs them.

#[cfg(test)]
mod repo;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use api::case::{Action, Case};
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
    fn every_case_comes_out_as_expected() {
        let mut misses = Vec::new();
        let mut run = 0;
        for (path, document) in cases() {
            let case = Case::read(&document).unwrap_or_else(|error| panic!("{path}: {error:?}"));
            let snapshot = case.snapshot().unwrap_or_else(|error| panic!("{path}: {error:?}"));
            let steps = if case.action == Action::Disrupt { planner::DISRUPT } else { planner::PROVISION };
            let plan = planner::decide(&snapshot, steps);
            let faults = planner::objections(&plan, &snapshot, steps);
            let found = case.check(&plan).into_iter().map(|miss| miss.0).chain(faults);
            misses.extend(found.map(|miss| format!("{path}: {}: {miss}", case.name)));
            run += 1;
        }
        assert!(run > 0, "there are no cases");
        assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
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
