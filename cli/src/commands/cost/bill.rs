//! The arithmetic: list prices of us-east-1, without free tiers, for a month of 730 hours.

use std::collections::BTreeMap;

use super::reports::Runs;

const HOURS: f64 = 730.0;
const MINUTES: f64 = HOURS * 60.0;
const MILLION: f64 = 1e6;

/// Dollars.
const ARM_GB_SECOND: f64 = 0.000_013_333_4;
const X86_GB_SECOND: f64 = 0.000_016_666_7;
const INVOCATIONS_MILLION: f64 = 0.20;
const SCHEDULES_MILLION: f64 = 1.00;
const MESSAGES_MILLION: f64 = 0.40;
const FIFO_MESSAGES_MILLION: f64 = 0.50;
const S3_PUTS_MILLION: f64 = 5.00;
const LOGS_GB: f64 = 0.50;
const METRIC: f64 = 0.30;
const ALARM: f64 = 0.10;
const FARGATE_CPU_HOUR: f64 = 0.040_48;
const FARGATE_GB_HOUR: f64 = 0.004_445;
/// The share of the on-demand price that EKS Auto Mode asks on top, about the same for all types.
const AUTO_MODE_SHARE: f64 = 0.12;

/// Lambda polls a queue by five long polls of 20 s.
const POLLS_A_MONTH: f64 = MINUTES * 15.0;
/// A run writes some lines of log.
const LOG_KB_A_RUN: f64 = 1.0;
/// Custom metrics and alarms that a cluster brings, and that a deployment brings.
const METRICS_A_CLUSTER: f64 = 8.0;
const ALARMS_A_CLUSTER: f64 = 3.0;
const ALARMS: f64 = 17.0;

/// What the figures are not.
pub(super) const CAVEAT: &str = "List prices of us-east-1 without free tiers; durations of idle runs are assumed until log files are given. \
    NAT gateways and VPC endpoints, where functions are put into a VPC, cost extra.";

/// What a program is built for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(super) enum Architecture {
    /// Graviton
    #[default]
    Arm64,
    /// Intel and AMD
    #[value(name = "x86_64")]
    X86,
}

impl Architecture {
    fn gb_second(self) -> f64 {
        match self {
            Self::Arm64 => ARM_GB_SECOND,
            Self::X86 => X86_GB_SECOND,
        }
    }
}

/// How a deployment is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    pub(super) linger: u32,
    pub(super) clusters: u32,
    pub(super) nodes_a_day: u32,
    pub(super) architecture: Architecture,
}

/// One line of a bill.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) what: String,
    pub(super) how: String,
    pub(super) usd: f64,
}

/// A month's bill.
#[derive(Debug)]
pub(super) struct Month {
    pub(super) lines: Vec<Line>,
    /// Where the durations come from.
    pub(super) basis: &'static str,
}

/// Runs a month, seconds of each, gigabytes.
struct Load {
    function: &'static str,
    runs: f64,
    seconds: f64,
    gb: f64,
}

/// What the functions of one cluster do in a month. Seconds are assumed, but for the linger, which is what it says.
fn loads(habits: &Habits) -> [Load; 5] {
    let nodes = f64::from(habits.nodes_a_day) * HOURS / 24.0;
    let load = |function, runs, seconds, gb| Load { function, runs, seconds, gb };
    [
        load("provision", MINUTES, f64::from(habits.linger) + 0.3, 0.5),
        // A node is looked at every few seconds while it starts and while it goes: some thirty times.
        load("lifecycle", MINUTES + nodes * 30.0, 0.5, 0.25),
        load("interruption", nodes * 3.0, 0.3, 0.25),
        load("disruption", MINUTES, 0.5, 0.5),
        load("catalog", MINUTES / 5.0, 1.5, 0.5),
    ]
}

impl Month {
    /// By what a cluster's habits come to.
    pub(super) fn of(habits: &Habits) -> Self {
        let clusters = f64::from(habits.clusters);
        let runs = loads(habits).map(|load| {
            let (count, seconds) = (load.runs * clusters, load.runs * clusters * load.seconds);
            (load.function.to_owned(), Runs { count, seconds, gb_seconds: seconds * load.gb })
        });
        let lines = lines(&runs.into(), habits.clusters, habits.architecture);
        Self { lines, basis: "with assumed durations" }
    }

    /// By what was billed within some hours.
    pub(super) fn measured(
        runs: &BTreeMap<String, Runs>,
        hours: f64,
        clusters: u32,
        architecture: Architecture,
    ) -> Self {
        let scale = if hours > 0.0 { HOURS / hours } else { 0.0 };
        let month = runs.iter().map(|(name, runs)| {
            let Runs { count, seconds, gb_seconds } = *runs;
            let month =
                Runs { count: count * scale, seconds: seconds * scale, gb_seconds: gb_seconds * scale };
            (name.clone(), month)
        });
        Self { lines: lines(&month.collect(), clusters, architecture), basis: "as measured" }
    }
}

fn line(what: &str, how: String, usd: f64) -> Line {
    Line { what: what.to_owned(), how, usd }
}

