//! What EC2 and AWS Health say about instances: EventBridge events in SQS messages, and instance status.
//!
//! A message is a hint, and may be foreign, stale or forged by accident: what it says is checked, and what is of
//! no use is ignored with a reason, never an error. Only the API server can fail a message.

mod event;
mod health;
mod status;

use std::collections::BTreeSet;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use model::{Notice, NoticeKind};
use serde::{Deserialize, Serialize};

#[cfg(feature = "aws")]
pub(crate) use status::CODES;
pub use status::{InstanceStatus, ScheduledEvent, StatusCheck, StatusDetail, read_status};

/// Older news is no news: what it told has happened, and the look at everything has seen it.
pub const MAX_AGE: SignedDuration = SignedDuration::from_mins(15);

/// How long before it takes an instance EC2 says so.
const NOTICE: SignedDuration = SignedDuration::from_secs(120);

/// Something that happens to instances.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// What.
    pub kind: Kind,
    /// To which instances; never empty. They need not be ours.
    pub instances: BTreeSet<InstanceId>,
    /// When it was said, or first seen.
    pub time: Timestamp,
    /// When the instances are taken or touched, where that is known. What is not done by then isn't done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The account that owns the instances; empty if it isn't said.
    pub account: String,
    /// The Region they are in; empty if it isn't said.
    pub region: String,
    /// EventBridge's name of the event, the same when it is delivered twice; empty for instance status.
    pub id: String,
    /// What else is said.
    pub detail: Detail,
}

impl Message {
    /// What it announces.
    pub fn notice(&self) -> Notice {
        let kind = match self.kind {
            Kind::SpotInterrupted => {
                NoticeKind::SpotInterruption { deadline: self.deadline.unwrap_or(self.time) }
            }
            Kind::CapacityReservationInterrupted => {
                NoticeKind::ReservationInterruption { deadline: self.deadline }
            }
            Kind::RebalanceRecommendation => NoticeKind::Rebalance,
            Kind::InstanceStopped => NoticeKind::Stopping,
            Kind::InstanceTerminated => NoticeKind::Terminating,
            Kind::ScheduledChange | Kind::EventStatus => {
                NoticeKind::ScheduledChange { starts: self.deadline }
            }
            Kind::InstanceStatus => NoticeKind::Impaired { host: false, since: self.time },
            Kind::SystemStatus => NoticeKind::Impaired { host: true, since: self.time },
        };
        Notice { kind, instances: self.instances.iter().map(|id| id.as_str().to_owned()).collect() }
    }
}

/// What else a message says, for those who read its events.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// EC2's own word: an action, a state, a type of health event, the code of a scheduled event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A sentence of AWS's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The earliest that a scheduled event begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The latest that it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
}

/// What happens. The names are the values of the metric label `message_type`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// EC2 takes a Spot instance back at the deadline.
    SpotInterrupted,
    /// The owner of an interruptible reservation takes it back at the deadline.
    CapacityReservationInterrupted,
    /// A Spot instance is likelier than others to be interrupted soon.
    RebalanceRecommendation,
    /// AWS Health has something planned for the host.
    ScheduledChange,
    /// It stops, or has.
    InstanceStopped,
    /// It is being terminated, or has been.
    InstanceTerminated,
    /// The instance itself does not answer: draining it gently would wait for ever.
    InstanceStatus,
    /// The host is broken: draining it gently would wait for ever.
    SystemStatus,
    /// EC2 has something planned for the instance, at [`Detail::not_before`]: until then it works.
    EventStatus,
}

impl Kind {
    /// The value of `message_type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SpotInterrupted => "spot_interrupted",
            Self::CapacityReservationInterrupted => "capacity_reservation_interrupted",
            Self::RebalanceRecommendation => "rebalance_recommendation",
            Self::ScheduledChange => "scheduled_change",
            Self::InstanceStopped => "instance_stopped",
            Self::InstanceTerminated => "instance_terminated",
            Self::InstanceStatus => "instance_status",
            Self::SystemStatus => "system_status",
            Self::EventStatus => "event_status",
        }
    }
}

/// What a message turned out to be.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Parsed {
    /// Something happens.
    Message(Message),
    /// Nothing that concerns us: to be acknowledged and counted.
    Ignored(Ignored),
}

/// Why a message is of no use.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "reason")]
pub enum Ignored {
    /// It has no body.
    Empty,
    /// It isn't an event, or one of its fields isn't what it should be.
    Malformed {
        /// What is wrong.
        message: String,
    },
    /// It is an event of a kind that nobody asked for.
    Unknown {
        /// Its version.
        version: String,
        /// Its source.
        source: String,
        /// Its detail-type.
        detail_type: String,
    },
    /// It is of a kind that is asked for, and says nothing that matters, such as that an instance runs.
    Uninteresting {
        /// What it says.
        what: String,
    },
    /// It is about another account or Region.
    Foreign {
        /// The account.
        account: String,
        /// The Region.
        region: String,
    },
    /// It is too old to act upon.
    Stale {
        /// When it was sent.
        time: Timestamp,
    },
}

