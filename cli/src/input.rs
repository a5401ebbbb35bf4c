//! Reading files, folders and standard input as text.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use api::read::{MAX_BYTES, ReadError, check_size};
use miette::Diagnostic;
use thiserror::Error;

/// Some text and where it came from.
pub struct Source {
    /// The path as given, or `<stdin>`.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// Why an input can't be read.
#[derive(Debug, Error, Diagnostic)]
pub enum InputError {
    #[error("failed to read {name}")]
    #[diagnostic(code(input::unreadable), help("give files, folders, or - for standard input"))]
    Unreadable {
        name: String,
        #[source]
        source: io::Error,
    },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(#[from] ReadError),

    #[error("{name} holds no manifests")]
    #[diagnostic(
        code(input::no_manifests),
        help("folders are searched for files named *.yaml, *.yml or *.json; is this the right one?")
    )]
    NoManifests { name: String },
}

/// The files meant by `inputs`: themselves, and for folders all manifests below them.
pub fn files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    for input in inputs {
        if input.is_dir() {
            let before = files.len();
            collect(input, &mut files)?;
            if files.len() == before {
                return Err(InputError::NoManifests { name: input.display().to_string() });
            }
        } else {
            files.push(input.clone());
        }
    }
    Ok(files)
}

/// Reads one file of text, or standard input for `-`.
pub fn read(path: &Path) -> Result<Source, InputError> {
    let name = name(path);
    let text = api::read::text(&name, &bytes(path)?)?.to_owned();
    Ok(Source { name, text })
}

/// What an input is called in messages.
fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Reads one file of whatever, or standard input for `-`.
pub fn bytes(path: &Path) -> Result<Vec<u8>, InputError> {
    let name = name(path);
    let unreadable = |source| InputError::Unreadable { name: name.clone(), source };
    // One byte more than the limit tells a file at the limit from one above it, without reading on.
    let limit = MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        check_size(&name, usize::try_from(size).unwrap_or(usize::MAX))?;
        file.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    Ok(bytes)
}

/// Adds the manifests below `folder`. Hidden entries and links to folders are left alone: the first are tools'
/// own, the second may lead in a circle.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), InputError> {
    let unreadable = |source| InputError::Unreadable { name: folder.display().to_string(), source };
    let mut entries = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>())
        .map_err(unreadable)?;
    entries.sort();
    for path in entries {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            continue;
        }
        if path.is_dir() {
            if !path.is_symlink() {
                collect(&path, files)?;
            }
        } else if path
            .extension()
            .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}
