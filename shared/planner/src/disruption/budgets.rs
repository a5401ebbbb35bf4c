//! How many nodes of a pool may be disrupted at once.

use std::collections::BTreeSet;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use model::{Budget, BudgetReason, Node, NodePool, Snapshot};

/// How many more nodes of `pool` may go for `reason` now, or for one that budgets have no word for. Nodes that are going,
/// or out of order, count against it; nodes that are not initialized count for nothing.
pub(crate) fn available(snapshot: &Snapshot, pool: &NodePool, reason: Option<BudgetReason>) -> usize {
    let nodes = &snapshot.cluster.nodes;
    let of_pool = || nodes.iter().filter(|node| node.is_of(pool) && node.has_node && node.initialized);
    // While both are there, a node and what takes over from it are one.
    let replacing: BTreeSet<&str> = of_pool().flat_map(Node::replaced_by).map(String::as_str).collect();
    let replaces = |node: &&Node| node.claim.as_deref().is_some_and(|claim| replacing.contains(claim));
    let all = of_pool().filter(|node| !replaces(node)).count();
    let going = of_pool().filter(|node| node.is_going() || node.disruption.not_ready).count();
    allowed(&pool.disruption.budgets, reason, all, snapshot.now).saturating_sub(going)
}

/// How many of `nodes` may be on their way out at once: what the tightest budget in force says. A budget that can't be
/// read forbids everything, whichever reasons it is for: its author wanted a limit.
fn allowed(budgets: &[Budget], reason: Option<BudgetReason>, nodes: usize, now: Timestamp) -> usize {
    let mut least = usize::MAX;
    for budget in budgets {
        let (Some(active), Some(count)) = (active(budget, now), count(&budget.nodes, nodes)) else {
            return 0;
        };
        let meant =
            budget.reasons.is_empty() || reason.is_some_and(|reason| budget.reasons.contains(&reason));
        if active && meant {
            least = least.min(count);
        }
    }
    least
}

/// A number, or a percentage of `nodes` rounded up: ten per cent of five nodes is one, not none.
fn count(text: &str, nodes: usize) -> Option<usize> {
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent: usize = percent.parse().ok().filter(|percent| *percent <= 100)?;
            Some(nodes.saturating_mul(percent).div_ceil(100))
        }
        None => text.parse().ok(),
    }
}

/// Whether a budget is in force: its schedule last struck no longer than its duration ago.
fn active(budget: &Budget, now: Timestamp) -> Option<bool> {
    match (&budget.schedule, budget.duration) {
        (None, None) => Some(true),
        (Some(schedule), Some(duration)) => struck_within(schedule, duration, now),
        _ => None,
    }
}

fn struck_within(schedule: &str, duration: SignedDuration, now: Timestamp) -> Option<bool> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron: Cron = parser.parse(schedule).ok()?;
    let since = now.checked_sub(duration).ok()?.to_zoned(TimeZone::UTC);
    // A schedule that never strikes again is fine; it limits nothing.
    Some(cron.find_next_occurrence(&since, false).is_ok_and(|next| next.timestamp() <= now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(nodes: &str, window: Option<(&str, i64)>, reasons: &[BudgetReason]) -> Budget {
        Budget {
            nodes: nodes.into(),
            schedule: window.map(|(schedule, _)| schedule.into()),
            duration: window.map(|(_, minutes)| SignedDuration::from_mins(minutes)),
            reasons: reasons.to_vec(),
        }
    }

    /// A Monday.
    const NOW: &str = "2026-06-01T12:30:00Z";

    #[test]
    fn budg_02_percent_rounds_up_and_the_tightest_counts() {
        use BudgetReason::{Drifted, Empty};
        #[rustfmt::skip]
        let table: [(&[Budget], usize, usize); 9] = [
            (&[],                                                             5,  usize::MAX),
            (&[budget("10%", None, &[])],                                     5,  1),
            (&[budget("10%", None, &[])],                                     0,  0),
            (&[budget("10%", None, &[])],                                     11, 2),
            (&[budget("100%", None, &[])],                                    7,  7),
            (&[budget("0", None, &[])],                                       7,  0),
            (&[budget("50%", None, &[]), budget("2", None, &[])],             10, 2),
            (&[budget("1", None, &[Drifted])],                                10, usize::MAX),
            (&[budget("5", None, &[]), budget("3", None, &[Drifted, Empty])], 10, 3),
        ];
        for (row, (budgets, nodes, expected)) in table.into_iter().enumerate() {
            assert_eq!(allowed(budgets, Some(Empty), nodes, NOW.parse().unwrap()), expected, "row {row}");
        }
    }

    #[test]
    fn budg_03_a_schedule_limits_only_for_its_duration() {
        #[rustfmt::skip]
        let table = [
            ("0 12 * * *",        60,      true),
            ("0 12 * * *",        31,      true),
            ("0 12 * * *",        30,      false),
            ("30 12 * * *",       1,       true),
            ("31 12 * * *",       60,      false),
            ("0 9 * * mon-fri",   8 * 60,  true),
            ("0 9 * * sat,sun",   8 * 60,  false),
            ("@daily",            13 * 60, true),
            ("@daily",            12 * 60, false),
            ("@hourly",           90,      true),
            ("*/5 * * * *",       600,     true),
        ];
        for (schedule, minutes, expected) in table {
            let duration = SignedDuration::from_mins(minutes);
            assert_eq!(
                struck_within(schedule, duration, NOW.parse().unwrap()),
                Some(expected),
                "{schedule} for {minutes}m"
            );
        }
    }

    #[test]
    fn budg_04_what_cannot_be_read_forbids_everything() {
        let odd = Budget { duration: None, ..budget("5", Some(("@daily", 1)), &[]) };
        let unreadable = [
            budget("many", None, &[]),
            budget("-1", None, &[]),
            budget("101%", None, &[]),
            budget("5", Some(("0 12 * *", 60)), &[]),
            budget("5", Some(("0 0 12 * * *", 60)), &[]),
            budget("5", Some(("@dailyish", 60)), &[]),
            budget("5", None, &[]),
            odd,
        ];
        for (row, budget) in unreadable.into_iter().enumerate() {
            let for_another_reason = Budget { reasons: vec![BudgetReason::Drifted], ..budget };
            let expected = if row == 6 { usize::MAX } else { 0 };
            let found = allowed(&[for_another_reason], Some(BudgetReason::Empty), 10, NOW.parse().unwrap());
            assert_eq!(found, expected, "row {row}");
        }
    }
}
