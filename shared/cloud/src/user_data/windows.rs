//! Windows: a PowerShell block that EC2Launch runs.

use super::kubelet::Kubelet;
use super::{Bootstrap, UserData, UserDataError};

const TAGS: [&str; 2] = ["<powershell>", "</powershell>"];

pub(super) fn render(bootstrap: &Bootstrap) -> Result<UserData, UserDataError> {
    let cluster = &bootstrap.cluster;
    cluster.check()?;
    let kubelet = Kubelet::read_managed(&bootstrap.kubelet)?;
    let mut text = "<powershell>\n".to_owned();
    if let Some(own) = bootstrap.own() {
        check(own)?;
        text += own;
        if !own.ends_with('\n') {
            text.push('\n');
        }
    }
    text += "[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n";
    text += "& $EKSBootstrapScriptFile";
    let mut argument = |name: &str, value: &str| text += &format!(" -{name} '{}'", value.replace('\'', "''"));
    argument("EKSClusterName", &cluster.name);
    argument("APIServerEndpoint", &cluster.endpoint);
    argument("Base64ClusterCA", &cluster.certificate_authority);
    argument("KubeletExtraArgs", &kubelet.arguments(bootstrap)?);
    if let Some(dns) = kubelet.dns(bootstrap) {
        argument("DNSClusterIP", &dns.to_string());
    }
    text += "\n</powershell>";
    Ok(UserData { text, notes: vec![] })
}

/// EC2Launch looks for its tags by text alone, wherever they stand.
fn check(own: &str) -> Result<(), UserDataError> {
    for (number, line) in own.lines().enumerate() {
        let line = line.to_ascii_lowercase();
        if let Some(tag) = TAGS.into_iter().find(|tag| line.contains(tag)) {
            return Err(UserDataError::PowerShell { line: number + 1, tag });
        }
    }
    Ok(())
}
