//! What can go wrong between us and AWS.

/// Why AWS's answer isn't there, or can't be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CloudError {
    /// An operation failed.
    #[error("{operation}: {message}")]
    #[diagnostic(
        code(cloud::request),
        help(
            "check the credentials, the Region and, with an endpoint of your own, that it serves this operation"
        )
    )]
    Request {
        /// The EC2 operation.
        operation: &'static str,
        /// What the SDK says about it, causes included.
        message: String,
    },
    /// The answer is well-formed and of no use.
    #[error("{operation} returned nothing for {region}")]
    #[diagnostic(code(cloud::empty), help("check the Region's name"))]
    Empty {
        /// The EC2 operation.
        operation: &'static str,
        /// The Region asked.
        region: String,
    },
    /// The file of published facts does not read as one.
    #[error("reading the published prices")]
    #[diagnostic(code(cloud::published), help("make the file with `go run .` in tests/generators/prices"))]
    Published(#[source] serde_json::Error),
    /// A price in it is not one.
    #[error("reading the price of {name}")]
    #[diagnostic(code(cloud::price), help("make the file with `go run .` in tests/generators/prices"))]
    Price {
        /// The instance type.
        name: String,
        /// What is wrong with the price.
        #[source]
        cause: model::money::MoneyError,
    },
    /// The prices are those of another Region.
    #[error("the prices are of {found}, the instance types of {wanted}")]
    #[diagnostic(code(cloud::region), help("refresh the Region that the prices are of"))]
    Region {
        /// The Region of the file.
        found: String,
        /// The Region asked.
        wanted: String,
    },
    /// The asynchronous runtime didn't start.
    #[error("starting the runtime")]
    #[diagnostic(code(cloud::runtime))]
    Runtime(#[source] std::io::Error),
}