fn lines(runs: &BTreeMap<String, Runs>, clusters: u32, architecture: Architecture) -> Vec<Line> {
    let price = architecture.gb_second();
    let mut out: Vec<Line> = runs
        .iter()
        .map(|(function, runs)| {
            let how = format!("{:.0} runs, {:.0} GB-s × ${price}", runs.count, runs.gb_seconds);
            let usd = runs.gb_seconds * price + runs.count / MILLION * INVOCATIONS_MILLION;
            line(function, how, usd)
        })
        .collect();
    let clusters = f64::from(clusters);
    let count: f64 = runs.values().map(|runs| runs.count).sum();
    let (schedules, polls) = (MINUTES * 3.2 * clusters, POLLS_A_MONTH * 2.0);
    // Each message is sent, received and deleted.
    let messages = runs.get("lifecycle").map_or(0.0, |runs| runs.count) * 3.0 + polls;
    let ordered = runs.get("provision").map_or(0.0, |runs| runs.count) * 3.0 + POLLS_A_MONTH;
    let records = count * 0.05;
    let log = count * LOG_KB_A_RUN / MILLION;
    let (metrics, alarms) = (METRICS_A_CLUSTER * clusters, ALARMS_A_CLUSTER * clusters + ALARMS);
    out.extend([
        line(
            "schedules",
            format!("{schedules:.0} × ${SCHEDULES_MILLION}/M"),
            schedules / MILLION * SCHEDULES_MILLION,
        ),
        line(
            "queues",
            format!(
                "{:.0} requests × ${MESSAGES_MILLION}/M, FIFO ${FIFO_MESSAGES_MILLION}/M",
                messages + ordered
            ),
            messages / MILLION * MESSAGES_MILLION + ordered / MILLION * FIFO_MESSAGES_MILLION,
        ),
        line(
            "records",
            format!("{records:.0} objects × ${S3_PUTS_MILLION}/M"),
            records / MILLION * S3_PUTS_MILLION,
        ),
        line("logs", format!("{log:.2} GB × ${LOGS_GB}"), log * LOGS_GB),
        line(
            "metrics, alarms",
            format!("{metrics:.0} × ${METRIC}, {alarms:.0} × ${ALARM}"),
            metrics * METRIC + alarms * ALARM,
        ),
    ]);
    out
}

/// What the same clusters pay elsewhere.
pub(super) fn others(clusters: u32, nodes_usd_per_hour: f64) -> Vec<Line> {
    let pod = FARGATE_CPU_HOUR + 2.0 * FARGATE_GB_HOUR;
    let mut out = vec![line(
        "Karpenter on Fargate",
        format!("{clusters} × 2 replicas of 1 vCPU, 2 GB: ${pod:.5} an hour each"),
        f64::from(clusters) * 2.0 * pod * HOURS,
    )];
    if nodes_usd_per_hour > 0.0 {
        out.push(line(
            "EKS Auto Mode",
            format!("{:.0} % of ${nodes_usd_per_hour} an hour", AUTO_MODE_SHARE * 100.0),
            nodes_usd_per_hour * AUTO_MODE_SHARE * HOURS,
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn habits(linger: u32, clusters: u32, nodes_a_day: u32) -> Habits {
        Habits { linger, clusters, nodes_a_day, architecture: Architecture::Arm64 }
    }

    fn usd(month: &Month, what: &str) -> f64 {
        month.lines.iter().filter(|line| line.what == what).map(|line| line.usd).sum()
    }

    #[test]
    fn lines_are_price_times_amount() {
        // 43,800 minutes × (linger + 0.3) s × 0.5 GB × price, and the requests.
        for (linger, dollars) in [(0, 0.0876 + 0.00876), (10, 3.0075 + 0.00876), (50, 14.6875 + 0.00876)] {
            let month = Month::of(&habits(linger, 1, 0));
            let provision = usd(&month, "provision");
            assert!((provision - dollars).abs() < 0.001, "linger {linger}: {provision}");
            assert!((usd(&month, "schedules") - 0.140_16).abs() < 0.001);
            assert!(usd(&month, "interruption").abs() < f64::EPSILON, "nobody interrupts an idle cluster");
        }
    }

    #[test]
    fn clusters_and_nodes_add_up() {
        let total = |habits| Month::of(&habits).lines.iter().map(|line| line.usd).sum::<f64>();
        let (one, two, busy) = (total(habits(50, 1, 0)), total(habits(50, 2, 0)), total(habits(50, 1, 200)));
        assert!(two > 1.7 * one && two < 2.0 * one, "{one} {two}: queues and some alarms are shared");
        assert!(busy > one + 0.1, "{one} {busy}");
        let x86 = Habits { architecture: Architecture::X86, ..habits(50, 1, 0) };
        assert!(total(x86) > one);
    }

    #[test]
    fn what_was_measured_is_scaled_to_a_month() {
        let runs = BTreeMap::from([(
            "disruption".to_owned(),
            Runs { count: 60.0, seconds: 30.0, gb_seconds: 15.0 },
        )]);
        let month = Month::measured(&runs, 1.0, 1, Architecture::Arm64);
        let wanted = 15.0 * 730.0 * 0.000_013_333_4 + 60.0 * 730.0 * 0.2 / 1e6;
        assert!((usd(&month, "disruption") - wanted).abs() < 1e-9);
    }

    #[test]
    fn others_ask_what_their_price_lists_say() {
        let others = others(1, 10.0);
        assert!((others[0].usd - 72.08).abs() < 0.01, "{others:?}");
        assert!((others[1].usd - 876.0).abs() < 0.01, "{others:?}");
        assert_eq!(super::others(3, 0.0).len(), 1);
    }
}
