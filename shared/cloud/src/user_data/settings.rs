//! What Bottlerocket's `settings.kubernetes` hold, as far as it is known.

use toml::Value;

use super::UserDataError;

/// What a setting holds.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Number,
    Switch,
    /// A text, or a list of them.
    Texts,
    /// A number, or a text of one.
    Percent,
    List,
    Table,
    /// A table of texts.
    TextTable,
    /// A table of texts or lists of them.
    TextsTable,
}

/// Settings and their forms. One that isn't here is passed on: Bottlerocket learns new ones.
const FORMS: [(&str, Form); 61] = [
    ("allowed-unsafe-sysctls", Form::List),
    ("api-server", Form::Text),
    ("authentication-mode", Form::Text),
    ("bootstrap-token", Form::Text),
    ("cloud-provider", Form::Text),
    ("cluster-certificate", Form::Text),
    ("cluster-dns-ip", Form::Texts),
    ("cluster-domain", Form::Text),
    ("cluster-name", Form::Text),
    ("container-log-max-files", Form::Number),
    ("container-log-max-size", Form::Text),
    ("container-log-max-workers", Form::Number),
    ("container-log-monitor-interval", Form::Text),
    ("cpu-cfs-quota-enforced", Form::Switch),
    ("cpu-manager-policy", Form::Text),
    ("cpu-manager-policy-options", Form::List),
    ("cpu-manager-reconcile-period", Form::Text),
    ("credential-providers", Form::Table),
    ("device-ownership-from-security-context", Form::Switch),
    ("event-burst", Form::Number),
    ("event-qps", Form::Number),
    ("eviction-hard", Form::TextTable),
    ("eviction-max-pod-grace-period", Form::Number),
    ("eviction-soft", Form::TextTable),
    ("eviction-soft-grace-period", Form::TextTable),
    ("hostname-override", Form::Text),
    ("hostname-override-source", Form::Text),
    ("ids-per-pod", Form::Number),
    ("image-gc-high-threshold-percent", Form::Percent),
    ("image-gc-low-threshold-percent", Form::Percent),
    ("kube-api-burst", Form::Number),
    ("kube-api-qps", Form::Number),
    ("kube-reserved", Form::TextTable),
    ("log-level", Form::Number),
    ("max-pods", Form::Number),
    ("memory-manager-policy", Form::Text),
    ("memory-manager-reserved-memory", Form::Table),
    ("memory-swap-behavior", Form::Text),
    ("node-ip", Form::Text),
    ("node-labels", Form::TextTable),
    ("node-taints", Form::TextsTable),
    ("pod-infra-container-image", Form::Text),
    ("pod-pids-limit", Form::Number),
    ("provider-id", Form::Text),
    ("registry-burst", Form::Number),
    ("registry-qps", Form::Number),
    ("reserved-cpus", Form::Text),
    ("seccomp-default", Form::Switch),
    ("server-certificate", Form::Text),
    ("server-key", Form::Text),
    ("server-tls-bootstrap", Form::Switch),
    ("shutdown-grace-period", Form::Text),
    ("shutdown-grace-period-for-critical-pods", Form::Text),
    ("single-process-oom-kill", Form::Switch),
    ("standalone-mode", Form::Switch),
    ("static-pods", Form::Table),
    ("static-pods-enabled", Form::Switch),
    ("system-reserved", Form::TextTable),
    ("topology-manager-policy", Form::Text),
    ("topology-manager-policy-options", Form::Table),
    ("topology-manager-scope", Form::Text),
];

/// Whether it is one of those that are known here.
pub(super) fn is_known(name: &str) -> bool {
    FORMS.iter().any(|(known, _)| *known == name)
}

/// Refuses a setting of another form than its own.
pub(super) fn check(name: &str, value: &Value) -> Result<(), UserDataError> {
    let Some((_, form)) = FORMS.iter().find(|(known, _)| *known == name) else { return Ok(()) };
    let text = |value: &Value| value.is_str();
    let texts =
        |value: &Value| value.is_str() || value.as_array().is_some_and(|list| list.iter().all(Value::is_str));
    let all = |value: &Value, fits: fn(&Value) -> bool| {
        value.as_table().is_some_and(|table| table.values().all(fits))
    };
    let (fits, wanted) = match form {
        Form::Text => (text(value), "a text"),
        Form::Number => (value.is_integer(), "a whole number"),
        Form::Switch => (value.is_bool(), "true or false"),
        Form::Texts => (texts(value), "a text or a list of texts"),
        Form::Percent => (
            value.is_integer() || value.as_str().is_some_and(|text| text.parse::<u8>().is_ok()),
            "a percentage, such as \"85\"",
        ),
        Form::List => {
            (value.as_array().is_some_and(|list| list.iter().all(Value::is_str)), "a list of texts")
        }
        Form::Table => (value.is_table(), "a table"),
        Form::TextTable => (all(value, Value::is_str), "a table of texts"),
        Form::TextsTable => (all(value, texts), "a table of lists of texts"),
    };
    if fits {
        return Ok(());
    }
    Err(UserDataError::Setting {
        path: format!("settings.kubernetes.{name}"),
        wanted,
        found: describe(value),
    })
}

/// What a value is, in the words of errors.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table of other values",
    }
}
