//! One kind, listed once and then followed: by watches that go on where the last one stopped, through frozen
//! sandboxes and lost connections, until the server no longer remembers; then it is listed again.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use model::ObjectName;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::client::{Ask, Cluster, Status};
use crate::error::{Cause, ClusterError};
use crate::kinds::{Kept, Served};

/// For how long the server keeps a watch open. A frozen sandbox does not close its watches.
const WATCH_SECONDS: u32 = 60;
/// A watch that was just opened tells at once what has happened since; when it has been silent for so long, that
/// was all.
const SETTLE: Duration = Duration::from_millis(100);
/// The same for a watch that was open all the time.
const DRAIN: Duration = Duration::from_millis(5);

/// Between two attempts to open a watch.
const PAUSE: Duration = Duration::from_millis(250);

/// Objects of one kind.
pub(crate) struct Watched<T: Kept> {
    served: Served,
    /// Which of them, as a query, such as `fieldSelector=spec.nodeName%3D`.
    selection: &'static str,
    items: BTreeMap<ObjectName, T>,
    shared: T::Shared,
    /// What can't be read, and why.
    unreadable: BTreeMap<ObjectName, String>,
    /// The version that all of this is of; none before the first list.
    version: Option<String>,
    watch: Option<Watch>,
}

struct Watch {
    chunks: Pin<Box<dyn Stream<Item = Result<Bytes, Cause>> + Send>>,
    /// The beginning of a line.
    partial: Vec<u8>,
}

/// What is different from before.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Delta {
    pub(crate) changed: usize,
    /// Of them, pods without a place.
    pub(crate) pending: usize,
}

impl Delta {
    pub(crate) fn add(&mut self, other: Self) {
        self.changed += other.changed;
        self.pending += other.pending;
    }
}

/// What ends a watch.
enum End {
    /// The server has forgotten the version: list again.
    Expired,
    Failed(ClusterError),
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
    r#continue: String,
    remaining_item_count: Option<usize>,
}

#[derive(Deserialize)]
struct Event<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Head {
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: String,
    namespace: Option<String>,
    resource_version: String,
}

impl Head {
    fn read(json: &RawValue) -> Option<HeadMeta> {
        serde_json::from_str::<Self>(json.get()).ok().map(|head| head.metadata)
    }
}

impl HeadMeta {
    fn name(&self) -> ObjectName {
        ObjectName::new(self.namespace.as_deref().unwrap_or("default"), &self.name)
    }
}

impl<T: Kept> Watched<T> {
    /// Nothing known yet.
    pub(crate) fn new(selection: &'static str) -> Self {
        Self {
            served: T::served(),
            selection,
            items: BTreeMap::new(),
            shared: T::Shared::default(),
            unreadable: BTreeMap::new(),
            version: None,
            watch: None,
        }
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = (&ObjectName, &T)> {
        self.items.iter()
    }

    /// How many there are, those that can't be read included.
    pub(crate) fn len(&self) -> usize {
        self.items.len() + self.unreadable.len()
    }

    /// Whether it was listed before.
    pub(crate) fn is_known(&self) -> bool {
        self.version.is_some()
    }

    /// What can't be read, with its kind.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = (String, &String)> {
        self.unreadable.iter().map(|(name, why)| (format!("{} {name}", self.served.kind), why))
    }

    /// Lets the connection go; what is known stays.
    pub(crate) fn suspend(&mut self) {
        self.watch = None;
    }

    /// Takes in what somebody else knows to have been written.
    pub(crate) fn learn(&mut self, item: T) {
        let name = item.name();
        if self.is_known() && !self.is_newer(&name, item.version()) {
            self.items.insert(name, item);
        }
    }

    /// Brings it up to date: lists what was never seen, else reads on where it stopped.
    pub(crate) async fn look(&mut self, cluster: &Cluster) -> Result<Delta, ClusterError> {
        if self.version.is_none() {
            return self.list(cluster).await;
        }
        let mut delta = Delta::default();
        for attempt in 0.. {
            let silence = if self.watch.is_some() { DRAIN } else { SETTLE };
            let end = match self.ensure_open(cluster).await {
                Ok(()) => self.read_on(silence, &mut delta).await,
                Err(end) => Err(end),
            };
            match end {
                Ok(true) => break,
                // A watch that was open all the time may have ended at any time: what came since is not known.
                Ok(false) if attempt < 2 => {}
                Ok(false) => break,
                Err(End::Expired) => {
                    delta.add(self.list(cluster).await?);
                    break;
                }
                Err(End::Failed(error)) if attempt >= 2 || !error.is_transient() => return Err(error),
                Err(End::Failed(_)) => tokio::time::sleep(PAUSE).await,
            }
        }
        T::sweep(&mut self.shared);
        Ok(delta)
    }

