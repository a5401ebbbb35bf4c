//! Times how a function starts: from exec to its first call for an event, and the memory it has then.
//!
//! `cargo run --profile dist -p functions --example cold_start -- 20 BINARY…`

#[path = "../tests/runtime_api/mod.rs"]
mod runtime_api;

use std::error::Error;
use std::process::Stdio;
use std::time::{Duration, Instant};

use runtime_api::{RuntimeApi, Said};
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let runs: usize = args.next().and_then(|runs| runs.parse().ok()).unwrap_or(20);
    for binary in args {
        let mut starts = Vec::new();
        let mut resident = 0;
        for _ in 0..runs {
            let (took, kilobytes) = start(&binary).await?;
            starts.push(took);
            resident = resident.max(kilobytes);
        }
        starts.sort();
        let size = std::fs::metadata(&binary).map(|meta| meta.len()).unwrap_or_default();
        let millis = |place: usize| starts[place].as_secs_f64() * 1000.0;
        #[allow(clippy::print_stdout, reason = "it is a report")]
        {
            println!(
                "{binary}: first next after {:.1} ms (min) {:.1} ms (p50) {:.1} ms (max), {} KiB resident, {} bytes",
                millis(0),
                millis(runs / 2),
                millis(runs - 1),
                resident,
                size,
            );
        }
    }
    Ok(())
}

async fn start(binary: &str) -> Result<(Duration, u64), Box<dyn Error>> {
    let mut api = RuntimeApi::start([]).await;
    let begun = Instant::now();
    let function = Command::new(binary)
        .env("AWS_LAMBDA_RUNTIME_API", api.address.to_string())
        .env("AWS_LAMBDA_FUNCTION_NAME", "timed")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "timed")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "timed")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "timed")
        .env("AWS_SECRET_ACCESS_KEY", "timed")
        .env("JOURNEYMAN_CLUSTERS", "prod")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let ready = match api.said().await {
        Some(Said::Next(ready)) => ready,
        Some(Said::Response(told) | Said::Error(told) | Said::InitError(told)) => {
            return Err(format!("{binary} did not ask for an event, but said {told}").into());
        }
        None => return Err(format!("{binary} is silent").into()),
    };
    let status = std::fs::read_to_string(format!("/proc/{}/status", function.id().unwrap_or_default()));
    let resident = status.unwrap_or_default().lines().find_map(|line| {
        line.strip_prefix("VmRSS:").and_then(|rest| rest.split_whitespace().next()?.parse().ok())
    });
    Ok((ready.duration_since(begun), resident.unwrap_or_default()))
}
