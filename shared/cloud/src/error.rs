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
        /// The operation.
        operation: &'static str,
        /// The service's code for it; nothing if the service didn't answer.
        code: String,
        /// What the SDK says about it, causes included.
        message: String,
    },
    /// The answer is well-formed and of no use.
    #[error("{operation} returned nothing for {region}")]
    #[diagnostic(code(cloud::empty), help("check the Region's name"))]
    Empty {
        /// The operation.
        operation: &'static str,
        /// The Region asked.
        region: String,
    },
    /// None of the parameters that hold the images of an alias exists.
    #[error("AWS keeps no images of {family} {version} for Kubernetes {kubernetes}")]
    #[diagnostic(code(cloud::no_images), help("name a version that there is, or @latest"))]
    NoImages {
        /// The family of images.
        family: &'static str,
        /// The version asked for.
        version: String,
        /// The Kubernetes version they are to be for.
        kubernetes: String,
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
    /// What is stored is not what we store there.
    #[error("{place} can't be read: {message}")]
    #[diagnostic(code(cloud::stored), help("delete it; it is made again by the next run"))]
    Stored {
        /// Where it lies.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// An answer of the Price List is not one.
    #[error("reading a product of the Price List")]
    #[diagnostic(code(cloud::price_list))]
    PriceList(#[source] serde_json::Error),
    /// The asynchronous runtime didn't start.
    #[error("starting the runtime")]
    #[diagnostic(code(cloud::runtime))]
    Runtime(#[source] std::io::Error),
}

impl CloudError {
    /// The service's code for the error; nothing if the service didn't answer.
    pub fn code(&self) -> &str {
        match self {
            Self::Request { code, .. } => code,
            _ => "",
        }
    }

    /// Whether what was asked for does not exist.
    pub fn is_not_found(&self) -> bool {
        const CODES: [&str; 11] = [
            "InvalidCapacityReservationId.NotFound",
            "InvalidInstanceID.NotFound",
            "InvalidLaunchTemplateId.NotFound",
            "InvalidLaunchTemplateName.NotFoundException",
            "InvalidPlacementGroup.Unknown",
            "AWS.SimpleQueueService.NonExistentQueue",
            "QueueDoesNotExist",
            "NoSuchEntity",
            "NoSuchKey",
            "ParameterNotFound",
            "ResourceNotFoundException",
        ];
        CODES.contains(&self.code())
    }

    /// Whether it was one request too many.
    pub fn is_throttled(&self) -> bool {
        let code = self.code();
        code.contains("Throttl")
            || matches!(code, "RequestLimitExceeded" | "SlowDown" | "TooManyRequestsException")
    }

    /// Whether we are not allowed to.
    pub fn is_denied(&self) -> bool {
        let code = self.code();
        ["UnauthorizedOperation", "AccessDenied", "AuthFailure"].iter().any(|denied| code.starts_with(denied))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_what_happened() {
        for (code, told) in [
            ("InvalidInstanceID.NotFound", [true, false, false]),
            ("ThrottlingException", [false, true, false]),
            ("RequestLimitExceeded", [false, true, false]),
            ("AccessDeniedException", [false, false, true]),
            ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", [false, false, true]),
            ("InternalError", [false; 3]),
            ("", [false; 3]),
        ] {
            let error = CloudError::Request { operation: "O", code: code.to_owned(), message: String::new() };
            assert_eq!([error.is_not_found(), error.is_throttled(), error.is_denied()], told, "{code}");
        }
    }
}
