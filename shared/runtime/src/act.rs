//! Carries out effects: the API server's, the cloud's and the hints, and says what came of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::record::Outcome;
use cluster::{Cluster, Observed, Refused};
use futures_util::{StreamExt, stream};
use model::{Effect, Instance, LaunchAnswer, LaunchOrder};

use crate::aws::{self, Brought};
use crate::error::RunError;
use crate::message::{Tend, Wake};
use crate::world::World;

/// So many effects of one kind are under way at once.
const AT_ONCE: usize = 16;

/// What came of some effects.
#[derive(Debug, Default)]
pub(crate) struct Acted {
    /// In the order of the effects.
    pub outcomes: Vec<Outcome>,
    /// Of each effect, whether it has changed anything.
    pub done: Vec<bool>,
    /// Machines that launches brought.
    pub instances: Vec<Instance>,
    /// What was answered to launches, by launch group.
    pub answers: Vec<(String, LaunchAnswer)>,
    /// How many bytes of user data machines were to be launched with, by EC2NodeClass.
    pub user_data: BTreeMap<String, usize>,
    /// Effects that are worth trying again.
    transient: Vec<String>,
}

impl Acted {
    /// An error if something is worth trying again.
    pub fn check(&self) -> Result<(), RunError> {
        match self.transient.first() {
            None => Ok(()),
            Some(first) => Err(RunError::Refused { count: self.transient.len(), first: first.clone() }),
        }
    }
}

enum One {
    Plain { outcome: Outcome, transient: Option<String>, done: bool },
    Launched(Arc<LaunchOrder>, Brought),
}

impl World {
    /// Carries out effects in order; those of one kind that follow each other, together.
    pub(crate) async fn act(&mut self, name: &str, effects: &[Effect]) -> Result<Acted, RunError> {
        self.site(name).await?;
        let mut acted = Acted::default();
        let this = &*self;
        for group in effects.chunk_by(|a, b| std::mem::discriminant(a) == std::mem::discriminant(b)) {
            if let [Effect::Terminate { .. }, ..] = group {
                let (outcome, transient) = told(this.end(group).await);
                acted.done.extend(group.iter().map(|_| outcome == Outcome::Done));
                acted.outcomes.extend(group.iter().map(|_| outcome.clone()));
                acted.transient.extend(transient);
                continue;
            }
            let done: Vec<One> = stream::iter(group)
                .map(|effect| Box::pin(this.one(name, effect)))
                .buffered(AT_ONCE)
                .collect()
                .await;
            for one in done {
                match one {
                    One::Plain { outcome, transient, done } => {
                        acted.done.push(done);
                        acted.outcomes.push(outcome);
                        acted.transient.extend(transient);
                    }
                    One::Launched(order, Brought { answer, instances, user_data }) => {
                        acted.done.push(!instances.is_empty());
                        if let Some(bytes) = user_data {
                            let most = acted.user_data.entry(order.node_class.name.clone()).or_default();
                            *most = bytes.max(*most);
                        }
                        let first = answer.failures.first().map(|failure| failure.message.clone());
                        acted.outcomes.push(match first.filter(|_| instances.is_empty()) {
                            Some(message) => Outcome::Refused(message),
                            None => Outcome::Done,
                        });
                        acted.instances.extend(instances);
                        acted.answers.push((order.group.clone(), answer));
                    }
                }
            }
        }
        Ok(acted)
    }

    /// Ends machines by one request: EC2 counts requests, not machines.
    async fn end(&self, terminations: &[Effect]) -> Result<(), RunError> {
        let ids = terminations.iter().filter_map(|effect| match effect {
            Effect::Terminate { provider_id } => Some(provider_id.as_str()),
            _ => None,
        });
        aws::terminate(&self.cloud, ids).await
    }

    async fn one(&self, name: &str, effect: &Effect) -> One {
        if Cluster::is_mine(effect) {
            let Some(site) = self.sites.get(name) else { return plain(Ok(())) };
            return match site.cluster.act(effect).await {
                Ok(observed) => {
                    let done = observed == Observed::Done;
                    One::Plain { outcome: Outcome::Done, transient: None, done }
                }
                Err(refused) => {
                    tracing::warn!(%refused, ?effect, "refused");
                    // A PodDisruptionBudget's no is an answer, not a failure: the next look asks again.
                    let again = refused.is_transient() && !matches!(refused, Refused::Budget { .. });
                    let message = refused.to_string();
                    let transient = again.then(|| message.clone());
                    One::Plain { outcome: Outcome::Refused(message), transient, done: false }
                }
            };
        }
        let cloud = &self.cloud;
        match effect {
            Effect::Launch(order) => match aws::launch(self, name, order).await {
                Ok(brought) => One::Launched(order.clone(), brought),
                Err(error) => plain(Err(error)),
            },
            Effect::TagInstance { provider_id, tags } => plain(aws::tag(cloud, provider_id, tags).await),
            Effect::Avoid { what, until } => plain(aws::avoid(self, what, *until).await),
            Effect::ForgetLaunchTemplates { class, age } => {
                plain(aws::forget_launch_templates(cloud, name, class.as_deref(), *age).await)
            }
            Effect::ReleaseNodeClass { class, uid } => plain(self.release_class(name, class, uid).await),
            Effect::HintLifecycle { claims, nodes, after } => {
                let tend = Tend::soon(name, claims.clone(), nodes.clone());
                plain(self.hints.tend(cloud, tend, *after).await)
            }
            Effect::HintProvision { reason } => {
                let wake = Wake { cluster: name.to_owned(), reason: reason.clone() };
                plain(self.hints.wake(cloud, wake).await)
            }
            other => {
                let outcome = Outcome::Refused(format!("nobody carries out {other:?}"));
                One::Plain { outcome, transient: None, done: false }
            }
        }
    }
}

fn plain(result: Result<(), RunError>) -> One {
    let (outcome, transient) = told(result);
    One::Plain { done: outcome == Outcome::Done, outcome, transient }
}

/// What came of it, and what is worth trying again.
fn told(result: Result<(), RunError>) -> (Outcome, Option<String>) {
    match result {
        Ok(()) => (Outcome::Done, None),
        Err(error) => {
            tracing::warn!(%error, "refused");
            (Outcome::Refused(error.to_string()), Some(error.to_string()))
        }
    }
}
