//! `journeyman cost`: what the functions cost a month, from what Lambda reported or from a cluster's described habits.

mod bill;
mod reports;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::input;
use crate::output::{Out, Paint};
use crate::show::text::{Align, paragraph, table};
use bill::{Architecture, Habits, Line, Month};
use reports::Reports;

/// What `cost` is told.
#[derive(Debug, clap::Args)]
pub struct CostArgs {
    /// Log files of the functions, each named after its function: their REPORT lines say what was billed
    #[arg(value_name = "FILE", requires = "hours")]
    reports: Vec<PathBuf>,
    /// How many hours the log files cover
    #[arg(long, value_name = "NUMBER", requires = "reports")]
    hours: Option<f64>,
    /// Seconds of each minute that pending pods are watched for
    #[arg(long, default_value_t = 50, value_name = "SECONDS")]
    linger: u32,
    /// Clusters
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    clusters: u32,
    /// Nodes that come and go in a day, in each cluster
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    nodes_a_day: u32,
    /// What the functions are built for
    #[arg(long, value_enum, default_value_t)]
    architecture: Architecture,
    /// The nodes' price, in dollars an hour on demand: EKS Auto Mode asks a share of it
    #[arg(long, default_value_t = 0.0, value_name = "DOLLARS")]
    nodes_usd_per_hour: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the month's bill, and what others would ask.
pub fn run(args: &CostArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let month = match args.hours {
        Some(hours) => {
            let mut reports = Reports::default();
            for path in input::files(&args.reports)? {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                reports.read(&name, &input::read(&path)?.text);
            }
            Month::measured(&reports.runs, hours, args.clusters, args.architecture)
        }
        None => Month::of(&Habits {
            linger: args.linger,
            clusters: args.clusters,
            nodes_a_day: args.nodes_a_day,
            architecture: args.architecture,
        }),
    };
    let others = bill::others(args.clusters, args.nodes_usd_per_hour);
    let total: f64 = month.lines.iter().map(|line| line.usd).sum();
    if args.json {
        let line = |line: &Line| json!({"what": line.what, "how": line.how, "usd": cents(line.usd)});
        let value = json!({
            "usdPerMonth": cents(total),
            "lines": month.lines.iter().map(line).collect::<Vec<_>>(),
            "others": others.iter().map(line).collect::<Vec<_>>(),
        });
        out.line(format!("{value:#}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |line: &Line| vec![line.what.clone(), line.how.clone(), format!("{:.2}", line.usd)];
    let columns = [("", Align::Left), ("how", Align::Left), ("$ a month", Align::Right)];
    out.heading("Journeyman")?;
    table(out, &columns, month.lines.iter().map(row).collect())?;
    let total = out.paint(Paint::Bold, format!("{total:.2}"));
    out.line(format!("  ${total} a month, {}", month.basis))?;
    out.heading("Beside it")?;
    table(out, &columns, others.iter().map(row).collect())?;
    paragraph(out, 2, bill::CAVEAT)?;
    Ok(ExitCode::SUCCESS)
}

/// Dollars with two places.
fn cents(usd: f64) -> f64 {
    (usd * 100.0).round() / 100.0
}
