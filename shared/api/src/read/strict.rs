//! Reads a value into a Rust type and reports every unknown field by its path, with the one that was probably
//! meant; types that don't fit are reported with their path too.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::{closest, describe};

/// Something wrong with one field.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Fault {
    /// Its path, such as `spec.containers[0].image`.
    pub(crate) path: String,
    /// A sentence.
    pub(crate) message: String,
    /// What would help.
    pub(crate) help: Option<String>,
}

/// `value` as a `T`, with the unknown fields that were passed over.
pub(crate) fn read_as<T: DeserializeOwned>(value: &Value) -> Result<(T, Vec<Fault>), Fault> {
    let unknown = RefCell::new(Vec::new());
    let read = T::deserialize(Reader { value, path: &Path::Root, unknown: &unknown });
    read.map(|read| (read, unknown.into_inner())).map_err(|Misfit { path, message, help }| Fault {
        path: path.unwrap_or_default(),
        message,
        help,
    })
}

enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) if key.contains(['.', '/']) => write!(f, "{parent}[\"{key}\"]"),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

#[derive(Debug)]
struct Misfit {
    path: Option<String>,
    message: String,
    help: Option<String>,
}

impl Misfit {
    fn at(mut self, path: &Path<'_>) -> Self {
        if self.path.is_none() {
            self.path = Some(path.to_string());
        }
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: None, message: message.to_string(), help: None }
    }
}

#[derive(Clone, Copy)]
struct Reader<'de, 'p> {
    value: &'de Value,
    path: &'p Path<'p>,
    unknown: &'p RefCell<Vec<Fault>>,
}

impl<'de, 'p> Reader<'de, 'p> {
    fn misfit(&self, expected: &str) -> Misfit {
        let help = match self.value {
            // YAML has several words for them, so what was written is not known.
            Value::Bool(_) if expected == "a text" => {
                Some("write it in quotes: plain y, n, yes, no, on and off mean true or false".to_owned())
            }
            Value::Number(number) if expected == "a text" => {
                Some(format!("write it in quotes: \"{number}\""))
            }
            _ => None,
        };
        let message = format!("expected {expected}, found {}", describe(self.value));
        Misfit { path: None, message, help }.at(self.path)
    }

    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value {
            Value::Number(_) => self.any(visitor),
            _ => Err(self.misfit("a number")),
        }
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value {
            Value::String(_) => self.any(visitor),
            _ => Err(self.misfit("a text")),
        }
    }

    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let path = self.path;
        let read = match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (.., value) => visitor.visit_f64(value.unwrap_or_default()),
            },
            Value::String(value) => visitor.visit_borrowed_str(value),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter(), index: 0, reader: self }),
            Value::Object(map) => {
                visitor.visit_map(Entries { entries: map.iter(), next: None, known: None, reader: self })
            }
        };
        read.map_err(|misfit: Misfit| misfit.at(path))
    }
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value {
            Value::Bool(_) => self.any(visitor),
            _ => Err(self.misfit("true or false")),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.number(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.number(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.number(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        if name == "Quantity" {
            quantity(self.value).map_err(|misfit| misfit.at(self.path))?;
        }
        visitor.visit_newtype_struct(self).map_err(|misfit: Misfit| misfit.at(self.path))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value {
            Value::Array(_) => self.any(visitor),
            _ => Err(self.misfit("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value {
            Value::Object(_) => self.any(visitor),
            _ => Err(self.misfit("a mapping")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let Value::Object(map) = self.value else { return Err(self.misfit("a mapping")) };
        let entries = Entries { entries: map.iter(), next: None, known: Some(fields), reader: self };
        visitor.visit_map(entries).map_err(|misfit: Misfit| misfit.at(self.path))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let Value::String(text) = self.value else { return Err(self.misfit("a text")) };
        if !variants.contains(&text.as_str()) {
            let help = closest(text, variants.iter().copied()).map(|meant| format!("did you mean {meant}?"));
            let message = format!("{text:?} is not one of {}", variants.join(", "));
            return Err(Misfit { path: None, message, help }.at(self.path));
        }
        let variant: StrDeserializer<'_, Misfit> = text.as_str().into_deserializer();
        visitor.visit_enum(variant).map_err(|misfit| misfit.at(self.path))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

/// Fails for what Kubernetes can't read as a quantity.
fn quantity(value: &Value) -> Result<(), Misfit> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        other => return Err(Misfit::custom(format!("expected a quantity, found {}", describe(other)))),
    };
    text.parse::<model::Quantity>().map(|_| ()).map_err(|error| {
        let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == ' ');
        let unit = text[number.len()..].trim();
        let meant = match unit.to_lowercase().as_str() {
            "kb" | "kib" | "kbytes" | "ki" | "k" => Some("Ki"),
            "mb" | "mib" | "mi" => Some("Mi"),
            "gb" | "gib" | "gi" | "g" => Some("Gi"),
            "tb" | "tib" | "ti" | "t" => Some("Ti"),
            "cpu" | "cpus" | "core" | "cores" | "vcpu" | "vcpus" | "b" | "bytes" => Some(""),
            "millicores" | "milli" | "mcpu" => Some("m"),
            _ => None,
        };
        let help = meant.map(|meant| format!("did you mean {}{meant}?", number.trim()));
        Misfit { path: None, message: error.to_string(), help }
    })
}

struct Items<'de, 'p> {
    items: std::slice::Iter<'de, Value>,
    index: usize,
    reader: Reader<'de, 'p>,
}

impl<'de> de::SeqAccess<'de> for Items<'de, '_> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some(value) = self.items.next() else { return Ok(None) };
        let path = Path::Index(self.reader.path, self.index);
        self.index += 1;
        let item = Reader { value, path: &path, unknown: self.reader.unknown };
        seed.deserialize(item).map(Some).map_err(|misfit| misfit.at(&path))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de, 'p> {
    entries: serde_json::map::Iter<'de>,
    next: Option<(&'de str, &'de Value)>,
    known: Option<&'static [&'static str]>,
    reader: Reader<'de, 'p>,
}

impl<'de> de::MapAccess<'de> for Entries<'de, '_> {
    type Error = Misfit;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        loop {
            let Some((key, value)) = self.entries.next() else { return Ok(None) };
            if let Some(known) = self.known.filter(|known| !known.contains(&key.as_str())) {
                let path = Path::Key(self.reader.path, key).to_string();
                let help = closest(key, known.iter().copied()).map(|meant| format!("did you mean {meant}?"));
                let message = format!("unknown field {key}");
                self.reader.unknown.borrow_mut().push(Fault { path, message, help });
                continue;
            }
            self.next = Some((key, value));
            let key: StrDeserializer<'_, Misfit> = key.as_str().into_deserializer();
            return seed.deserialize(key).map(Some);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misfit> {
        let Some((key, value)) = self.next.take() else {
            return Err(Misfit::custom("a value before its key"));
        };
        let path = Path::Key(self.reader.path, key);
        let entry = Reader { value, path: &path, unknown: self.reader.unknown };
        seed.deserialize(entry).map_err(|misfit| misfit.at(&path))
    }
}
