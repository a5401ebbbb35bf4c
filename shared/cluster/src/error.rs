//! Why the API server could not be asked, or what it answered instead.

use miette::Diagnostic;
use thiserror::Error;

/// A cause of whatever kind.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why something of the API server isn't known, or wasn't done.
#[derive(Debug, Error, Diagnostic)]
pub enum ClusterError {
    /// The kubeconfig can't be read.
    #[error("reading the kubeconfig")]
    #[diagnostic(code(cluster::kubeconfig), help("check the path, the context's name and $KUBECONFIG"))]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// The kubeconfig's user is known by what isn't there.
    #[error("the kubeconfig's user has no token")]
    #[diagnostic(
        code(cluster::plugin),
        help(
            "a function needs no kubeconfig: leave it out; for a trial, use a user with a token, or `journeyman run`"
        )
    )]
    Plugin,
    /// The endpoint or its certificate authority can't be used.
    #[error("{0}")]
    #[diagnostic(
        code(cluster::endpoint),
        help("endpoint and certificate authority are what `aws eks describe-cluster` prints")
    )]
    Endpoint(String),
    /// The transport can't be set up.
    #[error("setting up the connection to {server}")]
    #[diagnostic(code(cluster::connection))]
    Connection {
        /// The server.
        server: String,
        /// Why.
        #[source]
        source: Cause,
    },
    /// No token can be made.
    #[error("signing a token for cluster {cluster}")]
    #[diagnostic(code(cluster::token), help("are there AWS credentials in the environment?"))]
    Token {
        /// The cluster.
        cluster: String,
        /// Why.
        #[source]
        source: Cause,
    },
    /// The server refused.
    #[error("{what}: {message} (HTTP {status})")]
    #[diagnostic(code(cluster::answer), help("{}", help_for(*status)))]
    Answer {
        /// What was being done.
        what: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// The server did not answer.
    #[error("{what}: no answer")]
    #[diagnostic(code(cluster::transport), help("can the endpoint be reached from here?"))]
    Transport {
        /// What was being done.
        what: String,
        /// Why.
        #[source]
        source: Cause,
    },
    /// The server did not answer in time.
    #[error("{what}: no answer within {seconds} s")]
    #[diagnostic(code(cluster::timeout), help("can the endpoint be reached from here?"))]
    Timeout {
        /// What was being done.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The answer does not read as what was asked for.
    #[error("{what}: the answer can't be read: {message}")]
    #[diagnostic(code(cluster::unreadable))]
    Unreadable {
        /// What was being done.
        what: String,
        /// What is wrong with it.
        message: String,
    },
}

impl ClusterError {
    /// Whether the next try may fare better with nobody's help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Kubeconfig(_)
            | Self::Plugin
            | Self::Endpoint(_)
            | Self::Connection { .. }
            | Self::Unreadable { .. } => false,
            Self::Token { .. } | Self::Transport { .. } | Self::Timeout { .. } => true,
            Self::Answer { status, .. } => matches!(status, 408 | 409 | 410 | 429) || *status >= 500,
        }
    }

    /// The HTTP status the server answered with, if it did.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answer { status, .. } => Some(*status),
            _ => None,
        }
    }
}

fn help_for(status: u16) -> &'static str {
    match status {
        401 => "does an EKS access entry map the function's role to a Kubernetes user?",
        403 => "does the function's Kubernetes role allow this?",
        404 => "are the CRDs applied? `journeyman crds` prints them",
        _ => "the next run tries again",
    }
}

/// Why an effect was not carried out.
#[derive(Debug, Error, Diagnostic)]
pub enum Refused {
    /// Somebody else wrote first, or it is another object by now: see again and decide again.
    #[error("{what}: {message}")]
    #[diagnostic(code(cluster::conflict))]
    Conflict {
        /// What was being done.
        what: String,
        /// The server's words.
        message: String,
    },
    /// A PodDisruptionBudget holds the pod.
    #[error("evicting {pod}: {message}")]
    #[diagnostic(code(cluster::budget))]
    Budget {
        /// The pod.
        pod: String,
        /// The server's words.
        message: String,
    },
    /// The object isn't there.
    #[error("{what}: not found")]
    #[diagnostic(code(cluster::not_found))]
    NotFound {
        /// What was being done.
        what: String,
    },
    /// The server does not accept what was written.
    #[error("{what}: {message}")]
    #[diagnostic(code(cluster::invalid), help("do the CRDs in the cluster match this version?"))]
    Invalid {
        /// What was being done.
        what: String,
        /// The server's words.
        message: String,
    },
    /// The server does not let us.
    #[error("{what}: {message}")]
    #[diagnostic(code(cluster::forbidden), help("does the function's Kubernetes role allow this?"))]
    Forbidden {
        /// What was being done.
        what: String,
        /// The server's words.
        message: String,
    },
    /// The effect is not one on the API server.
    #[error("not an effect on the API server")]
    #[diagnostic(code(cluster::not_mine))]
    NotMine,
    /// It could not be asked, or did not answer as it should.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Failed(#[from] ClusterError),
}

impl Refused {
    /// Whether trying later, after another look, may fare better with nobody's help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Budget { .. } => true,
            Self::NotFound { .. } | Self::Invalid { .. } | Self::Forbidden { .. } | Self::NotMine => false,
            Self::Failed(error) => error.is_transient(),
        }
    }
}
