//! Reads YAML and JSON as people and `kubectl get` write them into documents that know where they stand.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde_json::Value;
use thiserror::Error;

mod json;
mod place;
mod prune;
mod strict;
mod yaml;

pub(crate) use model::suggest::closest;
pub(crate) use strict::read_as;

/// The largest input that is read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// The largest text that an error shows an excerpt of.
const MAX_EXCERPT: usize = 1 << 20;

/// Where something stands in the input; lines and columns count from 1.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One object of the input, or one case file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its contents, without environment variables, managed fields and the copy that `kubectl apply` keeps.
    pub value: Value,
    /// Where it begins.
    pub place: Place,
    /// The text it was read from; an API server's has none.
    origin: Option<Origin>,
}

/// The text a document was read from, to find a field's line when an error asks for it.
#[derive(Clone, Debug)]
struct Origin {
    /// How a place in the text is found. What never reads a manifest's text, such as a function, has no use for a reader of
    /// YAML with places, and isn't linked with it.
    find: fn(&Origin, &str) -> Option<Place>,
    text: Arc<str>,
    /// Where `text` begins in its file.
    start: Place,
    /// Path from the root of `text` to the document, such as `items[3]`.
    within: String,
}

impl Origin {
    fn new(text: Arc<str>, start: Place, within: String) -> Self {
        Self { find: place::find, text, start, within }
    }
}

/// The place of the field at `path`, such as `spec.template.spec.requirements[0].key`, within a document: of its
/// nearest ancestor if the field itself is missing. Reads the document's text again; without a text there is no place.
pub fn locate(document: &Document, path: &str) -> Option<Place> {
    let origin = document.origin.as_ref()?;
    (origin.find)(origin, path)
}

impl Document {
    /// An object of an API server, called `name` where something is wrong with it.
    pub fn stored(name: &str, json: &str) -> Result<Self, serde_json::Error> {
        let value = serde_json::from_str(json).map(|prune::Pruned(value)| value)?;
        Ok(Self { value, place: place::beginning(name), origin: None })
    }

    /// Whether this is a case file rather than an object.
    pub fn is_case(&self) -> bool {
        self.value.get("objects").is_some_and(Value::is_array) && self.value.get("kind").is_none()
    }

    /// The objects in the list `key`, as documents of their own.
    pub fn children(&self, key: &str) -> Vec<Document> {
        let items = self.value.get(key).and_then(Value::as_array);
        let items = items.into_iter().flatten().enumerate();
        items.map(|(index, value)| self.child(&format!("{key}[{index}]"), value.clone())).collect()
    }

    fn child(&self, path: &str, value: Value) -> Document {
        let place = locate(self, path).unwrap_or_else(|| self.place.clone());
        let origin = self.origin.clone().map(|origin| {
            let within = place::join(&origin.within, path);
            Origin { within, ..origin }
        });
        Document { value, place, origin }
    }
}

/// Why an input could not be read at all.
#[derive(Debug, Error, Diagnostic)]
pub enum ReadError {
    /// More than [`MAX_BYTES`].
    #[error("{file} holds {} MiB, more than the {} MiB that are read", bytes >> 20, MAX_BYTES >> 20)]
    #[diagnostic(
        code(read::too_large),
        help(
            "dump one kind at a time, such as `kubectl get pods -A -o json --field-selector spec.nodeName=`"
        )
    )]
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: usize,
    },
    /// Nothing but white space and comments.
    #[error("{file} holds no object")]
    #[diagnostic(code(read::empty), help("expected Kubernetes objects as YAML or JSON, or a case file"))]
    Empty {
        /// The file.
        file: String,
    },
    /// Not UTF-8.
    #[error("{place}: not UTF-8 text")]
    #[diagnostic(code(read::not_text), help("expected Kubernetes objects as YAML or JSON"))]
    NotText {
        /// The first byte that isn't.
        place: Place,
    },
    /// Neither YAML nor JSON.
    #[error("{place}: {message}")]
    #[diagnostic(code(read::syntax))]
    Syntax {
        /// Where reading stopped.
        place: Place,
        /// Why.
        message: String,
        /// What would help.
        #[help]
        help: Option<String>,
        /// The text, unless it is large.
        #[source_code]
        source_code: Option<Arc<NamedSource<String>>>,
        /// The place within it.
        #[label("here")]
        span: Option<SourceSpan>,
    },
    /// Good YAML, but not an object.
    #[error("{place}: expected an object with apiVersion and kind, found {found}")]
    #[diagnostic(code(read::not_an_object), help("is this a Kubernetes manifest?"))]
    NotAnObject {
        /// Where.
        place: Place,
        /// What there is.
        found: &'static str,
    },
}

/// The text of `bytes`, which came from `file`.
pub fn text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ReadError> {
    check_size(file, bytes.len())?;
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let good = std::str::from_utf8(good).unwrap_or_default();
        ReadError::NotText { place: place::at_offset(&place::beginning(file), good, good.len()) }
    })
}

/// Fails for more than [`MAX_BYTES`].
pub fn check_size(file: &str, bytes: usize) -> Result<(), ReadError> {
    if bytes > MAX_BYTES { Err(ReadError::TooLarge { file: file.to_owned(), bytes }) } else { Ok(()) }
}

/// Reads all documents of `text`; lists are flattened.
pub fn read_documents(file: &str, text: &str) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    read_each(file, text, &mut |document| documents.push(document))?;
    Ok(documents)
}

/// Hands each document of `text` to `take`, so that a large dump never is in memory as a whole.
pub fn read_each(file: &str, text: &str, take: &mut dyn FnMut(Document)) -> Result<(), ReadError> {
    check_size(file, text.len())?;
    let start = place::beginning(file);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut count = 0_usize;
    let mut counted = |document: Document| {
        count += 1;
        take(document);
    };
    if text.trim_start().starts_with(['{', '[']) {
        json::read(&start, text, &mut counted)?;
    } else {
        yaml::read(&start, text, &mut counted)?;
    }
    if count == 0 { Err(ReadError::Empty { file: file.to_owned() }) } else { Ok(()) }
}

/// A syntax error at `place`, which is `offset` bytes into `text`, where known.
fn syntax(
    place: Place,
    message: String,
    help: Option<String>,
    text: &str,
    offset: Option<usize>,
) -> ReadError {
    let file = place.file.to_string();
    let shown = offset.filter(|_| text.len() <= MAX_EXCERPT);
    let source_code = shown.map(|_| Arc::new(NamedSource::new(file, text.to_owned())));
    let span = shown.map(|offset| SourceSpan::from(offset.min(text.len().saturating_sub(1))));
    ReadError::Syntax { place, message, help, source_code, span }
}

/// What a value is, in the words of errors.
pub(crate) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