impl Ignored {
    /// The value of `message_type`.
    pub fn as_str(&self) -> &'static str {
        "no_op"
    }

    fn malformed(message: impl fmt::Display) -> Self {
        Self::Malformed { message: message.to_string() }
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it has no body"),
            Self::Malformed { message } => write!(f, "it is malformed: {message}"),
            Self::Unknown { version, source, detail_type } => {
                write!(f, "{detail_type:?} of {source:?}, version {version:?}, is no kind that is handled")
            }
            Self::Uninteresting { what } => write!(f, "{what} needs nothing done"),
            Self::Foreign { account, region } => write!(f, "it is about account {account:?} in {region:?}"),
            Self::Stale { time } => write!(f, "it is of {time}, too old to act upon"),
        }
    }
}

/// What messages are asked for.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The account; any if unset.
    #[serde(default)]
    pub account: Option<String>,
    /// The Region; any if unset.
    #[serde(default)]
    pub region: Option<String>,
    /// The time it is.
    pub now: Timestamp,
    /// How old an event may be.
    pub max_age: SignedDuration,
}

impl Scope {
    /// Reads the body of an SQS message. It never fails, whatever the body is.
    pub fn read(&self, body: &str) -> Parsed {
        match event::read(self, body) {
            Ok(message) => Parsed::Message(message),
            Err(ignored) => Parsed::Ignored(ignored),
        }
    }

    /// What `value` announces: an event of EventBridge, or one of the statuses that DescribeInstanceStatus answers.
    pub fn notices(&self, value: &serde_json::Value) -> Result<Vec<Notice>, Ignored> {
        if value.get("InstanceId").is_some() {
            let status = InstanceStatus::deserialize(value).map_err(Ignored::malformed)?;
            return Ok(read_status(self, &status).iter().map(Message::notice).collect());
        }
        event::read(self, &value.to_string()).map(|message| vec![message.notice()])
    }

    fn check_place(&self, account: &str, region: &str) -> Result<(), Ignored> {
        let other =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_some_and(|wanted| wanted != found);
        if other(&self.account, account) || other(&self.region, region) {
            return Err(Ignored::Foreign { account: shown(account), region: shown(region) });
        }
        Ok(())
    }

    fn check_age(&self, time: Timestamp) -> Result<(), Ignored> {
        if self.now.duration_since(time) > self.max_age { Err(Ignored::Stale { time }) } else { Ok(()) }
    }
}

/// The id of an instance, as EC2 makes them.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstanceId(String);

impl InstanceId {
    /// Reads `i-` and 8 to 17 hexadecimal digits in lower case; nothing else is an id.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("i-")?;
        let hexadecimal = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        ((8..=17).contains(&digits.len()) && hexadecimal).then(|| Self(text.to_owned()))
    }

    /// Reads the ARN of an instance.
    fn of_arn(arn: &str) -> Option<Self> {
        let mut fields = arn.splitn(6, ':');
        let (arn, _, service) = (fields.next()?, fields.next()?, fields.next()?);
        let id = fields.nth(2)?.strip_prefix("instance/")?;
        if arn == "arn" && service == "ec2" { Self::parse(id) } else { None }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for InstanceId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("{:?} is not an instance id", shown(&text)))
    }
}

impl From<InstanceId> for String {
    fn from(id: InstanceId) -> Self {
        id.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text from outside, short enough for a log line.
fn shown(text: &str) -> String {
    const LONGEST: usize = 128;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instance_ids() {
        for (text, good) in [
            ("i-0123456789abcdef0", true),
            ("i-01234567", true),
            ("i-0123456", false),
            ("i-0123456789abcdef01", false),
            ("i-0123456789ABCDEF0", false),
            ("i-0123456789abcdef/", false),
            ("i-0123456789abcdef0\n", false),
            (" i-0123456789abcdef0", false),
            ("0123456789abcdef0", false),
            ("vol-0123456789abcdef0", false),
            ("", false),
        ] {
            assert_eq!(InstanceId::parse(text).is_some(), good, "{text:?}");
        }
        for (text, good) in [
            ("arn:aws:ec2:eu-west-1:123456789012:instance/i-0123456789abcdef0", true),
            ("arn:aws-cn:ec2:cn-north-1::instance/i-0123456789abcdef0", true),
            ("arn:aws:ec2:eu-west-1:instance/i-0123456789abcdef0", false),
            ("arn:aws:s3:eu-west-1:123456789012:instance/i-0123456789abcdef0", false),
            ("arn:aws:ec2:eu-west-1:123456789012:volume/vol-0123456789abcdef0", false),
            ("arn:aws:ec2:eu-west-1:123456789012:instance/x:y", false),
        ] {
            assert_eq!(InstanceId::of_arn(text).is_some(), good, "{text:?}");
        }
    }

    #[test]
    fn kinds_are_written_as_metrics_have_them() {
        for kind in [
            Kind::SpotInterrupted,
            Kind::CapacityReservationInterrupted,
            Kind::RebalanceRecommendation,
            Kind::ScheduledChange,
            Kind::InstanceStopped,
            Kind::InstanceTerminated,
            Kind::InstanceStatus,
            Kind::SystemStatus,
            Kind::EventStatus,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn ids_are_checked_when_they_are_read_back() {
        let id: InstanceId = serde_json::from_str("\"i-0123456789abcdef0\"").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"i-0123456789abcdef0\"");
        assert!(serde_json::from_str::<InstanceId>("\"i-0; reboot\"").is_err());
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shown("é"), "é");
        assert_eq!(shown(&"é".repeat(500)).chars().count(), 129);
    }
}
