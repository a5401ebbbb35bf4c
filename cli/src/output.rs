//! Where text goes: a stdout that may be closed early, colours only where they are wanted, failures on stderr.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write};

use miette::{GraphicalReportHandler, GraphicalTheme, IntoDiagnostic, Report};

/// No line of a table is longer.
pub const WIDTH: usize = 100;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Even into a pipe.
    Always,
    /// Nowhere.
    Never,
}

impl Color {
    fn on(self, terminal: bool) -> bool {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// How a word stands out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Paint {
    /// A heading or a total.
    Bold,
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// Less important than its surroundings.
    Dim,
}

/// Standard output.
pub struct Out {
    stdout: BufWriter<Stdout>,
    color: bool,
    begun: bool,
}

impl Out {
    /// Standard output, coloured as asked.
    pub fn new(color: Color) -> Self {
        Self {
            stdout: BufWriter::new(io::stdout()),
            color: color.on(io::stdout().is_terminal()),
            begun: false,
        }
    }

    /// `text`, made to stand out if colours are on.
    pub fn paint(&self, paint: Paint, text: impl Display) -> String {
        let code = match paint {
            Paint::Bold => "1",
            Paint::Good => "32",
            Paint::Bad => "31",
            Paint::Dim => "2",
        };
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl Display) -> miette::Result<()> {
        self.text(&format!("{text}\n"))
    }

    /// Writes a heading, with a blank line between it and what comes before.
    pub fn heading(&mut self, text: &str) -> miette::Result<()> {
        let text = self.paint(Paint::Bold, text);
        let gap = if self.begun { "\n" } else { "" };
        self.line(format!("{gap}{text}"))
    }

    /// Writes text as it is.
    pub fn text(&mut self, text: &str) -> miette::Result<()> {
        self.begun = true;
        quiet_if_closed(self.stdout.write_all(text.as_bytes()))
    }

    /// Hands on what is still held back.
    pub fn finish(&mut self) -> miette::Result<()> {
        quiet_if_closed(self.stdout.flush())
    }
}

/// A reader that has seen enough, such as `head`, is no failure: there is nobody left to tell.
fn quiet_if_closed(written: io::Result<()>) -> miette::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.into_diagnostic(),
    }
}

/// Writes why a command failed, with its help, to standard error.
pub fn report_failure(report: &Report, color: Color) {
    let theme = match (io::stderr().is_terminal(), color.on(io::stderr().is_terminal())) {
        (_, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, false) => GraphicalTheme::none(),
    };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(WIDTH).with_links(false);
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text = format!("{report:?}");
    }
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}

/// Makes a panic a short message and return code 70 rather than a backtrace: whatever the input, it is our fault.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        let cause = panic.payload_as_str().unwrap_or("no message");
        let _ = writeln!(
            io::stderr(),
            "journeyman {}: this is a bug: {cause}{place}\nPlease report it, with the input if you can share it.",
            env!("CARGO_PKG_VERSION")
        );
        std::process::exit(70);
    }));
}
