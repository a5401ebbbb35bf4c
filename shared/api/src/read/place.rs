//! Places: from byte offsets, and of fields inside a document.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Origin, Place, yaml};

/// Line 1, column 1 of `file`.
pub(super) fn beginning(file: &str) -> Place {
    Place { file: file.into(), line: 1, column: 1 }
}

/// The place `offset` bytes into `text`, which itself begins at `start`.
pub(super) fn at_offset(start: &Place, text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let lines = before.bytes().filter(|&byte| byte == b'\n').count();
    let last = before.rsplit('\n').next().unwrap_or_default();
    shifted(start, lines + 1, last.chars().count() + 1)
}

/// The place at `line` and `column` of a text that itself begins at `start`.
pub(super) fn shifted(start: &Place, line: usize, column: usize) -> Place {
    let column = if line <= 1 { start.column + column.saturating_sub(1) } else { column };
    Place { file: start.file.clone(), line: start.line + line.saturating_sub(1), column: column.max(1) }
}

/// One path after another.
pub(super) fn join(path: &str, more: &str) -> String {
    let dot = if path.is_empty() || more.is_empty() || more.starts_with('[') { "" } else { "." };
    format!("{path}{dot}{more}")
}

/// The place of the field at `path` within what was read from `origin`, or of its nearest ancestor.
pub(super) fn find(origin: &Origin, path: &str) -> Option<Place> {
    let root: Spanned<Tree> = serde_saphyr::from_str_with_options(&origin.text, yaml::options()).ok()?;
    let whole = join(&origin.within, path);
    let mut place = (root.referenced.line(), root.referenced.column());
    let mut node = &root.value;
    let mut rest = whole.as_str();
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let next = match node {
            Tree::Leaf => None,
            Tree::Map(entries) => entries
                .iter()
                .filter_map(|(key, value)| Some((key, value, after_key(rest, &key.value)?)))
                .max_by_key(|(key, ..)| key.value.len())
                .map(|(key, value, rest)| {
                    ((key.referenced.line(), key.referenced.column()), &value.value, rest)
                }),
            Tree::Seq(items) => index(rest).and_then(|(index, rest)| {
                let item = items.get(index)?;
                Some(((item.referenced.line(), item.referenced.column()), &item.value, rest))
            }),
        };
        let Some((found, child, remaining)) = next else { break };
        place = found;
        node = child;
        rest = remaining;
    }
    let number = |number: u64| usize::try_from(number).ok().filter(|&number| number > 0);
    Some(shifted(&origin.start, number(place.0)?, number(place.1)?))
}

/// What follows `key` at the beginning of `path`, if it stands there as a whole, plain, as `[key]` or as `["key"]`.
fn after_key<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    let quoted = path.strip_prefix("[\"").and_then(|path| path.strip_prefix(key)?.strip_prefix("\"]"));
    let bracketed = || path.strip_prefix('[').and_then(|path| path.strip_prefix(key)?.strip_prefix(']'));
    let plain = || path.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    quoted.or_else(bracketed).or_else(plain)
}

fn index(path: &str) -> Option<(usize, &str)> {
    let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

/// The shape of a document, with where each key and item stands.
enum Tree {
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
    Seq(Vec<Spanned<Tree>>),
    Leaf,
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Shape)
    }
}

struct Shape;

impl<'de> Visitor<'de> for Shape {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut seen = Vec::new();
        while let Some(item) = items.next_element()? {
            seen.push(item);
        }
        Ok(Tree::Seq(seen))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut seen = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            if key.value.is_empty() {
                entries.next_value::<IgnoredAny>()?;
            } else {
                seen.push((key, entries.next_value()?));
            }
        }
        Ok(Tree::Map(seen))
    }
}
