//! AL2: a MIME archive, of which the last part calls the image's own script.

use super::kubelet::Kubelet;
use super::mime::{self, Part};
use super::{Bootstrap, InstanceStorePolicy, IpFamily, UserData, UserDataError, note};

pub(super) fn render(bootstrap: &Bootstrap) -> Result<UserData, UserDataError> {
    bootstrap.cluster.check()?;
    let (mut parts, notes) = match bootstrap.own() {
        None => (vec![], vec![]),
        Some(own) if mime::is_archive(own) => (mime::read(own)?, vec![]),
        Some(own) => script(own),
    };
    parts.push(Part::new(mime::SHELL, command(bootstrap)?));
    Ok(UserData { text: mime::write(&parts), notes })
}

/// A text that is no archive: cloud-init's configuration, or else a script.
pub(super) fn script(own: &str) -> (Vec<Part>, Vec<model::Note>) {
    let own = own.trim_start_matches(['\r', '\n']);
    if own.starts_with("#cloud-config") {
        return (vec![Part::new(mime::CLOUD_CONFIG, own.to_owned())], vec![]);
    }
    let advice =
        "is run as a script, and its first line names no interpreter: begin it with #!, such as #!/bin/bash";
    let notes = if own.starts_with("#!") { vec![] } else { vec![note(advice.to_owned())] };
    (vec![Part::new(mime::SHELL, own.to_owned())], notes)
}

/// The script's arguments are words of their own: it does not know `--name=value`.
fn command(bootstrap: &Bootstrap) -> Result<String, UserDataError> {
    let cluster = &bootstrap.cluster;
    let kubelet = Kubelet::read_managed(&bootstrap.kubelet)?;
    let mut text = "#!/bin/bash -xe\n\
         exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n"
        .to_owned();
    text += &format!(
        "/etc/eks/bootstrap.sh {} --apiserver-endpoint {} --b64-cluster-ca {}",
        quoted(&cluster.name),
        quoted(&cluster.endpoint),
        quoted(&cluster.certificate_authority)
    );
    let mut argument = |name: &str, value: &str| text += &format!(" \\\n--{name} {value}");
    if cluster.ip_family == IpFamily::Ipv6 {
        argument("ip-family", "ipv6");
    }
    if let Some(dns) = kubelet.dns(bootstrap) {
        argument("dns-cluster-ip", &quoted(&dns.to_string()));
    }
    argument("use-max-pods", "false");
    argument("kubelet-extra-args", &quoted(&kubelet.arguments(bootstrap)?));
    if bootstrap.instance_store_policy == Some(InstanceStorePolicy::Raid0) {
        argument("local-disks", "raid0");
    }
    text.push('\n');
    Ok(text)
}

/// One word of the shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
