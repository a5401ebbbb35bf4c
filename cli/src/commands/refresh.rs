//! `journeyman catalog refresh`: a catalogue from what EC2 answers.

use std::path::PathBuf;
use std::process::ExitCode;

use cloud::Published;
use cloud::types::{RefreshOptions, Spot, refresh_blocking};
use jiff::Timestamp;
use miette::{IntoDiagnostic, WrapErr};

use crate::input;
use crate::output::Out;
use crate::show::text::count;

/// What `catalog refresh` is told.
#[derive(Debug, clap::Args)]
pub struct RefreshArgs {
    /// Another endpoint than EC2's own
    #[arg(long, value_name = "URL")]
    endpoint_url: Option<String>,
    /// On-demand prices and what else EC2 doesn't answer, made by tests/generators/prices
    #[arg(long, value_name = "FILE")]
    prices: PathBuf,
    /// Where to write the catalogue
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The moment to note in it [default: now]
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Where Spot prices come from
    #[arg(long, value_enum, default_value_t)]
    spot: SpotPrices,
}

/// `--spot`.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum SpotPrices {
    /// The last price of each pool
    #[default]
    History,
    /// Made up from on-demand prices, and marked so
    Illustrative,
}

/// Reads and writes.
pub fn run(args: &RefreshArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let published = Published::read(&input::read(&args.prices)?.text)?;
    let options = RefreshOptions {
        region: published.region.clone(),
        endpoint_url: args.endpoint_url.clone(),
        published,
        as_of: args.as_of.unwrap_or_else(Timestamp::now),
        spot: match args.spot {
            SpotPrices::History => Spot::History,
            SpotPrices::Illustrative => Spot::Illustrative,
        },
    };
    let catalogue = refresh_blocking(options)?;
    let bytes = catalog::encode(&catalogue)?;
    let place = args.out.display();
    std::fs::write(&args.out, &bytes)
        .into_diagnostic()
        .wrap_err_with(|| format!("failed to write {place}"))?;
    let types = count(catalogue.types.len(), "type");
    out.line(format!("{types} of {} in {} bytes: {place}", catalogue.region, bytes.len()))?;
    Ok(ExitCode::SUCCESS)
}
