//! For tests of a run as a whole: AWS and an API server that are functions, so that nothing leaves the process.

use std::collections::BTreeMap;
use std::fmt;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use cloud::Cloud;
use cloud::eks::EksFacts;
use cloud::user_data::EksCluster;
use cluster::{Cause, Cluster};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::config::Config;
use crate::hints::{Hint, Hints};
use crate::metrics::Metrics;
use crate::world::{Site, World};

/// AWS: from an operation to a status and an answer.
struct Aws<F>(F);

impl<F> fmt::Debug for Aws<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aws")
    }
}

impl<F: Fn(&str) -> (u16, String) + Send + Sync> HttpConnector for Aws<F> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let target = request.headers().get("x-amz-target").map(str::to_owned);
        let operation = match (&target, body.strip_prefix("Action=")) {
            (Some(target), _) => target.rsplit('.').next().unwrap_or_default().to_owned(),
            (None, Some(rest)) => rest.split('&').next().unwrap_or_default().to_owned(),
            (None, None) => request.uri().to_owned(),
        };
        let (status, answer) = (self.0)(&operation);
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(answer))))
    }
}

/// What EC2 answers where all is well.
pub(crate) fn xml(operation: &str, inside: &str) -> (u16, String) {
    (200, format!("<{operation}Response>{inside}</{operation}Response>"))
}

/// What EC2 answers to those who may not ask.
pub(crate) fn denied() -> (u16, String) {
    let code = "UnauthorizedOperation";
    (403, format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>"))
}

/// An API server: from a request's method, path and body to a status and an object.
pub(crate) fn cluster(
    answer: impl Fn(&Method, &str, &[u8]) -> (u16, Value) + Clone + Send + Sync + 'static,
) -> Cluster {
    Cluster::over(tower::service_fn(move |request: Request<Body>| {
        let answer = answer.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let (status, answer) = answer(&parts.method, parts.uri.path(), &body);
            let response = Response::builder().status(status);
            Ok::<_, Cause>(response.body(Full::new(Bytes::from(answer.to_string())))?)
        }
    }))
}

/// A world that has the cluster `prod`, and the hints that it gives.
pub(crate) fn world(
    aws: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
    cluster: Cluster,
    variables: &[(&str, &str)],
) -> (World, UnboundedReceiver<Hint>) {
    let connector = SharedHttpConnector::new(Aws(aws));
    let credentials = Credentials::new("x", "x", None, None, "test");
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http_client_fn(move |_, _| connector.clone()))
        .build();
    let eks = EksFacts {
        cluster: EksCluster {
            name: "prod".into(),
            endpoint: "https://prod".into(),
            certificate_authority: "authority".into(),
            service_cidr: Some("10.100.0.0/16".into()),
            dns: None,
            ip_family: cloud::user_data::IpFamily::Ipv4,
        },
        kubernetes: "1.35".into(),
    };
    let usual = [("AWS_REGION", "us-east-1"), ("JOURNEYMAN_CLUSTERS", "prod")];
    let environment = |name: &str| {
        let mut all = usual.iter().chain(variables);
        all.find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let (sender, hints) = unbounded_channel();
    let world = World {
        config: Config::from_vars(environment).unwrap(),
        cloud: Cloud::with_config("us-east-1", config),
        hints: Hints::local(sender),
        metrics: Metrics::default(),
        sites: BTreeMap::from([("prod".to_owned(), Site::new(cluster, eks))]),
        catalogue: None,
        plugins: None,
    };
    (world, hints)
}

/// Waits for what needs no other thread.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// An API server that has these objects, each under its path, and takes every write without doing it.
pub(crate) fn holding(objects: &[(&str, Value)]) -> Cluster {
    let objects: BTreeMap<String, Value> =
        objects.iter().map(|(path, object)| ((*path).to_owned(), object.clone())).collect();
    cluster(move |method, path, _| {
        if let Some(object) = objects.get(path) {
            return (200, object.clone());
        }
        if *method != Method::GET {
            return (200, json!({"metadata": {"name": "written", "resourceVersion": "6"}}));
        }
        let within = |known: &str| known.rsplit_once('/').is_some_and(|(parent, _)| parent == path);
        let items: Vec<&Value> =
            objects.iter().filter(|(known, _)| within(known)).map(|(_, object)| object).collect();
        (200, json!({"metadata": {"resourceVersion": "5"}, "items": items}))
    })
}

/// A NodeClaim of the pool and class `default`; `status` is as the API server has it.
pub(crate) fn node_claim(name: &str, requirements: Value, status: Value) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {
            "name": name, "uid": format!("uid-{name}"), "resourceVersion": "5", "generation": 1,
            "creationTimestamp": jiff::Timestamp::now(), "finalizers": ["karpenter.sh/termination"],
            "labels": {"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot"},
        },
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": requirements,
        },
        "status": status,
    })
}

/// The EC2NodeClass `default`, without conditions.
pub(crate) fn node_class() -> Value {
    json!({
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
        "metadata": {"name": "default", "uid": "uid-class", "resourceVersion": "5", "generation": 1},
        "spec": {
            "amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-1"}],
            "subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}],
            "instanceProfile": "mine",
        },
        "status": {
            "subnets": [{"id": "subnet-1", "zone": "us-east-1a", "zoneID": "use1-az6"}],
            "securityGroups": [{"id": "sg-1"}], "instanceProfile": "mine",
            "amis": [{"id": "ami-1", "name": "image", "requirements": [
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}],
        },
    })
}
