//! `behaviours.tsv`, the list of Karpenter's behaviours, keeps its word: each named test exists.

#[cfg(test)]
mod repo;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::repo::{files, read, root};

    /// How many behaviours each group has.
    const GROUPS: [(&str, usize); 39] = [
        ("API", 28),
        ("REQ", 18),
        ("PROV", 19),
        ("SCHED", 24),
        ("INST", 5),
        ("MINV", 5),
        ("RSV", 6),
        ("LIMIT", 6),
        ("DAEMON", 12),
        ("TOPO", 32),
        ("VOL", 9),
        ("EXIST", 7),
        ("AWS-A", 46),
        ("AWS-B", 46),
        ("AWS-C", 58),
        ("AWS-D", 64),
        // Of these only what the planner decides; the functions' own part has no rows yet.
        ("LAUNCH", 5),
        ("REG", 9),
        ("INIT", 3),
        ("LIVE", 4),
        ("NC", 8),
        ("TERM", 15),
        ("EVICT", 5),
        ("COND", 1),
        ("AWS-E", 30),
        ("DRFC", 10),
        ("CAND", 8),
        ("BUDG", 6),
        ("COST", 1),
        ("EMPTY", 6),
        ("DRIFT", 6),
        ("CONS", 24),
        ("VAL", 3),
        ("QUEUE", 6),
        ("BAL", 6),
        ("SDRIFT", 1),
        ("STATIC", 6),
        ("HEALTH", 4),
        ("FIELD", 14),
    ];

    struct Row {
        id: String,
        tests: Vec<String>,
        why_not: String,
    }

    fn rows() -> Vec<Row> {
        let text = read("tests/behaviours.tsv");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("id\ttest\twhy not"), "the first line names the columns");
        lines
            .enumerate()
            .map(|(number, line)| {
                let columns: Vec<_> = line.split('\t').collect();
                let [id, tests, why_not] = columns[..] else {
                    panic!("line {}: not three columns", number + 2)
                };
                let tests = tests.split(' ').filter(|test| *test != "-").map(str::to_owned).collect();
                Row { id: id.to_owned(), tests, why_not: why_not.to_owned() }
            })
            .collect()
    }

    #[test]
    fn the_list_is_complete_and_says_each_thing_once() {
        let rows = rows();
        let ids: BTreeSet<_> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), rows.len(), "an id stands twice");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for id in &ids {
            let (group, _) = id.rsplit_once('-').unwrap_or_else(|| panic!("{id} has no number"));
            *counts.entry(group).or_default() += 1;
        }
        assert_eq!(counts, BTreeMap::from(GROUPS));
    }

    #[test]
    fn every_behaviour_has_a_test_or_a_reason() {
        for Row { id, tests, why_not } in rows() {
            assert_eq!(tests.is_empty(), !why_not.is_empty(), "{id}: name a test, or say why there is none");
        }
    }

    #[test]
    fn every_named_test_exists() {
        let mut sources: BTreeMap<String, String> = BTreeMap::new();
        for path in files("", ".rs") {
            sources.insert(path.clone(), read(&path));
        }
        for Row { id, tests, .. } in rows() {
            for test in tests {
                match test.split_once("::") {
                    Some((path, name)) => {
                        let text =
                            sources.get(path).unwrap_or_else(|| panic!("{id}: there is no file {path}"));
                        assert!(is_test(text, name), "{id}: {path} has no test {name}");
                    }
                    None => assert!(root().join(&test).is_file(), "{id}: there is no case file {test}"),
                }
            }
        }
    }

    /// Whether `text` has a test of that name: a marked function, or a row of a macro that makes a test a row.
    fn is_test(text: &str, name: &str) -> bool {
        let (function, row) = (format!("fn {name}("), format!("{name} => \""));
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let is_marked = |mark: &str, line: &str| match mark {
            "#[test]" => line.starts_with(&function),
            mark if mark.starts_with("#[tokio::test") => line.starts_with(&format!("async {function}")),
            _ => false,
        };
        lines.windows(2).any(|pair| is_marked(pair[0], pair[1]))
            || lines.iter().any(|line| line.starts_with(&row))
    }
}
