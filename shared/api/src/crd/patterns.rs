//! The regular expressions of the schemas. All are anchored at both ends.

/// A label or taint key: an optional DNS prefix, then a name.
pub const QUALIFIED_KEY: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
/// A taint's value: like a key, or empty.
pub const TAINT_VALUE: &str = r"^(([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
/// A label's value.
pub const LABEL_VALUE: &str = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
/// An API group or any other text without a slash.
pub const GROUP: &str = r"^[^/]*$";
/// Hours, minutes and seconds.
pub const DURATION: &str = r"^([0-9]+(s|m|h))+$";
/// Hours, minutes and seconds, or the word for no end.
pub const DURATION_OR_NEVER: &str = r"^(([0-9]+(s|m|h))+|Never)$";
/// A budget's duration: hours and minutes, with no seconds but zero.
pub const BUDGET_DURATION: &str = r"^([0-9]+h|[0-9]+m|[0-9]+h[0-9]+m)(0s)?$";
/// A count, or a percentage up to a hundred.
pub const COUNT_OR_PERCENT: &str = r"^(([0-9]{1,2}|100)%|[0-9]+)$";
/// A cron macro, or at least five fields.
pub const SCHEDULE: &str = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4,})$";
/// A Kubernetes quantity.
pub const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";
/// The type of a condition.
pub const CONDITION_TYPE: &str = QUALIFIED_KEY;
/// The reason of a condition; empty in objects of old versions.
pub const CONDITION_REASON: &str = r"^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$";
/// A subnet's id.
pub const SUBNET_ID: &str = r"^subnet-[0-9a-z]+$";
/// A security group's id.
pub const SECURITY_GROUP_ID: &str = r"^sg-[0-9a-z]+$";
/// A capacity reservation's id.
pub const CAPACITY_RESERVATION_ID: &str = r"^cr-[0-9a-z]+$";
/// A placement group's id.
pub const PLACEMENT_GROUP_ID: &str = r"^pg-[0-9a-z]+$";
/// An account's number.
pub const OWNER_ID: &str = r"^[0-9]{12}$";
/// An image's id.
pub const AMI_ID: &str = r"^ami-[0-9a-z]+$";
/// `family@version`.
pub const ALIAS: &str = r"^[a-zA-Z0-9]+@.+$";
/// 1Gi to 59000Gi, 1G to 64000G, 1Ti to 58Ti, 1T to 64T, in whole numbers.
pub const VOLUME_SIZE: &str = r"^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$";

/// A pattern and what it asks for, to follow "must".
pub struct Said {
    /// The pattern.
    pub pattern: &'static str,
    /// What it asks for.
    pub must: &'static str,
}

/// All patterns of the schemas.
pub const ALL: &[Said] = &[
    said(QUALIFIED_KEY, "be a name of letters, digits, -, _ and ., perhaps after a lower-case domain and /"),
    said(TAINT_VALUE, "be empty or letters, digits, -, _ and ., with a letter or digit at each end"),
    said(LABEL_VALUE, "be empty or letters, digits, -, _ and ., with a letter or digit at each end"),
    said(GROUP, "be an API group without a version, such as karpenter.k8s.aws"),
    said(DURATION, "be a duration in h, m and s, such as 1h30m"),
    said(DURATION_OR_NEVER, "be a duration in h, m and s, such as 1h30m, or Never"),
    said(BUDGET_DURATION, "be a duration in h and m, such as 1h30m"),
    said(COUNT_OR_PERCENT, "be a number of nodes, or a percentage up to 100%"),
    said(SCHEDULE, "be a cron line of five fields, or a macro such as @daily"),
    said(QUANTITY, "be a quantity, such as 500m, 4 or 16Gi"),
    said(CONDITION_REASON, "be one word"),
    said(SUBNET_ID, "be a subnet's id, such as subnet-0a1b2c3d"),
    said(SECURITY_GROUP_ID, "be a security group's id, such as sg-0a1b2c3d"),
    said(CAPACITY_RESERVATION_ID, "be a capacity reservation's id, such as cr-0a1b2c3d"),
    said(PLACEMENT_GROUP_ID, "be a placement group's id, such as pg-0a1b2c3d"),
    said(OWNER_ID, "be an account's number of 12 digits"),
    said(AMI_ID, "be an image's id, such as ami-0a1b2c3d"),
    said(ALIAS, "be family@version, such as al2023@latest"),
    said(VOLUME_SIZE, "be a whole number of Gi (1 to 59000), G (1 to 64000), Ti (1 to 58) or T (1 to 64)"),
];

const fn said(pattern: &'static str, must: &'static str) -> Said {
    Said { pattern, must }
}