    /// Sees that a watch is open, so that `changed` has something to wait for.
    pub(crate) async fn attend(&mut self, cluster: &Cluster) -> Result<Delta, ClusterError> {
        if self.watch.is_some() { Ok(Delta::default()) } else { self.look(cluster).await }
    }

    /// Waits for the next change of an open watch. Nothing is lost if the waiting is given up. `None`: the watch has
    /// ended, and is to be opened anew.
    pub(crate) async fn changed(&mut self) -> Option<Delta> {
        loop {
            let chunk = match &mut self.watch {
                None => std::future::pending().await,
                Some(watch) => watch.chunks.next().await,
            };
            let mut delta = Delta::default();
            match chunk {
                Some(Ok(chunk)) => match self.take_in(&chunk, &mut delta) {
                    Ok(()) if delta == Delta::default() => {}
                    Ok(()) => return Some(delta),
                    Err(_) => {
                        // The next look finds out why.
                        self.watch = None;
                        return None;
                    }
                },
                Some(Err(_)) | None => {
                    self.watch = None;
                    return None;
                }
            }
        }
    }

    /// Forgets all and lists anew, page by page.
    pub(crate) async fn list(&mut self, cluster: &Cluster) -> Result<Delta, ClusterError> {
        self.watch = None;
        let what = format!("listing {}", self.served.path);
        for attempt in 0.. {
            match self.list_once(cluster, &what).await {
                // The pages were too long in coming: the server has forgotten the version they are of.
                Err(error) if error.status() == Some(410) && attempt < 2 => {}
                other => return other,
            }
        }
        Ok(Delta::default())
    }

    async fn list_once(&mut self, cluster: &Cluster, what: &str) -> Result<Delta, ClusterError> {
        let mut items = BTreeMap::new();
        let mut unreadable = BTreeMap::new();
        let mut next = String::new();
        let version = loop {
            let mut path = format!("{}?limit={}", self.served.path, T::PAGE);
            for (key, value) in [("&", self.selection), ("&continue=", next.as_str())] {
                if !value.is_empty() {
                    path.push_str(key);
                    path.push_str(value);
                }
            }
            let body = cluster.ask(&Ask::get(&path, what)).await?.expect(what)?;
            let bad = |message: String| ClusterError::Unreadable { what: what.to_owned(), message };
            let list: List<'_> = serde_json::from_slice(&body).map_err(|error| bad(error.to_string()))?;
            for json in list.items.into_iter().flatten() {
                match T::read(json, &mut self.shared) {
                    Ok(item) => {
                        items.insert(item.name(), item);
                    }
                    Err(why) => {
                        let name = Head::read(json).map(|meta| meta.name()).unwrap_or_default();
                        unreadable.insert(name, why);
                    }
                }
            }
            if list.metadata.r#continue.is_empty() {
                break list.metadata.resource_version;
            }
            next = escape(&list.metadata.r#continue);
        };
        let delta = difference(&self.items, &items);
        self.items = items;
        self.unreadable = unreadable;
        self.version = Some(version);
        T::sweep(&mut self.shared);
        Ok(delta)
    }

