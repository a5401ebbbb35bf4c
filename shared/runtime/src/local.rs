//! All functions in one process, against a kubeconfig and AWS or emulators: for a trial, a test, or a cluster without Lambda.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cluster::Plugins;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::config::Config;
use crate::deadline::Deadline;
use crate::error::RunError;
use crate::hints::{Hint, Hints};
use crate::message::{MINUTE, Tend, Wake};
use crate::world::World;

/// How long a call for messages waits for one.
const POLL: SignedDuration = SignedDuration::from_secs(20);
/// After a failure, so that a broken connection is no busy loop.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Runs until it is dropped. Failures are logged, and tried again by the next turn, as a schedule would.
pub async fn run(config: Config) -> Result<(), RunError> {
    let (sender, hints) = unbounded_channel();
    let (told, asked) = unbounded_channel();
    let world = async || {
        let world = World::new(config.clone(), Hints::local(sender.clone())).await?;
        Ok::<_, RunError>(world.with_plugins(Plugins::of_kubectl()))
    };
    let (mut providing, mut tending, mut scheduled, mut listening) =
        (world().await?, world().await?, world().await?, world().await?);
    // What can be bought comes first: the rest is decided by it.
    refresh(&mut scheduled).await;
    tokio::select! {
        () = provision(&mut providing) => {}
        () = lifecycle(&mut tending, hints, told) => {}
        () = schedule(&mut scheduled, asked) => {}
        () = interruption(&mut listening, config.interruption_queue.as_deref()) => {}
    }
    Ok(())
}

async fn provision(world: &mut World) {
    loop {
        for cluster in world.clusters() {
            let turn = MINUTE / i32::try_from(world.clusters().len()).unwrap_or(1).max(1);
            if let Err(error) = world.provision(&cluster, Deadline::after(turn)).await {
                tracing::error!(%error, cluster, "provision");
                pause(PAUSE).await;
            }
        }
        // With no linger a turn ends at once.
        pause(SignedDuration::from_millis(200)).await;
    }
}

async fn lifecycle(world: &mut World, mut hints: UnboundedReceiver<Hint>, told: UnboundedSender<Wake>) {
    let mut due: BinaryHeap<Reverse<(Timestamp, Tend)>> = BinaryHeap::new();
    for cluster in world.clusters() {
        due.push(Reverse((Timestamp::now(), Tend::everything(&cluster))));
    }
    loop {
        let wait = due.peek().map_or(MINUTE, |Reverse((at, _))| at.duration_since(Timestamp::now()));
        tokio::select! {
            biased;
            hint = hints.recv() => match hint {
                // Watches see pending pods by themselves.
                Some(Hint::Wake(_)) => {}
                Some(Hint::Tend(tend, at)) => due.push(Reverse((at, tend))),
                Some(Hint::Refresh(wake)) => drop(told.send(wake)),
                None => return,
            },
            () = pause(wait) => {
                let Some(Reverse((_, tend))) = due.pop() else { continue };
                if let Err(error) = world.tend(&tend, Deadline::after(MINUTE)).await {
                    tracing::error!(%error, cluster = tend.cluster, "lifecycle");
                }
                if tend.is_everything() {
                    due.push(Reverse((Timestamp::now() + MINUTE, tend)));
                }
            }
        }
    }
}

async fn schedule(world: &mut World, mut asked: UnboundedReceiver<Wake>) {
    let (mut refreshed, mut due) = (Timestamp::now(), Timestamp::now() + MINUTE);
    loop {
        tokio::select! {
            biased;
            wake = asked.recv() => {
                let Some(wake) = wake else { return };
                if let Err(error) = world.refresh(&wake.cluster, Deadline::after(MINUTE)).await {
                    tracing::error!(%error, cluster = wake.cluster, "catalog");
                }
            }
            () = pause(due.duration_since(Timestamp::now())) => {
                due += MINUTE;
                for cluster in world.clusters() {
                    if let Err(error) = world.disrupt(&cluster, Deadline::after(MINUTE)).await {
                        tracing::error!(%error, cluster, "disruption");
                    }
                }
                // Statuses follow what changes in EC2 within minutes; prices are asked for when they are old.
                if Timestamp::now().duration_since(refreshed) >= MINUTE * 5 {
                    refresh(world).await;
                    refreshed = Timestamp::now();
                }
            }
        }
    }
}

async fn refresh(world: &mut World) {
    for cluster in world.clusters() {
        if let Err(error) = world.refresh(&cluster, Deadline::after(MINUTE)).await {
            tracing::error!(%error, cluster, "catalog");
        }
    }
}

async fn interruption(world: &mut World, queue: Option<&str>) {
    let Some(queue) = queue else { return std::future::pending().await };
    loop {
        match world.cloud.receive(queue, POLL).await {
            Ok(messages) => {
                for message in messages {
                    match world.interrupt(&message.body, Deadline::after(MINUTE)).await {
                        Ok(()) => {
                            if let Err(error) = world.cloud.done(queue, &message.receipt).await {
                                tracing::warn!(%error, "the message will come again");
                            }
                        }
                        Err(error) => tracing::error!(%error, "interruption"),
                    }
                }
            }
            Err(error) => {
                tracing::error!(%error, "interruption");
                pause(PAUSE).await;
            }
        }
    }
}

async fn pause(span: SignedDuration) {
    tokio::time::sleep_until(Deadline::after(span).instant()).await;
}
