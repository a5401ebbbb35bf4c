//! Bearer tokens; those of EKS are signed requests to STS that the cluster makes in our place.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::error::{Cause, ClusterError};

/// For how long the API server takes a token: 15 minutes, less a minute to spare.
const LIFETIME: SignedDuration = SignedDuration::from_mins(14);
/// For how long the signed request itself is good; the API server makes it at once.
const REQUEST_LIFETIME: Duration = Duration::from_secs(60);

/// AWS credentials.
#[derive(Clone, Eq, PartialEq)]
pub struct Credentials {
    /// The access key's id.
    pub access_key_id: String,
    /// The access key.
    pub secret_access_key: String,
    /// The session's token, of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// Where tokens come from.
#[derive(Clone)]
pub struct Tokens(Source);

#[derive(Clone)]
enum Source {
    Fixed(String),
    Eks(Arc<Eks>),
}

type AskCredentials = Box<dyn Fn() -> BoxFuture<'static, Result<Credentials, Cause>> + Send + Sync>;

struct Eks {
    cluster: String,
    region: String,
    credentials: AskCredentials,
    /// The last token, and when it was made.
    made: Mutex<Option<(String, Timestamp)>>,
}

impl Tokens {
    /// Always the same token.
    pub fn fixed(token: impl Into<String>) -> Self {
        Self(Source::Fixed(token.into()))
    }

    /// Tokens of the EKS cluster `cluster`, signed with what `credentials` gives each time.
    pub fn eks(
        cluster: &str,
        region: &str,
        credentials: impl Fn() -> BoxFuture<'static, Result<Credentials, Cause>> + Send + Sync + 'static,
    ) -> Self {
        Self(Source::Eks(Arc::new(Eks {
            cluster: cluster.to_owned(),
            region: region.to_owned(),
            credentials: Box::new(credentials),
            made: Mutex::new(None),
        })))
    }

    /// A token that is good at `now`, and for a minute longer.
    pub(crate) async fn token(&self, now: Timestamp) -> Result<String, ClusterError> {
        let eks = match &self.0 {
            Source::Fixed(token) => return Ok(token.clone()),
            Source::Eks(eks) => eks,
        };
        let mut made = eks.made.lock().await;
        if let Some((token, at)) = made.as_ref()
            && now.duration_since(*at) < LIFETIME
        {
            return Ok(token.clone());
        }
        let failed = |source: Cause| ClusterError::Token { cluster: eks.cluster.clone(), source };
        let credentials = (eks.credentials)().await.map_err(failed)?;
        let url = presign(&eks.cluster, &eks.region, &credentials, now).map_err(failed)?;
        let token = format!("k8s-aws-v1.{}", BASE64_URL_SAFE_NO_PAD.encode(url));
        *made = Some((token.clone(), now));
        Ok(token)
    }

