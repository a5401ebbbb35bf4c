//! When the pods of workloads come and go, as written in a schedule file.

use std::fmt;

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use model::ObjectName;
use serde::{Deserialize, Serialize};

use crate::chance::Chance;

/// A schedule file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Schedule {
    /// What it shows.
    pub name: String,
    /// When it begins.
    pub start: Timestamp,
    /// How long it lasts.
    pub hours: u32,
    /// What moves; a workload that isn't named keeps its replicas.
    #[serde(default)]
    pub workloads: Vec<Entry>,
}

/// How one workload moves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// `namespace/name` of a Deployment, StatefulSet or Job among the manifests; no namespace means `default`.
    pub workload: ObjectName,
    /// What its pods do.
    #[serde(rename = "pods")]
    pub pattern: Pattern,
}

/// What a workload's pods do over a day.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Pattern {
    /// A number of replicas wanted, which runs in straight lines from point to point, round the clock. The replicas
    /// follow it as a HorizontalPodAutoscaler does: each minute, unless they are within a tenth of it.
    Curve(Vec<Point>),
    /// A number of replicas that jumps at each point.
    Steps(Vec<Point>),
    /// Pods that do their work and are done.
    Jobs(Vec<Burst>),
}

/// So many replicas at a time of day (UTC).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Point {
    /// The time of day.
    pub at: Time,
    /// How many.
    pub replicas: u32,
}

/// Jobs that come together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Burst {
    /// The first time of day.
    pub at: Time,
    /// Again after this long, until midnight; once a day without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<SignedDuration>,
    /// How many pods.
    pub pods: u32,
    /// The least and the most a pod runs.
    pub runs: (SignedDuration, SignedDuration),
}

/// What happens to a workload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// It is to have so many replicas.
    Scale(u32),
    /// Pods that run this long each come.
    Jobs(Vec<SignedDuration>),
}

/// Why a pattern makes no sense.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PatternFault {
    NoPoints,
    PointsOutOfOrder,
    EveryTooShort,
    RunsBackwards,
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPoints => "it has no points",
            Self::PointsOutOfOrder => "its points are not in the order of their times",
            Self::EveryTooShort => "`every` is less than a minute",
            Self::RunsBackwards => "the least of `runs` is more than the most, or less than a second",
        })
    }
}

const DAY: i64 = 86_400;

impl Pattern {
    /// What is wrong with it.
    pub(crate) fn fault(&self) -> Option<PatternFault> {
        match self {
            Self::Curve(points) | Self::Steps(points) if points.is_empty() => Some(PatternFault::NoPoints),
            Self::Curve(points) | Self::Steps(points) => {
                (!points.is_sorted_by(|a, b| a.at < b.at)).then_some(PatternFault::PointsOutOfOrder)
            }
            Self::Jobs(bursts) => bursts.iter().find_map(|burst| {
                let (least, most) = burst.runs;
                if burst.every.is_some_and(|every| every < SignedDuration::from_mins(1)) {
                    Some(PatternFault::EveryTooShort)
                } else if least > most || least < SignedDuration::from_secs(1) {
                    Some(PatternFault::RunsBackwards)
                } else {
                    None
                }
            }),
        }
    }

    /// All that happens from `start` for `length`, in order of time.
    pub(crate) fn changes(
        &self,
        start: Timestamp,
        length: SignedDuration,
        chance: &mut Chance,
    ) -> Vec<(Timestamp, Change)> {
        match self {
            Self::Curve(points) => replicas(start, length, TOLERANCE, |second| along(points, second)),
            Self::Steps(points) => replicas(start, length, 0, |second| last(points, second)),
            Self::Jobs(bursts) => {
                let mut changes: Vec<_> =
                    bursts.iter().flat_map(|burst| jobs(burst, start, length, chance)).collect();
                changes.sort_by_key(|(at, _)| *at);
                changes
            }
        }
    }
}

/// Second of the day, from midnight UTC.
fn second_of_day(at: Timestamp) -> i64 {
    at.as_second().rem_euclid(DAY)
}

fn second(time: Time) -> i64 {
    i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second())
}

/// By how many per cent the replicas may be off before the HorizontalPodAutoscaler moves.
const TOLERANCE: u32 = 10;

/// A look each minute, as an autoscaler has. It moves when what there is is off by more than `tolerance` per cent.
fn replicas(
    start: Timestamp,
    length: SignedDuration,
    tolerance: u32,
    at_second: impl Fn(i64) -> u32,
) -> Vec<(Timestamp, Change)> {
    let mut changes = Vec::new();
    let mut there = None;
    for minute in 0..=length.as_mins() {
        let Ok(now) = start.checked_add(SignedDuration::from_mins(minute)) else { break };
        let count = at_second(second_of_day(now));
        let off =
            |there: u32| u64::from(count.abs_diff(there)) * 100 > u64::from(there) * u64::from(tolerance);
        if there.is_none_or(off) {
            there = Some(count);
            changes.push((now, Change::Scale(count)));
        }
    }
    changes
}

/// The points around `now`, the day taken as a ring, with their distance and how far into it we are.
fn around(points: &[Point], now: i64) -> Option<(Point, Point, i64, i64)> {
    let next = points.iter().position(|point| second(point.at) > now).unwrap_or(0);
    let from = points.get(next.checked_sub(1).unwrap_or(points.len().saturating_sub(1)))?;
    let to = points.get(next)?;
    let into = (now - second(from.at)).rem_euclid(DAY);
    let width = (second(to.at) - second(from.at)).rem_euclid(DAY);
    Some((*from, *to, into, if width == 0 { DAY } else { width }))
}

