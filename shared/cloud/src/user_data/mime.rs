//! MIME archives: the parts of one that users wrote, copied as they are, and one of ours.

use mailparse::{MailHeaderMap, parse_content_type, parse_headers, parse_mail};

use super::UserDataError;

/// A script.
pub(super) const SHELL: &str = "text/x-shellscript; charset=\"us-ascii\"";
/// Configuration of cloud-init.
pub(super) const CLOUD_CONFIG: &str = "text/cloud-config";
/// A NodeConfig.
pub(super) const NODE_CONFIG: &str = "application/node.eks.aws";

/// What stands between parts, unless a part has it in its text.
const BOUNDARY: &str = "//";

/// A part of an archive.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Part {
    /// Its headers, a line each, as written.
    header: String,
    /// Its type, without parameters, in lower case.
    pub(super) media: String,
    /// Its content.
    pub(super) body: String,
    /// The line its content begins on in what users wrote.
    pub(super) line: usize,
}

impl Part {
    /// A part of a type that may have parameters.
    pub(super) fn new(content_type: &str, body: String) -> Self {
        let media = parse_content_type(content_type).mimetype;
        Self { header: format!("Content-Type: {content_type}"), media, body, line: 1 }
    }

    /// Turns content that its headers call encoded into plain text.
    pub(super) fn decode(&mut self) -> Result<(), UserDataError> {
        let encoded = self.header.to_ascii_lowercase().contains("content-transfer-encoding");
        if encoded {
            let whole = format!("{}\n\n{}", self.header, self.body);
            let body = parse_mail(whole.as_bytes()).and_then(|mail| mail.get_body_raw());
            let body = body.map_err(|error| fault(self.line, &format!("content of a part: {error}")))?;
            let body = String::from_utf8(body)
                .map_err(|error| fault(self.line, &format!("content of a part: {error}")))?;
            *self = Self { line: self.line, ..Self::new(&self.media, body) };
        }
        Ok(())
    }
}

/// Whether a text is meant to be an archive.
pub(super) fn is_archive(text: &str) -> bool {
    let text = text.trim_start().as_bytes();
    let starts =
        |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()));
    starts("MIME-Version:") || starts("Content-Type:")
}

/// The parts of an archive.
pub(super) fn read(text: &str) -> Result<Vec<Part>, UserDataError> {
    let blank = text.lines().take_while(|line| line.trim().is_empty()).count();
    let lines: Vec<&str> = text.lines().collect();
    let (header, media, from) = header(&lines, blank)?;
    if !media.starts_with("multipart/") {
        return Err(fault(blank + 1, &format!("is of type {media:?}, not multipart")));
    }
    let boundary = content_type(&header).and_then(|content| content.params.get("boundary").cloned());
    let Some(boundary) = boundary.filter(|boundary| !boundary.trim().is_empty()) else {
        return Err(fault(blank + 1, "its Content-Type names no boundary"));
    };
    let delimiter = format!("--{boundary}");
    let (mut parts, mut begin) = (Vec::new(), None);
    for (number, line) in lines.iter().enumerate().skip(from) {
        let last = match line.strip_prefix(&delimiter).map(str::trim_end) {
            Some("") => false,
            Some("--") => true,
            _ => continue,
        };
        if let Some(begin) = begin {
            parts.push(part(lines.get(..number).unwrap_or_default(), begin)?);
        }
        if last {
            return Ok(parts);
        }
        begin = Some(number + 1);
    }
    let message = match begin {
        Some(_) => format!("the archive ends without {delimiter}--"),
        None => format!("no part begins with {delimiter}"),
    };
    Err(fault(lines.len(), &message))
}

/// The part from line `begin` to the end of `lines`.
fn part(lines: &[&str], begin: usize) -> Result<Part, UserDataError> {
    // A part may have no headers: it then begins with the empty line.
    let (header, media, from) = if lines.get(begin).is_some_and(|line| line.trim().is_empty()) {
        (String::new(), "text/plain".to_owned(), begin + 1)
    } else {
        header(lines, begin)?
    };
    let body = lines.get(from..).unwrap_or_default().join("\n");
    Ok(Part { header, media, body, line: from + 1 })
}

