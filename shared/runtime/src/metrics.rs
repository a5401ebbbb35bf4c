//! Metrics in CloudWatch's embedded format: a line on standard output, no call to make or to pay for.
//!
//! Names are Karpenter's where it has the same metric. A label without a value is left out: CloudWatch takes no such
//! dimension, and to Prometheus it is the same.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "Journeyman";
/// So many values of a metric the format takes a line.
const VALUES_A_LINE: usize = 100;

type Labels = Vec<(&'static str, String)>;

/// What one run has measured.
#[derive(Debug, Default)]
pub struct Metrics {
    sets: BTreeMap<Labels, BTreeMap<&'static str, Series>>,
}

#[derive(Debug)]
struct Series {
    unit: &'static str,
    values: Vec<f64>,
}

impl Metrics {
    /// Adds to a counter.
    pub fn count(&mut self, name: &'static str, labels: &[(&'static str, &str)], by: usize) {
        if by == 0 {
            return;
        }
        let series = self.series(name, labels, "Count");
        match series.values.first_mut() {
            Some(total) => *total += by as f64,
            None => series.values.push(by as f64),
        }
    }

    /// Sets a gauge.
    pub fn gauge(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.series(name, labels, "None").values = vec![value];
    }

    /// Adds to a distribution of seconds.
    pub fn seconds(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.series(name, labels, "Seconds").values.push(value);
    }

    fn series(
        &mut self,
        name: &'static str,
        labels: &[(&'static str, &str)],
        unit: &'static str,
    ) -> &mut Series {
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let mut labels: Labels = labels.map(|(key, value)| (*key, (*value).to_owned())).collect();
        labels.sort();
        let set = self.sets.entry(labels).or_default();
        set.entry(name).or_insert_with(|| Series { unit, values: Vec::new() })
    }

    /// What there is, a line a metric, as Prometheus would have it.
    #[cfg(test)]
    pub(crate) fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (labels, set) in &self.sets {
            let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            for (name, series) in set {
                let values: Vec<String> = series.values.iter().map(ToString::to_string).collect();
                told.push(format!("{name}{{{}}} {}", labels.join(","), values.join(" ")));
            }
        }
        told.sort();
        told
    }

    /// Writes all there is, a line for each set of labels or as many as its values need, and forgets it.
    pub fn flush(&mut self, now: Timestamp, out: &mut impl Write) -> io::Result<()> {
        for (labels, mut set) in std::mem::take(&mut self.sets) {
            while !set.is_empty() {
                writeln!(out, "{}", line(now, &labels, &mut set))?;
                set.retain(|_, series| !series.values.is_empty());
            }
        }
        Ok(())
    }
}

/// A line with as many of the values as it may hold; they are taken out.
fn line(now: Timestamp, labels: &Labels, set: &mut BTreeMap<&'static str, Series>) -> Value {
    let names: Vec<&str> = labels.iter().map(|(key, _)| *key).collect();
    let metrics: Vec<Value> =
        set.iter().map(|(name, series)| json!({"Name": name, "Unit": series.unit})).collect();
    let mut line = Map::new();
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": now.as_millisecond(),
            "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [names], "Metrics": metrics}],
        }),
    );
    line.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str()))));
    line.extend(set.iter_mut().map(|(name, series)| {
        let most = series.values.len().min(VALUES_A_LINE);
        let value = match series.values.drain(..most).collect::<Vec<f64>>().as_slice() {
            [one] => json!(one),
            many => json!(many),
        };
        ((*name).to_owned(), value)
    }));
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_has_the_same_labels() {
        let mut metrics = Metrics::default();
        let web = [("cluster", "prod"), ("nodepool", "web")];
        metrics.count("karpenter_nodeclaims_created_total", &web, 2);
        metrics.count("karpenter_nodeclaims_created_total", &[web[1], web[0]], 1);
        metrics.count("karpenter_nodeclaims_terminated_total", &web, 0);
        metrics.count("karpenter_nodeclaims_created_total", &[web[0], web[1], ("reason", "")], 1);
        metrics.seconds("decision_seconds", &[("cluster", "prod")], 0.25);
        metrics.seconds("decision_seconds", &[("cluster", "prod")], 0.5);
        let mut out = Vec::new();
        let now = "2026-06-01T12:00:00.125Z".parse().unwrap();
        metrics.flush(now, &mut out).unwrap();
        metrics.flush(now, &mut out).unwrap();
        let lines: Vec<Value> =
            String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let aws = |dimensions: &[&str], name: &str, unit: &str| {
            json!({"Timestamp": 1_780_315_200_125_i64, "CloudWatchMetrics": [
                {"Namespace": "Journeyman", "Dimensions": [dimensions], "Metrics": [{"Name": name, "Unit": unit}]}
            ]})
        };
        assert_eq!(
            lines,
            [
                json!({"_aws": aws(&["cluster"], "decision_seconds", "Seconds"), "cluster": "prod",
                    "decision_seconds": [0.25, 0.5]}),
                json!({"_aws": aws(&["cluster", "nodepool"], "karpenter_nodeclaims_created_total", "Count"),
                    "cluster": "prod", "nodepool": "web", "karpenter_nodeclaims_created_total": 4.0}),
            ]
        );
    }

    #[test]
    fn no_value_is_lost_where_there_are_many() {
        let mut metrics = Metrics::default();
        (0..250).for_each(|_| metrics.seconds("decision_seconds", &[("cluster", "prod")], 0.5));
        metrics.count("decisions_total", &[("cluster", "prod")], 250);
        let mut out = Vec::new();
        metrics.flush("2026-06-01T12:00:00Z".parse().unwrap(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let told = lines.map(|line| {
            let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap().len();
            (line["decision_seconds"].as_array().unwrap().len(), metrics, line["decisions_total"].as_f64())
        });
        assert_eq!(told.collect::<Vec<_>>(), [(100, 2, Some(250.0)), (100, 1, None), (50, 1, None)]);
    }
}
