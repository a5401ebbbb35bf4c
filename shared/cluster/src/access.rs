//! The way to an API server: a kubeconfig, or an endpoint with its certificate authority and tokens.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client as Transport;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret;
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt};
use tower_http::decompression::DecompressionLayer;

use crate::error::{Cause, ClusterError};
use crate::tokens::Tokens;
use crate::traffic::{Counted, Counter};

/// How long a TCP connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// A connection that was not used for so long is not used again: while a Lambda sandbox was frozen the other side
/// may have gone.
const STALE: Duration = Duration::from_secs(8);

/// The way to an API server.
#[derive(Clone)]
pub enum Access {
    /// As kubectl has it.
    Kubeconfig {
        /// The file; without, those of `$KUBECONFIG`, or `~/.kube/config`.
        path: Option<PathBuf>,
        /// The context; without, the current one.
        context: Option<String>,
        /// How its user is known, if not only by a token.
        plugins: Option<Plugins>,
    },
    /// As `eks:DescribeCluster` tells it.
    Endpoint {
        /// The URL.
        endpoint: String,
        /// The certificate authority, PEM or base64 of it. No other is trusted.
        ca: String,
        /// Where tokens come from.
        tokens: Tokens,
    },
}

/// The ways in which kubectl makes a user known: certificates, exec plugins, identity providers, passwords. A function in
/// Lambda has no use for them, and isn't linked with what they take.
#[derive(Clone, Copy, Debug)]
pub struct Plugins {
    tls: fn(&Config) -> kube::Result<ClientConfig>,
    identified: fn(&Config, Http) -> kube::Result<Http>,
}

/// What sends requests.
type Http = BoxCloneService<Request<Body>, Response<UnsyncBoxBody<Bytes, Cause>>, Cause>;

impl Plugins {
    /// All of them.
    pub fn of_kubectl() -> Self {
        Self {
            tls: |config| config.rustls_client_config(),
            identified: |config, http| {
                Ok(match config.auth_layer()? {
                    Some(layer) => layer.layer(http).boxed_clone(),
                    None => http,
                })
            },
        }
    }
}

/// A client, and the tokens it is to be given.
pub(crate) async fn client(
    access: Access,
    counter: Arc<Counter>,
) -> Result<(Client, Option<Tokens>), ClusterError> {
    // The process may have other TLS users: whoever comes first decides, and all of ours use ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (config, tokens, plugins) = match access {
        Access::Kubeconfig { path, context, plugins } => {
            let config = kubeconfig(path, context).await?;
            let tokens = if plugins.is_none() { Some(token(&config)?) } else { None };
            (config, tokens, plugins)
        }
        Access::Endpoint { endpoint, ca, tokens } => (endpoint_config(&endpoint, &ca)?, Some(tokens), None),
    };
    let server = config.cluster_url.to_string();
    let client =
        over(&config, plugins, counter).map_err(|source| ClusterError::Connection { server, source })?;
    Ok((client, tokens))
}

/// The token of a kubeconfig's user.
fn token(config: &Config) -> Result<Tokens, ClusterError> {
    let token = config.auth_info.token.as_ref().ok_or(ClusterError::Plugin)?;
    Ok(Tokens::fixed(token.expose_secret()))
}

