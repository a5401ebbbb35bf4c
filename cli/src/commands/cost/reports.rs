//! Lambda's REPORT lines: what was billed of each run.

use std::collections::BTreeMap;

/// Runs of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Runs {
    pub(super) count: f64,
    /// Billed, over all of them.
    pub(super) seconds: f64,
    /// Billed, over all of them.
    pub(super) gb_seconds: f64,
}

/// All that was read.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// By function.
    pub(super) runs: BTreeMap<String, Runs>,
}

impl Reports {
    /// Reads a function's log; other lines than REPORTs are passed over.
    pub(super) fn read(&mut self, function: &str, log: &str) {
        let runs = self.runs.entry(function.to_owned()).or_default();
        for line in log.lines() {
            let Some((_, report)) = line.split_once("REPORT RequestId:") else { continue };
            let number = |label: &str| -> Option<f64> {
                let rest = report.split_once(label)?.1.trim_start();
                rest.split_whitespace().next()?.parse().ok()
            };
            let (Some(ms), Some(mb)) = (number("Billed Duration:"), number("Memory Size:")) else { continue };
            runs.count += 1.0;
            runs.seconds += ms / 1000.0;
            runs.gb_seconds += ms / 1000.0 * mb / 1024.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_billed_is_read_and_nothing_else() {
        let report = "REPORT RequestId: 1-2 Duration: 12.34 ms Billed Duration: 2000 ms Memory Size: 512 MB Max Memory Used: 60 MB";
        let dated = format!("2026-12-02T10:00:00Z {report}\tInit Duration: 40 ms");
        for (log, count, seconds, gb_seconds) in [
            ("", 0.0, 0.0, 0.0),
            ("START RequestId: 1-2\nREPORT of something\n", 0.0, 0.0, 0.0),
            (report, 1.0, 2.0, 1.0),
            (&format!("{report}\n{dated}\n"), 2.0, 4.0, 2.0),
        ] {
            let mut reports = Reports::default();
            reports.read("provision", log);
            assert_eq!(reports.runs["provision"], Runs { count, seconds, gb_seconds }, "{log}");
        }
    }
}
