//! `journeyman catalog`: looking up EC2 instance types.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use catalog::select::{cpu, memory_mib};
use catalog::{ClassShape, Ec2Catalogue, Listing, Selector, Sort, decode, embedded, resolve, select};
use clap::Subcommand;
use miette::IntoDiagnostic;
use model::{CapacityType, InstanceType, MicroUsd, Quantity, Requirement, labels};
use serde_json::{Map, Value, json};

#[cfg(feature = "aws")]
use crate::commands::refresh;
use crate::input;
use crate::output::Out;
use crate::show::text::{Align, count, table, usd};

/// What `catalog` can do.
#[derive(Debug, Subcommand)]
pub enum CatalogCommand {
    /// List instance types that have what is asked for
    List(ListArgs),
    /// Make a catalogue from what EC2 answers
    #[cfg(feature = "aws")]
    Refresh(refresh::RefreshArgs),
}

/// What `catalog list` is told.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// vCPUs: 4, 4..8, 4.. or ..8
    #[arg(long, value_name = "RANGE")]
    cpu: Option<Span<u32>>,
    /// Memory: 16Gi, 16Gi..64Gi, 16Gi.. or ..64Gi
    #[arg(long, value_name = "RANGE")]
    memory: Option<Span<Quantity>>,
    /// amd64 or arm64
    #[arg(long, value_delimiter = ',')]
    arch: Vec<String>,
    /// Only with GPUs: at least so many [default: 1]
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "1")]
    gpu: Option<u32>,
    /// Zones such as us-east-1a
    #[arg(long, value_delimiter = ',')]
    zone: Vec<String>,
    /// on-demand, spot
    #[arg(long, value_delimiter = ',', value_parser = capacity_type)]
    capacity_type: Vec<CapacityType>,
    /// Families such as m7g
    #[arg(long, value_delimiter = ',')]
    family: Vec<String>,
    /// Categories such as c, m, r
    #[arg(long, value_delimiter = ',')]
    category: Vec<String>,
    /// At least this generation
    #[arg(long, value_name = "NUMBER")]
    generation: Option<u32>,
    /// The most an hour may cost
    #[arg(long, value_name = "USD")]
    max_price: Option<MicroUsd>,
    /// What comes first
    #[arg(long, value_enum, default_value_t)]
    sort: Order,
    /// A catalogue made by `catalog refresh` instead of the embedded one
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// A table for people, or JSON for programs
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// `--sort`.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Order {
    /// Cheapest first
    #[default]
    Price,
    /// Fewest vCPUs first
    Cpu,
    /// Least memory first
    Memory,
    /// By name
    Name,
}

/// `--output`.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Format {
    /// A table of at most 100 columns
    #[default]
    Table,
    /// A list of objects
    Json,
}

/// An amount, or bounds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Span<T> {
    Exactly(T),
    Between(Option<T>, Option<T>),
}

impl<T: FromStr> FromStr for Span<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        let bound = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        match text.split_once("..") {
            Some((low, high)) => Ok(Self::Between(bound(low)?, bound(high)?)),
            None => text.parse().map(Self::Exactly),
        }
    }
}

impl<T: Copy> Span<T> {
    /// Exact amount, lower bound, upper bound.
    fn parts(span: Option<Self>) -> (Option<T>, Option<T>, Option<T>) {
        match span {
            None => (None, None, None),
            Some(Self::Exactly(amount)) => (Some(amount), None, None),
            Some(Self::Between(low, high)) => (None, low, high),
        }
    }
}

fn capacity_type(text: &str) -> Result<CapacityType, String> {
    CapacityType::from_name(text).ok_or_else(|| "use on-demand, spot or reserved".to_owned())
}

/// Runs the command.
pub fn run(command: &CatalogCommand, out: &mut Out) -> miette::Result<ExitCode> {
    match command {
        CatalogCommand::List(args) => list(args, out),
        #[cfg(feature = "aws")]
        CatalogCommand::Refresh(args) => refresh::run(args, out),
    }
}