/// The headers from line `begin`, the type they name, and the line that the content begins on.
fn header(lines: &[&str], begin: usize) -> Result<(String, String, usize), UserDataError> {
    let block: Vec<&str> =
        lines.iter().skip(begin).take_while(|line| !line.trim().is_empty()).copied().collect();
    for (number, line) in block.iter().enumerate() {
        let folded = number > 0 && line.starts_with([' ', '\t']);
        let named = line
            .split_once(':')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic()));
        if !folded && !named {
            return Err(fault(begin + number + 1, &format!("{line:?} is not a header")));
        }
    }
    if begin + block.len() >= lines.len() {
        return Err(fault(lines.len(), "the headers don't end: an empty line is missing"));
    }
    let header = block.join("\n");
    let media = content_type(&header).map_or_else(|| "text/plain".to_owned(), |content| content.mimetype);
    Ok((header, media, begin + block.len() + 1))
}

fn content_type(header: &str) -> Option<mailparse::ParsedContentType> {
    let (headers, _) = parse_headers(header.as_bytes()).ok()?;
    headers.get_first_value("Content-Type").map(|value| parse_content_type(&value))
}

fn fault(line: usize, message: &str) -> UserDataError {
    UserDataError::Mime { line: line.max(1), message: message.to_owned() }
}

/// An archive. Carriage returns go: no shell stands them.
pub(super) fn write(parts: &[Part]) -> String {
    let parts: Vec<[String; 2]> =
        parts.iter().map(|part| [&part.header, &part.body].map(|text| text.replace('\r', ""))).collect();
    let boundary = boundary(&parts);
    let mut text = format!("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"{boundary}\"\n\n");
    for [header, body] in &parts {
        let end = if header.is_empty() { "" } else { "\n" };
        text += &format!("--{boundary}\n{header}{end}\n{body}\n");
    }
    text + &format!("--{boundary}--\n")
}

/// A boundary that no line of any part begins like.
fn boundary(parts: &[[String; 2]]) -> String {
    let taken = |boundary: &str| {
        let delimiter = format!("--{boundary}");
        parts.iter().flatten().flat_map(|text| text.lines()).any(|line| line.starts_with(&delimiter))
    };
    let mut boundary = BOUNDARY.to_owned();
    let mut number = 0_usize;
    while taken(&boundary) {
        number += 1;
        boundary = format!("{BOUNDARY}{number}-");
    }
    boundary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_back_as_they_were_written() {
        let bodies = ["#!/bin/sh\necho 1\n", "--//\n--//--\n\r-\r-//1-\n", "", "\n\n", "a\r\nb"];
        let parts: Vec<Part> = bodies.iter().map(|body| Part::new(SHELL, (*body).to_owned())).collect();
        let text = write(&parts);
        assert!(text.contains("boundary=\"//2-\""), "{text}");
        let read = read(&text).unwrap();
        let read: Vec<&str> = read.iter().map(|part| part.body.as_str()).collect();
        assert_eq!(read, ["#!/bin/sh\necho 1\n", "--//\n--//--\n--//1-\n", "", "\n\n", "a\nb"]);
    }

    #[test]
    fn encoded_content_is_decoded() {
        let mut part = Part {
            header: format!("Content-Type: {NODE_CONFIG}\nContent-Transfer-Encoding: base64"),
            media: NODE_CONFIG.to_owned(),
            body: "a2luZDogTm9kZUNvbmZpZwo=".to_owned(),
            line: 3,
        };
        part.decode().unwrap();
        assert_eq!(part.body, "kind: NodeConfig\n");
        assert_eq!(part.header, format!("Content-Type: {NODE_CONFIG}"));
        let plain = Part {
            header: "Content-Transfer-Encoding: 8bit".to_owned(),
            body: "# é\n".to_owned(),
            ..part.clone()
        };
        let mut decoded = plain.clone();
        decoded.decode().unwrap();
        assert_eq!(decoded.body, plain.body);
        let mut broken =
            Part { header: "Content-Transfer-Encoding: base64".to_owned(), body: "%%%".to_owned(), ..part };
        assert!(matches!(broken.decode(), Err(UserDataError::Mime { line: 3, .. })));
    }
}
