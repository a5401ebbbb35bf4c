//! The `journeyman` command: says what capacity a cluster needs, from files.

mod args;
mod commands;
mod input;
mod output;
mod show;
mod world;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    output::report_panics();
    let args = args::Args::parse();
    let mut out = output::Out::new(args.color);
    match commands::run(&args.command, &mut out).and_then(|code| out.finish().map(|()| code)) {
        Ok(code) => code,
        Err(report) => {
            // What was found before the failure comes before it; a second failure adds nothing.
            let _ = out.finish();
            output::report_failure(&report, args.color);
            ExitCode::from(2)
        }
    }
}