    async fn ensure_open(&mut self, cluster: &Cluster) -> Result<(), End> {
        if self.watch.is_some() {
            return Ok(());
        }
        let version = self.version.as_deref().unwrap_or_default();
        let mut path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={version}",
            self.served.path
        );
        if !self.selection.is_empty() {
            path.push('&');
            path.push_str(self.selection);
        }
        let what = format!("watching {}", self.served.path);
        let (status, chunks) = cluster.open(&path, &what).await.map_err(End::Failed)?;
        if status.is_success() {
            self.watch = Some(Watch { chunks: Box::pin(chunks), partial: Vec::new() });
            return Ok(());
        }
        let mut text = Vec::new();
        let mut chunks = Box::pin(chunks);
        while let Some(Ok(chunk)) = chunks.next().await {
            text.extend_from_slice(&chunk);
        }
        let told: Status = serde_json::from_slice(&text).unwrap_or_default();
        Err(ended(status.as_u16(), told, &what))
    }

    /// Reads until the watch is silent, or has ended: then it is not known whether that was all.
    async fn read_on(&mut self, silence: Duration, delta: &mut Delta) -> Result<bool, End> {
        loop {
            let Some(watch) = &mut self.watch else { return Ok(false) };
            match tokio::time::timeout(silence, watch.chunks.next()).await {
                Err(_) => return Ok(true),
                Ok(Some(Ok(chunk))) => self.take_in(&chunk, delta)?,
                Ok(Some(Err(_)) | None) => {
                    self.watch = None;
                    return Ok(false);
                }
            }
        }
    }

    fn take_in(&mut self, chunk: &[u8], delta: &mut Delta) -> Result<(), End> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        let mut text = std::mem::take(&mut watch.partial);
        text.extend_from_slice(chunk);
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for line in text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if let Err(end) = self.event(line, delta) {
                self.watch = None;
                return Err(end);
            }
        }
        if let Some(watch) = &mut self.watch {
            watch.partial = text.split_off(whole);
        }
        Ok(())
    }

    fn event(&mut self, line: &[u8], delta: &mut Delta) -> Result<(), End> {
        let what = || format!("watching {}", self.served.path);
        let bad = |message: String| End::Failed(ClusterError::Unreadable { what: what(), message });
        let event: Event<'_> = serde_json::from_slice(line).map_err(|error| bad(error.to_string()))?;
        if event.r#type == "ERROR" {
            let told: Status = serde_json::from_str(event.object.get()).unwrap_or_default();
            return Err(ended(told.code, told, &what()));
        }
        let Some(meta) = Head::read(event.object) else {
            return Err(bad("an event without metadata".into()));
        };
        let version = meta.resource_version.parse().ok();
        let name = meta.name();
        match event.r#type {
            "BOOKMARK" => {}
            // We have seen a later one already, in the answer to a write.
            _ if self.is_newer(&name, version) => {}
            "DELETED" => {
                self.unreadable.remove(&name);
                if self.items.remove(&name).is_some() {
                    delta.changed += 1;
                }
            }
            _ => match T::read(event.object, &mut self.shared) {
                Ok(item) => {
                    self.unreadable.remove(&name);
                    let pending = usize::from(item.is_pending());
                    let known = self.items.insert(name.clone(), item);
                    let now = self.items.get(&name);
                    if !known.as_ref().zip(now).is_some_and(|(known, now)| known.same(now)) {
                        delta.add(Delta { changed: 1, pending });
                    }
                }
                Err(why) => {
                    self.items.remove(&name);
                    self.unreadable.insert(name, why);
                }
            },
        }
        if !meta.resource_version.is_empty() {
            self.version = Some(meta.resource_version);
        }
        Ok(())
    }

    /// Whether what is kept under `name` is newer than `version`.
    fn is_newer(&self, name: &ObjectName, version: Option<u64>) -> bool {
        let kept = self.items.get(name).and_then(T::version);
        kept.zip(version).is_some_and(|(kept, version)| kept > version)
    }

    /// How many there are, by the server's own count.
    pub(crate) async fn count(cluster: &Cluster) -> Result<Option<usize>, ClusterError> {
        let served = T::served();
        let what = format!("counting {}", served.path);
        let path = format!("{}?limit=1", served.path);
        let body = cluster.ask(&Ask::metadata_list(&path, &what)).await?.expect(&what)?;
        let list: List<'_> = serde_json::from_slice(&body)
            .map_err(|error| ClusterError::Unreadable { what: what.clone(), message: error.to_string() })?;
        let first = list.items.map_or(0, |items| items.len());
        let whole = list.metadata.r#continue.is_empty();
        Ok(match list.metadata.remaining_item_count {
            Some(rest) => Some(first + rest),
            None => whole.then_some(first),
        })
    }
}

/// What a refused or broken watch means.
fn ended(status: u16, told: Status, what: &str) -> End {
    // Too old, or of a future that a restored server does not know.
    let forgotten =
        status == 410 || told.reason == "Expired" || told.message.contains("Too large resource version");
    if forgotten {
        return End::Expired;
    }
    End::Failed(ClusterError::Answer { what: what.to_owned(), status, message: told.message })
}

fn difference<T: Kept>(before: &BTreeMap<ObjectName, T>, after: &BTreeMap<ObjectName, T>) -> Delta {
    let mut delta = Delta::default();
    delta.changed += before.keys().filter(|name| !after.contains_key(name)).count();
    for (name, item) in after {
        if !before.get(name).is_some_and(|known| known.same(item)) {
            delta.add(Delta { changed: 1, pending: usize::from(item.is_pending()) });
        }
    }
    delta
}

/// A value in a query.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte))
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}
