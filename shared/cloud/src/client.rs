//! The clients of all services, made once a process.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_types::error::display::DisplayErrorContext;

use crate::CloudError;

/// How often a call is made before it counts as failed.
const ATTEMPTS: u32 = 4;

/// AWS in one Region. Cloning it is not needed: share a reference.
///
/// Credentials are found as every AWS tool finds them. `AWS_ENDPOINT_URL`, and `AWS_ENDPOINT_URL_EC2`, `_SSM`, `_IAM`,
/// `_S3`, `_EKS`, `_SQS`, `_DYNAMODB`, `_EVENTBRIDGE` and `_PRICING` before it, name other endpoints than AWS's own.
#[derive(Debug)]
pub struct Cloud {
    region: String,
    /// Credentials, TLS and retries: for clients of services that this crate does not call.
    config: SdkConfig,
    pub(crate) ec2: aws_sdk_ec2::Client,
    pub(crate) eks: aws_sdk_eks::Client,
    pub(crate) ssm: aws_sdk_ssm::Client,
    pub(crate) iam: aws_sdk_iam::Client,
    pub(crate) pricing: aws_sdk_pricing::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) events: aws_sdk_eventbridge::Client,
    /// Launch templates that were there a while ago.
    templates: Mutex<BTreeSet<String>>,
}

impl Cloud {
    /// Clients by what the environment says.
    pub async fn from_env(region: &str) -> Self {
        Self::at(region, None).await
    }

    /// The same with one endpoint for all services, whatever the environment says.
    pub async fn at(region: &str, endpoint_url: Option<String>) -> Self {
        let tls = Provider::Rustls(CryptoMode::Ring);
        let http = aws_smithy_http_client::Builder::new().tls_provider(tls).build_https();
        let loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .region(Region::new(region.to_owned()));
        let loader = match endpoint_url {
            Some(url) => loader.endpoint_url(url),
            None => loader,
        };
        Self::with_config(region, loader.load().await)
    }

    /// Clients of a configuration that is there already.
    pub fn with_config(region: &str, config: SdkConfig) -> Self {
        // Emulators are reached by an address, of which a bucket's name can't be a part.
        let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(true).build();
        let prices = Region::new(crate::prices::pricing_region(region).unwrap_or(region).to_owned());
        let pricing = aws_sdk_pricing::config::Builder::from(&config).region(prices).build();
        Self {
            region: region.to_owned(),
            ec2: aws_sdk_ec2::Client::new(&config),
            eks: aws_sdk_eks::Client::new(&config),
            ssm: aws_sdk_ssm::Client::new(&config),
            iam: aws_sdk_iam::Client::new(&config),
            pricing: aws_sdk_pricing::Client::from_conf(pricing),
            s3: aws_sdk_s3::Client::from_conf(s3),
            sqs: aws_sdk_sqs::Client::new(&config),
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            events: aws_sdk_eventbridge::Client::new(&config),
            templates: Mutex::default(),
            config,
        }
    }

    /// The Region.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Credentials, TLS and retries: for clients of services that this crate does not call.
    pub fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// Credentials, for what is signed outside of the SDK.
    pub fn credentials(&self) -> CredentialSource {
        CredentialSource(self.config.credentials_provider())
    }

    pub(crate) fn known_templates(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.templates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where credentials come from; they are asked for each time, since they run out.
#[derive(Clone, Debug)]
pub struct CredentialSource(Option<SharedCredentialsProvider>);

impl CredentialSource {
    /// Key id, key, and the token of a session.
    pub async fn get(&self) -> Result<(String, String, Option<String>), CredentialsError> {
        let provider = self.0.as_ref().ok_or_else(|| CredentialsError::not_loaded("none are configured"))?;
        let found = provider.provide_credentials().await?;
        let token = found.session_token().map(str::to_owned);
        Ok((found.access_key_id().to_owned(), found.secret_access_key().to_owned(), token))
    }
}

/// Asks for ids together, and where EC2 refuses that because it doesn't know one of them, for each alone. Gives the
/// answers, and the ids that it doesn't know.
pub(crate) async fn each_known<T>(
    ids: &[String],
    ask: impl AsyncFn(&[String]) -> Result<T, CloudError>,
) -> Result<(Vec<T>, Vec<String>), CloudError> {
    let (mut answers, mut unknown) = (Vec::new(), Vec::new());
    let mut sort = |outcome: Result<T, CloudError>, some: &[String]| {
        match outcome {
            Ok(answer) => answers.push(answer),
            Err(error) if error.is_not_found() => unknown.extend_from_slice(some),
            Err(error) => return Err(error),
        }
        Ok(())
    };
    match ask(ids).await {
        Err(error) if error.is_not_found() && ids.len() > 1 => {
            for id in ids.chunks(1) {
                sort(ask(id).await, id)?;
            }
        }
        outcome => sort(outcome, ids)?,
    }
    Ok((answers, unknown))
}

/// What the SDK says went wrong with `operation`.
pub(crate) fn failed<E>(operation: &'static str) -> impl Fn(SdkError<E>) -> CloudError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    move |error| {
        let code = error.code().unwrap_or_default().to_owned();
        let message = match error.message() {
            Some(message) if !code.is_empty() => format!("{code}: {message}"),
            _ => DisplayErrorContext(&error).to_string(),
        };
        CloudError::Request { operation, code, message }
    }
}