fn list(args: &ListArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let catalogue = match &args.catalogue {
        None => embedded()?,
        Some(path) => decode(&input::bytes(path)?)?,
    };
    let types = resolve(&catalogue, &ClassShape::default());
    let listings = select(&types, &args.selector());
    match args.output {
        Format::Table => show(out, &listings, &catalogue)?,
        Format::Json => {
            let list: Vec<Value> = listings.iter().map(report).collect();
            out.line(serde_json::to_string_pretty(&list).into_diagnostic()?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl ListArgs {
    fn selector(&self) -> Selector {
        let (cpu, cpu_min, cpu_max) = Span::parts(self.cpu);
        let (memory, memory_min, memory_max) = Span::parts(self.memory);
        Selector {
            cpu,
            cpu_min,
            cpu_max,
            memory,
            memory_min,
            memory_max,
            arch: self.arch.iter().cloned().collect(),
            gpus_min: self.gpu,
            zones: self.zone.iter().cloned().collect(),
            capacity_types: self.capacity_type.iter().copied().collect(),
            generation_min: self.generation,
            family: self.family.iter().cloned().collect(),
            category: self.category.iter().cloned().collect(),
            price_max: self.max_price,
            sort: match self.sort {
                Order::Price => Sort::Price,
                Order::Cpu => Sort::Cpu,
                Order::Memory => Sort::Memory,
                Order::Name => Sort::Name,
            },
            ..Selector::default()
        }
    }
}

fn label<'a>(kind: &'a InstanceType, key: &str) -> &'a str {
    kind.requirements.get(key).and_then(Requirement::single).unwrap_or_default()
}

fn show(out: &mut Out, listings: &[Listing<'_>], catalogue: &Ec2Catalogue) -> miette::Result<()> {
    let price = |price: Option<MicroUsd>| price.map_or_else(|| "-".to_owned(), usd);
    let rows = listings.iter().map(|listing| {
        let kind = listing.kind;
        let gpus = match label(kind, "karpenter.k8s.aws/instance-gpu-count") {
            "" => String::new(),
            gpus => format!("{gpus} × {}", label(kind, "karpenter.k8s.aws/instance-gpu-name")),
        };
        vec![
            kind.name.clone(),
            cpu(kind).to_string(),
            memory(kind),
            label(kind, labels::ARCH).to_owned(),
            kind.capacity.get("pods").to_string(),
            gpus,
            price(listing.on_demand),
            price(listing.spot),
            letters(listing),
        ]
    });
    let columns = [
        ("TYPE", Align::Left),
        ("VCPU", Align::Right),
        ("MEMORY", Align::Right),
        ("ARCH", Align::Left),
        ("PODS", Align::Right),
        ("GPUS", Align::Left),
        ("ON DEMAND/H", Align::Right),
        ("SPOT/H", Align::Right),
        ("ZONES", Align::Left),
    ];
    table(out, &columns, rows.collect())?;
    out.line(format!("\n{} of {}", count(listings.len(), "type"), catalogue.region))?;
    if catalogue.spot_illustrative && listings.iter().any(|listing| listing.spot.is_some()) {
        out.line("Spot prices are illustrative: made up from on-demand prices, not seen on the market.")?;
    }
    Ok(())
}

/// As EC2 advertises it.
fn memory(kind: &InstanceType) -> String {
    let bytes = i64::try_from(memory_mib(kind)).unwrap_or(i64::MAX);
    Quantity::from_mebibytes(bytes).display("memory")
}

/// Zones by what tells them apart: `a b d`.
fn letters(listing: &Listing<'_>) -> String {
    let region = label(listing.kind, labels::REGION);
    let zones = listing.zones.iter().map(|zone| zone.strip_prefix(region).unwrap_or(zone));
    zones.collect::<Vec<_>>().join(" ")
}

fn report(listing: &Listing<'_>) -> Value {
    let kind = listing.kind;
    let mut report = Map::new();
    report.insert("instanceType".to_owned(), json!(kind.name));
    report.insert("cpu".to_owned(), json!(cpu(kind)));
    report.insert("memoryMiB".to_owned(), json!(memory_mib(kind)));
    report.insert("arch".to_owned(), json!(label(kind, labels::ARCH)));
    report.insert("pods".to_owned(), json!(kind.capacity.get("pods").units()));
    report.insert("zones".to_owned(), json!(listing.zones));
    for (name, price) in [("onDemandUsdPerHour", listing.on_demand), ("spotUsdPerHour", listing.spot)] {
        if let Some(price) = price {
            report.insert(name.to_owned(), json!(price.usd()));
        }
    }
    Value::Object(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read() {
        for (text, span) in [
            ("4", Span::Exactly(4)),
            ("4..8", Span::Between(Some(4), Some(8))),
            ("4..", Span::Between(Some(4), None)),
            ("..8", Span::Between(None, Some(8))),
        ] {
            assert_eq!(text.parse::<Span<u32>>(), Ok(span), "{text}");
        }
        for text in ["", "four", "4...8", "4-8"] {
            assert!(text.parse::<Span<u32>>().is_err(), "{text}");
        }
    }
}