fn along(points: &[Point], now: i64) -> u32 {
    let Some((from, to, into, width)) = around(points, now) else { return 0 };
    let (from, to) = (i64::from(from.replicas), i64::from(to.replicas));
    let rise = (2 * (to - from) * into + width).div_euclid(2 * width);
    u32::try_from(from + rise).unwrap_or(0)
}

fn last(points: &[Point], now: i64) -> u32 {
    around(points, now).map_or(0, |(from, ..)| from.replicas)
}

fn jobs(
    burst: &Burst,
    start: Timestamp,
    length: SignedDuration,
    chance: &mut Chance,
) -> Vec<(Timestamp, Change)> {
    let mut changes = Vec::new();
    let Ok(end) = start.checked_add(length) else { return changes };
    let mut midnight = start.to_zoned(TimeZone::UTC).date();
    while let Ok(zoned) = midnight.to_zoned(TimeZone::UTC) {
        if zoned.timestamp() > end {
            break;
        }
        let mut into_day = second(burst.at);
        while into_day < DAY {
            let at = zoned.timestamp().checked_add(SignedDuration::from_secs(into_day));
            let Ok(at) = at else { break };
            if (start..end).contains(&at) {
                let (least, most) = (burst.runs.0.as_secs(), burst.runs.1.as_secs());
                let runs = |_| SignedDuration::from_secs(chance.between(least, most));
                changes.push((at, Change::Jobs((0..burst.pods).map(runs).collect())));
            }
            let Some(every) = burst.every else { break };
            into_day = into_day.saturating_add(every.as_secs().max(60));
        }
        let Ok(tomorrow) = midnight.tomorrow() else { break };
        midnight = tomorrow;
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(points: &[(&str, u32)]) -> Vec<Point> {
        points.iter().map(|(at, replicas)| Point { at: at.parse().unwrap(), replicas: *replicas }).collect()
    }

    #[test]
    fn a_curve_runs_straight_and_round_the_clock() {
        let points = points(&[("06:00", 10), ("12:00", 40), ("18:00", 20)]);
        for (hour, along_it, stepped) in
            [(6, 10, 10), (9, 25, 10), (12, 40, 40), (15, 30, 40), (18, 20, 20), (0, 15, 20), (3, 13, 20)]
        {
            assert_eq!(along(&points, hour * 3600), along_it, "{hour} h along");
            assert_eq!(last(&points, hour * 3600), stepped, "{hour} h stepped");
        }
        assert_eq!(along(&points[..1], 0), 10);
    }

    #[test]
    fn replicas_follow_a_curve_only_when_a_tenth_off() {
        let rise = points(&[("06:00", 20), ("06:10", 30), ("18:00", 30)]);
        let start: Timestamp = "2026-06-01T06:00:00Z".parse().unwrap();
        let told = |pattern: &Pattern| -> Vec<(i64, Change)> {
            let changes = pattern.changes(start, SignedDuration::from_mins(15), &mut Chance::new(1, "web"));
            changes.into_iter().map(|(at, change)| (at.duration_since(start).as_mins(), change)).collect()
        };
        let scale = |at, replicas| (at, Change::Scale(replicas));
        assert_eq!(
            told(&Pattern::Curve(rise.clone())),
            [scale(0, 20), scale(3, 23), scale(6, 26), scale(9, 29)]
        );
        assert_eq!(told(&Pattern::Steps(rise)), [scale(0, 20), scale(10, 30)]);
    }

    #[test]
    fn jobs_come_every_so_often_within_the_time_simulated() {
        let burst = Burst {
            at: "08:30".parse().unwrap(),
            every: Some(SignedDuration::from_hours(6)),
            pods: 3,
            runs: (SignedDuration::from_mins(2), SignedDuration::from_mins(4)),
        };
        let start = "2026-06-01T09:00:00Z".parse().unwrap();
        let pattern = Pattern::Jobs(vec![burst]);
        let changes = pattern.changes(start, SignedDuration::from_hours(24), &mut Chance::new(1, "jobs"));
        let times: Vec<String> = changes.iter().map(|(at, _)| at.to_string()).collect();
        assert_eq!(times, ["2026-06-01T14:30:00Z", "2026-06-01T20:30:00Z", "2026-06-02T08:30:00Z"]);
        for (_, change) in changes {
            let Change::Jobs(runs) = change else { panic!("{change:?}") };
            assert_eq!(runs.len(), 3);
            assert!(runs.iter().all(|run| (120..=240).contains(&run.as_secs())), "{runs:?}");
        }
    }

    #[test]
    fn patterns_that_make_no_sense_are_named() {
        let burst = |every: i64, runs: (i64, i64)| {
            Pattern::Jobs(vec![Burst {
                at: "00:00".parse().unwrap(),
                every: Some(SignedDuration::from_secs(every)),
                pods: 1,
                runs: (SignedDuration::from_secs(runs.0), SignedDuration::from_secs(runs.1)),
            }])
        };
        for (pattern, fault) in [
            (Pattern::Curve(points(&[("06:00", 1), ("07:00", 2)])), None),
            (Pattern::Curve(Vec::new()), Some(PatternFault::NoPoints)),
            (Pattern::Steps(points(&[("07:00", 1), ("06:00", 2)])), Some(PatternFault::PointsOutOfOrder)),
            (burst(60, (1, 1)), None),
            (burst(59, (1, 1)), Some(PatternFault::EveryTooShort)),
            (burst(60, (2, 1)), Some(PatternFault::RunsBackwards)),
            (burst(60, (0, 1)), Some(PatternFault::RunsBackwards)),
        ] {
            assert_eq!(pattern.fault(), fault, "{pattern:?}");
        }
    }
}
