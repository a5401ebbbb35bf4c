//! EC2's filters.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::Filter;

/// EC2 takes no more values in one filter.
pub(crate) const VALUES_A_FILTER: usize = 200;

/// Any of these values.
pub(crate) fn filter<'a>(name: &str, values: impl IntoIterator<Item = &'a str>) -> Filter {
    let values = values.into_iter().map(str::to_owned).collect();
    Filter::builder().name(name).set_values(Some(values)).build()
}

/// All of these tags; the value * stands for any.
pub(crate) fn tag_filters(tags: &BTreeMap<String, String>) -> Vec<Filter> {
    let each = tags.iter().map(|(key, value)| match value.as_str() {
        "*" => filter("tag-key", [key.as_str()]),
        value => filter(&format!("tag:{key}"), [value]),
    });
    each.collect()
}
