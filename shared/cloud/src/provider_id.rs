//! How Nodes name their machines: `aws:///us-east-1a/i-0123456789abcdef0`.

/// The provider id of an instance.
pub fn provider_id(zone: &str, instance: &str) -> String {
    format!("aws:///{zone}/{instance}")
}

/// The instance's id in a provider id.
pub fn instance_id(provider_id: &str) -> Option<&str> {
    let (_, path) = provider_id.split_once(":///")?;
    let (zone, id) = path.split_once('/')?;
    let plain = |text: &str| !text.is_empty() && !text.contains('/');
    (plain(zone) && plain(id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_and_write() {
        for (text, id) in [
            ("aws:///us-east-1a/i-1", Some("i-1")),
            ("fleet:///us-east-1a/i-1", Some("i-1")),
            ("aws://us-east-1a/i-1", None),
            ("aws:///i-1", None),
            ("aws:////i-1", None),
            ("aws:///us-east-1a/", None),
            ("aws:///us-east-1a/i-1/x", None),
            ("i-1", None),
        ] {
            assert_eq!(instance_id(text), id, "{text}");
        }
        assert_eq!(instance_id(&provider_id("us-east-1a", "i-1")), Some("i-1"));
    }
}
