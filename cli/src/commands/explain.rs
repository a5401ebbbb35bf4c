//! `journeyman explain`: why a pod has no node, or why it goes where it goes.

use std::process::ExitCode;

use miette::Diagnostic;
use model::{Cluster, Pod};
use thiserror::Error;

use crate::output::Out;
use crate::show;
use crate::world::WorldArgs;

/// What `explain` is told.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The pod, as NAME or NAMESPACE/NAME; pods made from a workload are called NAME-0, NAME-1…
    pod: String,
    #[command(flatten)]
    world: WorldArgs,
}

/// Why there is nothing to explain.
#[derive(Debug, Error, Diagnostic)]
enum ExplainError {
    #[error("there is no pod {pod}")]
    #[diagnostic(code(explain::no_pod))]
    NoPod {
        pod: String,
        #[help]
        help: String,
    },

    #[error("there are several pods {pod}")]
    #[diagnostic(code(explain::ambiguous), help("name one of {}", found.join(", ")))]
    Ambiguous { pod: String, found: Vec<String> },
}

/// Plans for the whole cluster and prints what became of the pod.
pub fn run(args: &ExplainArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let (snapshot, _) = args.world.observe()?;
    let pod = find(&args.pod, &snapshot.cluster)?;
    let plan = planner::decide(&snapshot, planner::PROVISION);
    show::explain::show(out, pod, &plan, &snapshot)?;
    Ok(ExitCode::SUCCESS)
}

/// The pod meant: exact with a namespace; without, the one in `default` or the only one.
fn find<'a>(wanted: &str, cluster: &'a Cluster) -> Result<&'a Pod, ExplainError> {
    let (namespace, name) = match wanted.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, wanted),
    };
    let found: Vec<&Pod> = cluster
        .pods
        .iter()
        .filter(|pod| {
            pod.name.name == name && namespace.is_none_or(|namespace| pod.name.namespace == namespace)
        })
        .collect();
    match found[..] {
        [pod] => Ok(pod),
        [] => Err(ExplainError::NoPod { pod: wanted.to_owned(), help: similar(name, cluster) }),
        _ => found.iter().copied().find(|pod| pod.name.namespace == "default").ok_or_else(|| {
            let found = found.iter().map(|pod| pod.name.to_string()).collect();
            ExplainError::Ambiguous { pod: wanted.to_owned(), found }
        }),
    }
}

/// A hint at pods whose names begin alike.
fn similar(name: &str, cluster: &Cluster) -> String {
    let alike =
        |pod: &Pod| pod.name.name.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count();
    let mut pods: Vec<_> =
        cluster.pods.iter().map(|pod| (std::cmp::Reverse(alike(pod)), pod.name.to_string())).collect();
    pods.sort();
    let names: Vec<_> = pods.into_iter().take(3).map(|(_, name)| name).collect();
    match names.as_slice() {
        [] => "the input holds no pods".to_owned(),
        names => format!("there is {}", names.join(", ")),
    }
}