    /// Forgets the last token: the server did not take it.
    pub(crate) async fn forget(&self) {
        if let Source::Eks(eks) = &self.0 {
            *eks.made.lock().await = None;
        }
    }
}

/// The endpoint of STS in a Region.
fn sts(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://sts.{region}.{suffix}")
}

/// A GetCallerIdentity request for one cluster, signed in its query.
fn presign(cluster: &str, region: &str, credentials: &Credentials, now: Timestamp) -> Result<String, Cause> {
    let url = format!("{}/?Action=GetCallerIdentity&Version=2011-06-15", sts(region));
    let identity = aws_credential_types::Credentials::new(
        &credentials.access_key_id,
        &credentials.secret_access_key,
        credentials.session_token.clone(),
        None,
        "journeyman",
    )
    .into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(REQUEST_LIFETIME);
    let parameters: SigningParams<'_> = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("sts")
        .time(SystemTime::from(now))
        .settings(settings)
        .build()?
        .into();
    let headers = [("x-k8s-aws-id", cluster)].into_iter();
    let request = SignableRequest::new("GET", url.as_str(), headers, SignableBody::Bytes(&[]))?;
    let (instructions, _) = sign(request, &parameters)?.into_parts();
    let mut signed = http::Request::get(url.as_str()).body(())?;
    instructions.apply_to_request_http1x(&mut signed);
    Ok(signed.uri().to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn credentials(session: Option<&str>) -> Credentials {
        Credentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: session.map(str::to_owned),
        }
    }

    #[test]
    fn a_request_for_one_cluster_at_one_time_is_always_the_same() {
        let url = |session, cluster| {
            let now = at("2026-06-01T12:00:00Z");
            presign(cluster, "eu-west-1", &credentials(session), now)
        };
        // The signatures are those of an implementation that shares nothing with this one.
        let table = [
            (None, "21bca600d1752187794233cbcfe9778c352105ced22b02e61e33534d9813f920"),
            (Some("session/token+="), "49bd2850ee9823eb9e2101139f3527d91c24c606857925f249e93a52806f27f2"),
        ];
        for (session, signature) in table {
            let url = url(session, "blue").unwrap();
            let (start, query) = url.split_once("/?").unwrap();
            assert_eq!(start, "https://sts.eu-west-1.amazonaws.com");
            let mut parts: Vec<&str> = query.split('&').collect();
            parts.sort_unstable();
            let signed = format!("X-Amz-Signature={signature}");
            let mut wanted = vec![
                "Action=GetCallerIdentity",
                "Version=2011-06-15",
                "X-Amz-Algorithm=AWS4-HMAC-SHA256",
                "X-Amz-Credential=AKIDEXAMPLE%2F20260601%2Feu-west-1%2Fsts%2Faws4_request",
                "X-Amz-Date=20260601T120000Z",
                "X-Amz-Expires=60",
                &signed,
                "X-Amz-SignedHeaders=host%3Bx-k8s-aws-id",
            ];
            wanted.extend(session.map(|_| "X-Amz-Security-Token=session%2Ftoken%2B%3D"));
            wanted.sort_unstable();
            assert_eq!(parts, wanted);
        }
        assert_ne!(url(None, "blue").unwrap(), url(None, "green").unwrap());
    }

    #[tokio::test]
    async fn a_token_is_kept_for_fourteen_minutes() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let tokens = Tokens::eks("blue", "eu-west-1", || {
            ASKED.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Ok(credentials(None)) })
        });
        let mut seen = Vec::new();
        for now in ["12:00:00", "12:13:59", "12:14:00", "12:20:00", "12:28:00"] {
            seen.push(tokens.token(at(&format!("2026-06-01T{now}Z"))).await.unwrap());
        }
        let same: Vec<bool> = seen.windows(2).map(|pair| pair[0] == pair[1]).collect();
        assert_eq!(same, [true, false, true, false]);
        assert_eq!(ASKED.load(Ordering::Relaxed), 3);
        let url = BASE64_URL_SAFE_NO_PAD.decode(seen[0].strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
        assert!(String::from_utf8(url).unwrap().starts_with("https://sts.eu-west-1.amazonaws.com/?Action="));
    }

    #[tokio::test]
    async fn without_credentials_there_is_no_token() {
        let tokens = Tokens::eks("blue", "eu-west-1", || {
            Box::pin(async { Err("no credentials in the environment".into()) })
        });
        let error = tokens.token(at("2026-06-01T12:00:00Z")).await.unwrap_err();
        assert_eq!(error.to_string(), "signing a token for cluster blue");
        assert!(error.is_transient());
    }

    #[test]
    fn regions_have_their_own_endpoints() {
        for (region, endpoint) in [
            ("eu-west-1", "https://sts.eu-west-1.amazonaws.com"),
            ("us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com"),
            ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn"),
        ] {
            assert_eq!(sts(region), endpoint);
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let shown = format!("{:?}", credentials(Some("session")));
        assert!(!shown.contains("wJalr") && !shown.contains("session\""), "{shown}");
    }
}
