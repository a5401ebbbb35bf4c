//! Why there is no user data.

/// What is wrong, where, and what to do.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum UserDataError {
    /// A fact of the cluster is not what it should be.
    #[error("{field} of the cluster: {found:?} can't be one")]
    #[diagnostic(code(user_data::cluster), help("compare it with what `aws eks describe-cluster` says"))]
    Cluster {
        /// The field.
        field: &'static str,
        /// What it holds.
        found: String,
    },
    /// AL2023 needs the range of services, and it isn't known.
    #[error("the service CIDR of the cluster is not known, and AL2023 does not join without")]
    #[diagnostic(
        code(user_data::cidr),
        help("it is read from eks:DescribeCluster: check that the function may call it")
    )]
    NoCidr,
    /// A label can't be passed to a kubelet.
    #[error("label {key:?}: {value:?} is not a label of Kubernetes")]
    #[diagnostic(
        code(user_data::label),
        help(
            "a key has letters, digits and -_. with one / after its domain, a value letters, digits and -_. only"
        )
    )]
    Label {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
    /// A taint can't be passed to a kubelet.
    #[error("taint {taint:?} is not one of Kubernetes")]
    #[diagnostic(
        code(user_data::taint),
        help(
            "key and value of a taint have letters, digits and -_. only, a key also one / after its domain"
        )
    )]
    Taint {
        /// The taint.
        taint: String,
    },
    /// A field of the kubelet's configuration doesn't fit.
    #[error("spec.kubelet.{field}: {message}")]
    #[diagnostic(code(user_data::kubelet), help("{help}"))]
    Kubelet {
        /// The field.
        field: String,
        /// What is wrong with it.
        message: String,
        /// What to do.
        help: String,
    },
    /// A MIME archive can't be read.
    #[error("spec.userData, line {line}: {message}")]
    #[diagnostic(
        code(user_data::mime),
        help(
            "a multipart archive begins with MIME-Version and Content-Type: multipart/mixed; boundary=\"X\", its \
             parts with --X, it ends with --X--, and an empty line stands between headers and content"
        )
    )]
    Mime {
        /// The line, from one.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A NodeConfig can't be read.
    #[error("spec.userData, line {line}: {message}")]
    #[diagnostic(
        code(user_data::node_config),
        help("a NodeConfig is a YAML mapping with apiVersion: node.eks.aws/v1alpha1 and kind: NodeConfig")
    )]
    NodeConfig {
        /// The line, from one.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Bottlerocket's settings aren't TOML.
    #[error("spec.userData, line {line}, column {column}: {message}")]
    #[diagnostic(
        code(user_data::toml),
        help(
            "Bottlerocket's user data is TOML, such as [settings.kubernetes] and below it allowed-unsafe-sysctls = [\"x\"]"
        )
    )]
    Toml {
        /// The line, from one.
        line: usize,
        /// The column, from one.
        column: usize,
        /// What the reader says.
        message: String,
    },
    /// A setting of Bottlerocket is of another type.
    #[error("spec.userData, {path}: wants {wanted}, has {found}")]
    #[diagnostic(
        code(user_data::setting),
        help("Bottlerocket would not boot with it: see the settings of kubernetes at bottlerocket.dev")
    )]
    Setting {
        /// The setting, with its tables.
        path: String,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The text for Windows would end the script it is put into.
    #[error("spec.userData, line {line}: {tag} stands in the script")]
    #[diagnostic(
        code(user_data::powershell),
        help(
            "write the commands alone: they are put into a <powershell> block, before the one that joins the cluster"
        )
    )]
    PowerShell {
        /// The line, from one.
        line: usize,
        /// The tag.
        tag: &'static str,
    },
    /// EC2 takes no more.
    #[error("the user data has {bytes} bytes, and EC2 takes {}", super::MAX_BYTES)]
    #[diagnostic(
        code(user_data::too_long),
        help("shorten spec.userData: have it fetch a script from S3, or put the work into the image")
    )]
    TooLong {
        /// How many bytes.
        bytes: usize,
    },
    /// Ours could not be written in its format.
    #[error("writing {format}: {message}")]
    #[diagnostic(code(user_data::write), help("this is a fault of Journeyman: please report it"))]
    Write {
        /// The format.
        format: &'static str,
        /// What the writer says.
        message: String,
    },
}