async fn kubeconfig(path: Option<PathBuf>, context: Option<String>) -> Result<Config, ClusterError> {
    let read = match path {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(read.map_err(ClusterError::Kubeconfig)?, &options)
        .await
        .map_err(ClusterError::Kubeconfig)
}

fn endpoint_config(endpoint: &str, ca: &str) -> Result<Config, ClusterError> {
    let bad = |message: String| ClusterError::Endpoint(message);
    let url: http::Uri =
        endpoint.parse().map_err(|error| bad(format!("{endpoint:?} is not an endpoint: {error}")))?;
    let roots = certificates(ca).map_err(bad)?;
    if roots.is_empty() && url.scheme_str() != Some("http") {
        return Err(bad(format!("there is no certificate authority for {endpoint}")));
    }
    let mut config = Config::new(url);
    // Never the machine's own authorities, not even where there is none.
    config.root_cert = Some(roots);
    Ok(config)
}

/// The certificates in a PEM text, or in base64 of one.
fn certificates(ca: &str) -> Result<Vec<Vec<u8>>, String> {
    let ca = ca.trim();
    let decoded;
    let pem = if ca.is_empty() || ca.starts_with("-----BEGIN") {
        ca.as_bytes()
    } else {
        let compact: String = ca.split_whitespace().collect();
        decoded = BASE64_STANDARD
            .decode(compact)
            .map_err(|error| format!("the certificate authority is neither PEM nor base64: {error}"))?;
        &decoded
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates =
        certificates.map_err(|error| format!("the certificate authority can't be read: {error}"))?;
    Ok(certificates.into_iter().map(|certificate| certificate.to_vec()).collect())
}

/// HTTP/2, so that all watches share one connection; compressed, and counted as it comes off the wire.
fn over(config: &Config, plugins: Option<Plugins>, counter: Arc<Counter>) -> Result<Client, Cause> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    let tls = match &plugins {
        Some(plugins) => (plugins.tls)(config)?,
        None => trusting(config)?,
    };
    let mut https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone())?;
        https = https.with_server_name_resolver(hyper_rustls::FixedServerNameResolver::new(name));
    }
    let https = https.enable_all_versions().wrap_connector(tcp);
    let transport: Transport<_, Body> =
        Transport::builder(TokioExecutor::new()).pool_idle_timeout(STALE).build(https);
    let service = Counted::new(transport, counter);
    let service = DecompressionLayer::new().layer(service).map_err(Cause::from);
    let whole =
        |response: Response<_>| response.map(|body| BodyExt::map_err(body, Cause::from).boxed_unsync());
    let service = service.map_response(whole).boxed_clone();
    let service = match plugins {
        Some(plugins) => (plugins.identified)(config, service)?,
        None => service,
    };
    let service = config.extra_headers_layer()?.layer(service);
    let service = config.base_uri_layer().layer(service);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// TLS that trusts the API server's authority, and no other.
fn trusting(config: &Config) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for authority in config.root_cert.iter().flatten() {
        roots.add(CertificateDer::from(authority.as_slice()))?;
    }
    Ok(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A self-signed certificate, made for this test and of no use elsewhere.
    const PEM: &str = include_str!("../tests/data/ca.pem");

    #[test]
    fn authorities_are_read_as_they_come() {
        let encoded = BASE64_STANDARD.encode(PEM);
        let wrapped = encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap());
        let wrapped = wrapped.collect::<Vec<_>>().join("\n");
        for (ca, count) in [(PEM, 1), (&format!("{PEM}\n{PEM}"), 2), (&encoded, 1), (&wrapped, 1), ("", 0)] {
            assert_eq!(certificates(ca).unwrap().len(), count);
        }
        for bad in ["no base64!", "-----BEGIN CERTIFICATE-----\nAAA"] {
            assert!(certificates(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn without_plugins_a_user_is_known_by_a_token() {
        let folder = std::env::temp_dir().join(format!("journeyman-access-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (user, known) in [
            (r#"{"token": "secret"}"#, Ok(true)),
            ("{}", Err(())),
            (r#"{"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws"}}"#, Err(())),
            (r#"{"username": "me", "password": "secret"}"#, Err(())),
        ] {
            let path = folder.join("config");
            let text = format!(
                r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{{"name": "c", "cluster": {{"server": "http://127.0.0.1:1"}}}}],
                "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}],
                "users": [{{"name": "u", "user": {user}}}]}}"#
            );
            std::fs::write(&path, text).unwrap();
            let access = Access::Kubeconfig { path: Some(path), context: None, plugins: None };
            let found = client(access, Arc::default()).await;
            assert_eq!(found.map(|(_, tokens)| tokens.is_some()).map_err(drop), known, "{user}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn an_endpoint_without_its_own_authority_is_refused() {
        #[rustfmt::skip]
        let table = [
            ("https://k8s.example", PEM, None),
            ("http://127.0.0.1:8080", "", None),
            ("https://k8s.example", "", Some("there is no certificate authority for https://k8s.example")),
            ("not an url", PEM, Some("\"not an url\" is not an endpoint: invalid uri character")),
        ];
        for (endpoint, ca, error) in table {
            let tokens = Tokens::fixed("token");
            let access = Access::Endpoint { endpoint: endpoint.to_owned(), ca: ca.to_owned(), tokens };
            let found = client(access, Arc::default()).await.err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), error, "{endpoint}");
        }
    }
}
