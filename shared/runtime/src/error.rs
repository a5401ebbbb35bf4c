//! Why a run didn't get to its end. The message or the schedule that started it comes again.

use crate::config::ConfigError;

/// What went wrong, with what it is about in front.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RunError {
    /// The environment, or a message that names a cluster that isn't ours.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    /// The API server.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Cluster(#[from] cluster::ClusterError),
    /// AWS.
    #[error("asking AWS")]
    #[diagnostic(code(runtime::cloud))]
    Cloud(
        #[from]
        #[diagnostic_source]
        cloud::CloudError,
    ),
    /// The objects of the cluster.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Lower(#[from] api::lower::LowerError),
    /// The catalogue.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalogue(#[from] catalog::CatalogError),
    /// A record.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Record(#[from] api::record::RecordError),
    /// Changes that were refused and are worth trying again.
    #[error("{count} changes were refused, the first: {first}")]
    #[diagnostic(code(runtime::refused), help("they are tried again with the next message"))]
    Refused {
        /// How many.
        count: usize,
        /// The first.
        first: String,
    },
    /// The judge found fault with a decision: it was not carried out.
    #[error("the plan breaks a rule and is not carried out: {first}")]
    #[diagnostic(
        code(runtime::audit),
        help("this is a fault of the planner: please report it with the decision record")
    )]
    Objections {
        /// The first objection.
        first: String,
    },
}
