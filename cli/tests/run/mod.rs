//! Running the built command in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What came of a run.
pub struct Run {
    arguments: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command in `folder`.
#[track_caller]
pub fn journeyman(folder: &Path, arguments: &[&str]) -> Run {
    Run::with_input(folder, arguments, "")
}

impl Run {
    /// The same with something on standard input.
    #[track_caller]
    pub fn with_input(folder: &Path, arguments: &[&str], input: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_journeyman"))
            .args(arguments)
            .current_dir(folder)
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early closes its input: no matter.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Self {
            arguments: arguments.join(" "),
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks the return code, that each fragment is somewhere in what was printed, and that no line is too wide
    /// or coloured.
    #[track_caller]
    pub fn expect(&self, code: u8, fragments: &[&str]) {
        let Self { arguments, stdout, stderr, .. } = self;
        let all = format!("`journeyman {arguments}` returned {}\n{stdout}\n{stderr}", self.code);
        assert_eq!(self.code, i32::from(code), "{all}");
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let printed = flat(&format!("{stdout} {stderr}").replace('│', " "));
        for fragment in fragments {
            assert!(printed.contains(fragment), "no {fragment:?} in: {all}");
        }
        assert!(!all.contains('\u{1b}'), "colours in a pipe: {all}");
        if !arguments.starts_with("completions")
            && !arguments.starts_with("crds")
            && !arguments.starts_with("schema")
        {
            for line in stdout.lines() {
                assert!(line.chars().count() <= 100, "wider than 100 columns: {line}");
            }
        }
    }
}

/// A folder that goes when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A new folder with these files.
pub fn folder(files: &[(&str, &str)]) -> Folder {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("journeyman-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir(&path).unwrap();
    for (name, text) in files {
        let file = path.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    Folder(path)
}
