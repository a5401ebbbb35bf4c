//! Why a pod has no node: what each rule left of each pool's types, and the obstacle of the pool that came closest.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{
    Funnel, FunnelStep, InstanceType, MicroUsd, MinValuesPolicy, NodePool, PoolStatus, Quantity, Reason,
    Requirement, Requirements, Resources, Snapshot, Undefined, labels,
};
use solver::BitSet;
use std::rc::Rc;

use super::claims;
use super::classes::Class;
use super::daemons::Burden;
use super::packing::{Packer, TRIED, trials, usage};
use super::place::Placer;
use super::raise;
use super::topology::RuleName;
use super::universe::{Universe, sells, untolerated};

/// What the planner knew when it gave up.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Hint {
    /// No column would do, neighbours aside.
    Columns,
    /// A topology rule left no domain.
    Topology { group: usize, key: usize, rule: RuleName },
    /// Columns would do, but the packer could not have them.
    Packing { columns: Rc<BitSet> },
}

pub(crate) struct Explainer<'a, 'x> {
    snapshot: &'a Snapshot,
    universe: &'x Universe<'a>,
    classes: &'x [Class<'a>],
    placer: &'x Placer<'a, 'x>,
    packer: &'x Packer<'a, 'x>,
}

/// How far a pool came: the later the rule that stopped it, the closer it was.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Stage {
    Taints,
    Requirements,
    Volumes,
    Resources,
    Ports,
    PriceCap,
    Capacity,
    Reserved,
    MinValues,
    Limits,
}

impl<'a, 'x> Explainer<'a, 'x> {
    pub fn new(
        snapshot: &'a Snapshot,
        universe: &'x Universe<'a>,
        classes: &'x [Class<'a>],
        placer: &'x Placer<'a, 'x>,
        packer: &'x Packer<'a, 'x>,
    ) -> Self {
        Self { snapshot, universe, classes, placer, packer }
    }

    /// The reason for one class, and the funnels behind it.
    pub fn explain(&self, class: usize, hint: Hint) -> (Arc<Reason>, Arc<Vec<Funnel>>) {
        let mut funnels = Vec::new();
        let mut best: Option<(Stage, Reason)> = None;
        let mut not_ready = None;
        let mut pools: Vec<&NodePool> = self.snapshot.cluster.pools.iter().collect();
        pools.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name)));
        for pool in pools.into_iter().filter(|pool| pool.replicas.is_none() && !pool.deleting) {
            if let PoolStatus::NotReady(because) = &pool.status {
                not_ready.get_or_insert_with(|| Reason::NodePoolNotReady {
                    pool: pool.name.clone(),
                    because: because.clone(),
                });
                continue;
            }
            let Some(types) = self.snapshot.catalogue.types.get(&pool.node_class.name) else { continue };
            let (mut funnel, mut stopped) = self.funnel(&self.classes[class], pool, types);
            // What a batch uses up of it is of no interest where it gives nothing.
            let used_up = stopped.as_ref().is_none_or(|(stage, _)| *stage > Stage::Capacity);
            if used_up && trials(self.snapshot, pool) == Some(0) {
                stopped = held(pool, &mut funnel);
            }
            funnels.push(funnel);
            if let Some((stage, reason)) = stopped
                && best.as_ref().is_none_or(|(furthest, _)| *furthest < stage)
            {
                best = Some((stage, reason));
            }
        }
        let reason = match &hint {
            Hint::Topology { group, rule, key } => self.topology(*group, *key, *rule),
            Hint::Columns | Hint::Packing { .. } => match best {
                // Where no pool comes near, a node that has all but one thing is the better story.
                Some((stage, reason)) if stage <= Stage::Requirements => {
                    self.full_nodes(class).unwrap_or(reason)
                }
                Some((_, reason)) => reason,
                None => not_ready
                    .or_else(|| self.crowded_out(&hint))
                    .or_else(|| self.full_nodes(class))
                    .unwrap_or(Reason::NoNodePool),
            },
        };
        (Arc::new(reason), Arc::new(funnels))
    }

    /// Without a pool, what keeps the pod off nodes that have the room.
    fn full_nodes(&self, class: usize) -> Option<Reason> {
        let alike = &self.classes[class];
        let pod = &self.snapshot.cluster.pods[*alike.pods.first()?];
        let variant = alike.variants.last()?;
        let fleet = &self.placer.fleet;
        fleet.nodes.iter().filter(|seat| seat.open && fleet.welcomes(seat.look, alike, variant)).find_map(
            |seat| {
                if pod.spec.requests.exceeds(&seat.room).is_some() {
                    return None;
                }
                if let Some((driver, limit)) = seat.volume_excess(pod) {
                    return Some(Reason::VolumeLimit { driver: driver.to_owned(), limit });
                }
                let port = pod.spec.host_ports.first().filter(|_| seat.port_conflict(pod))?;
                let holder = format!("a pod on node {}", seat.node.name);
                Some(Reason::HostPortConflict { port: port.port, protocol: port.protocol.clone(), holder })
            },
        )
    }

    /// Each rule by itself leaves something, and yet nothing could be had: only in combination, such as `minValues` over
    /// what one claim can list together.
    fn crowded_out(&self, hint: &Hint) -> Option<Reason> {
        let Hint::Packing { columns } = hint else { return None };
        let pool = self.universe.pool(columns.iter().next()?);
        let wanted =
            pool.requirements.iter().find_map(|(key, requirement)| Some((key, requirement.min_values?)));
        let name = pool.name.clone();
        Some(match wanted {
            Some((key, wants)) => {
                Reason::MinValues { pool: name, key: key.to_owned(), wants, has: wants.saturating_sub(1) }
            }
            None => Reason::NoCapacity { pool: name, offerings: columns.count() },
        })
    }

    fn topology(&self, group: usize, key: usize, rule: RuleName) -> Reason {
        let topology = &self.placer.topology;
        let key = topology.keys[key].name.to_owned();
        let counts = topology.counts(group);
        match rule {
            RuleName::Spread(max_skew) => {
                Reason::TopologySpread { key, max_skew, counts: counts.into_iter().take(8).collect() }
            }
            RuleName::Near => Reason::PodAffinity { key },
            RuleName::Apart => {
                let held = counts.into_iter().filter(|(_, count)| *count > 0);
                Reason::PodAntiAffinity { key, domains: held.map(|(domain, _)| domain).take(8).collect() }
            }
        }
    }

    /// Asks one rule after the other, each of the types the last one left.
    fn funnel(
        &self,
        class: &Class,
        pool: &NodePool,
        types: &[InstanceType],
    ) -> (Funnel, Option<(Stage, Reason)>) {
        let spec = class.spec;
        let mut funnel = Funnel { pool: pool.name.clone(), types: types.len(), steps: Vec::new() };
        let stop = |stage, reason| Some((stage, reason));
        let name = || pool.name.clone();

        let own = pool.node_requirements();
        let fit = |wants: &Requirements, instance_type: &InstanceType| {
            own.intersects(&instance_type.requirements).is_ok()
                && wants.intersects(&instance_type.requirements).is_ok()
        };
        let mut left: Vec<&InstanceType> =
            types.iter().filter(|instance_type| fit(&Requirements::new(), instance_type)).collect();
        step(&mut funnel, "NodePool requirements", left.len());
        if left.is_empty() {
            let all: Vec<&InstanceType> = types.iter().collect();
            let reason = self.no_type(pool, &Requirements::new(), &pool.requirements, &all);
            let reason = reason.unwrap_or_else(|| Reason::NoCapacity { pool: name(), offerings: 0 });
            return (funnel, stop(Stage::Requirements, reason));
        }
        if let Some(taint) = untolerated(&pool.taints, &spec.tolerations, true) {
            step(&mut funnel, &format!("taint {taint}"), 0);
            return (funnel, stop(Stage::Taints, Reason::Taints { pool: name(), taint: taint.clone() }));
        }

        let wanted = self.wanted(class);
        let mut open = Vec::new();
        let mut obstacle = None;
        for wants in wanted {
            match own.compatible(&wants, Undefined::WellKnownAllowed) {
                Ok(()) => open.push(wants),
                Err(conflict) => {
                    obstacle.get_or_insert(*conflict);
                }
            }
        }
        let types_before = left.clone();
        left.retain(|instance_type| open.iter().any(|wants| fit(wants, instance_type)));
        if let Some(conflict) = obstacle.filter(|_| open.is_empty()) {
            step(&mut funnel, &format!("{} {}", conflict.key, conflict.wants), 0);
            let similar = if conflict.has.is_none() { self.similar(&own, &conflict.key) } else { None };
            let reason = Reason::Requirements {
                pool: name(),
                key: conflict.key,
                wants: conflict.wants,
                has: conflict.has,
                similar,
            };
            return (funnel, stop(Stage::Requirements, reason));
        }
        step(&mut funnel, "pod requirements", left.len());
        if left.is_empty() {
            let reason =
                open.first().and_then(|wants: &Requirements| self.no_type(pool, &own, wants, &types_before));
            let fallback = Reason::NoCapacity { pool: name(), offerings: 0 };
            return (funnel, stop(Stage::Requirements, reason.unwrap_or(fallback)));
        }

        for volume in class.volumes.iter().filter(|volume| !volume.alternatives.is_empty()) {
            // Volumes narrow each other: what is left must do for all of them.
            let both = |wants: &Requirements, place: &Requirements| {
                let mut both = wants.clone();
                both.add_all(place);
                both
            };
            open = open
                .iter()
                .flat_map(|wants| volume.alternatives.iter().map(|place| both(wants, place)))
                .collect();
            open.retain(|wants| own.compatible(wants, Undefined::WellKnownAllowed).is_ok());
            left.retain(|instance_type| {
                open.iter().any(|wants| {
                    instance_type.requirements.intersects(wants).is_ok()
                        && instance_type.offerings.iter().any(|offering| sells(wants, offering))
                })
            });
            step(&mut funnel, &format!("volume {}", volume.claim), left.len());
            if left.is_empty() {
                let places: Vec<_> = volume.alternatives.iter().map(ToString::to_string).collect();
                let reason =
                    Reason::VolumeTopology { claim: volume.claim.clone(), where_it_is: places.join(", or ") };
                return (funnel, stop(Stage::Volumes, reason));
            }
        }

        let daemons = |instance_type: &InstanceType| self.burden(pool, &instance_type.name);
        let before = left.clone();
        left.retain(|instance_type| {
            let mut total = spec.requests.clone();
            if let Some(burden) = daemons(instance_type) {
                total.add(&burden.requests);
            }
            total.exceeds(&instance_type.allocatable()).is_none()
        });
        step(&mut funnel, "resources", left.len());
        if left.is_empty() {
            return (funnel, stop(Stage::Resources, self.too_large(pool, &spec.requests, &before)));
        }

        if !spec.host_ports.is_empty() {
            let holder = |instance_type: &InstanceType| {
                let burden = daemons(instance_type)?;
                let port = spec
                    .host_ports
                    .iter()
                    .find(|port| burden.ports.iter().any(|taken| taken.conflicts(port)))?;
                Some((port.clone(), burden.names.join(", ")))
            };
            let conflict = left.first().and_then(|instance_type| holder(instance_type));
            left.retain(|instance_type| holder(instance_type).is_none());
            step(&mut funnel, "host ports", left.len());
            if let Some((port, holder)) = conflict.filter(|_| left.is_empty()) {
                let reason = Reason::HostPortConflict { port: port.port, protocol: port.protocol, holder };
                return (funnel, stop(Stage::Ports, reason));
            }
        }

        // From here on it is about offerings. The price rule is asked last, to say what it forbids.
        let unpriced: Vec<Requirements> = open.iter().map(|wants| without_price(&own, wants)).collect();
        let priced: Vec<Requirements> = open
            .iter()
            .map(|wants| {
                let mut both = own.clone();
                both.add_all(wants);
                both
            })
            .collect();
        let sold = |rules: &[Requirements], available: bool, instance_type: &InstanceType| {
            let offerings = instance_type.offerings.iter();
            let matching = offerings.filter(|offering| rules.iter().any(|rules| sells(rules, offering)));
            let found = matching.filter(|offering| !available || offering.available);
            found.map(|offering| offering.price).collect::<Vec<MicroUsd>>()
        };
        let known: usize = left.iter().map(|instance_type| sold(&unpriced, false, instance_type).len()).sum();
        let before = left.clone();
        left.retain(|instance_type| !sold(&unpriced, true, instance_type).is_empty());
        step(&mut funnel, "available offerings", left.len());
        if left.is_empty() {
            if known == 0 {
                let reason = open.first().and_then(|wants| self.no_offering(pool, &own, wants, &before));
                if let Some(reason) = reason {
                    return (funnel, stop(Stage::Requirements, reason));
                }
            }
            return (funnel, stop(Stage::Capacity, Reason::NoCapacity { pool: name(), offerings: known }));
        }
        let cheapest = left.iter().flat_map(|instance_type| sold(&unpriced, true, instance_type)).min();
        left.retain(|instance_type| !sold(&priced, true, instance_type).is_empty());
        let cap = priced.iter().filter_map(|rules| rules.get(labels::USD_PER_HOUR)?.bounds().1).max();
        if let (Some(cap), Some(cheapest)) = (cap, cheapest) {
            step(&mut funnel, "price rule", left.len());
            if left.is_empty() {
                let cap = MicroUsd(u64::try_from(cap).unwrap_or(0));
                return (funnel, stop(Stage::PriceCap, Reason::PriceCap { pool: name(), cap, cheapest }));
            }
        }
        let stopped = self.shared_stock(class, pool, &mut funnel);
        (funnel, stopped)
    }

    /// What only the batch as a whole used up: reservations, `minValues`, limits.
    fn shared_stock(&self, class: &Class, pool: &NodePool, funnel: &mut Funnel) -> Option<(Stage, Reason)> {
        let mut columns = super::strict(self.universe, class);
        columns.and_assign(
            &self
                .universe
                .columns_where(|column| self.universe.templates[column.template].pool.name == pool.name),
        );
        let columns: Vec<usize> = columns.iter().collect();
        let in_stock = |column: &&usize| {
            let reservation = self.universe.offering(**column).reservation.as_ref();
            reservation
                .is_none_or(|reservation| self.packer.reservations.get(reservation.id.as_str()) != Some(&0))
        };
        let stocked: Vec<usize> = columns.iter().filter(in_stock).copied().collect();
        if stocked.is_empty() && !columns.is_empty() {
            step(funnel, "reservations", 0);
            let ids =
                columns.iter().filter_map(|&column| self.universe.offering(column).reservation.as_ref());
            let mut reservations: Vec<String> = ids.map(|reservation| reservation.id.clone()).collect();
            reservations.sort();
            reservations.dedup();
            let reason = Reason::ReservedCapacity { pool: pool.name.clone(), reservations };
            return Some((Stage::Reserved, reason));
        }
        for (key, requirement) in pool.requirements.iter() {
            let Some(wants) = requirement.min_values else { continue };
            let mut values: Vec<String> =
                stocked.iter().filter_map(|&column| claims::value(self.universe, column, key)).collect();
            values.sort();
            values.dedup();
            let has = u32::try_from(values.len()).unwrap_or(u32::MAX);
            if has < wants {
                step(funnel, &format!("minValues of {key}"), 0);
                let reason = Reason::MinValues { pool: pool.name.clone(), key: key.to_owned(), wants, has };
                return Some((Stage::MinValues, reason));
            }
        }
        self.limit(pool, &stocked, funnel)
    }

    fn limit(&self, pool: &NodePool, columns: &[usize], funnel: &mut Funnel) -> Option<(Stage, Reason)> {
        let fee = self.snapshot.settings.fee_per_node;
        let allowances = self.packer.allowances.get(pool.name.as_str())?;
        for allowance in allowances {
            let of_column = |column: usize| usage(self.universe, column, &allowance.resource, fee);
            let least = self.least_usage(pool, columns, of_column)?;
            if least <= allowance.left() {
                continue;
            }
            if allowance.resource == TRIED {
                return held(pool, funnel);
            }
            step(funnel, &format!("limit {}", allowance.resource), 0);
            let show = |amount| raise::show(&allowance.resource, amount);
            let reason = Reason::Limits {
                pool: pool.name.clone(),
                resource: allowance.resource.clone(),
                limit: show(allowance.limit),
                used: show(allowance.used),
                short: show(least.saturating_sub(allowance.left())),
            };
            return Some((Stage::Limits, reason));
        }
        None
    }

    /// The least that a node of `columns` may take, with all that `minValues` has its NodeClaim name.
    fn least_usage(&self, pool: &NodePool, columns: &[usize], usage: impl Fn(usize) -> i64) -> Option<i64> {
        let mut columns: Vec<(i64, usize)> = columns.iter().map(|&column| (usage(column), column)).collect();
        columns.sort_unstable();
        let mut wanted: Vec<(&str, u32, BTreeSet<String>)> = pool
            .requirements
            .iter()
            .filter_map(|(key, requirement)| Some((key, requirement.min_values?, BTreeSet::new())))
            .collect();
        if self.snapshot.settings.min_values == MinValuesPolicy::BestEffort {
            wanted.clear();
        }
        for &(usage, column) in &columns {
            for (key, _, seen) in &mut wanted {
                seen.extend(claims::value(self.universe, column, key));
            }
            if wanted.iter().all(|(_, min, seen)| seen.len() >= *min as usize) {
                return Some(usage);
            }
        }
        columns.last().map(|&(usage, _)| usage)
    }

    /// Node selector and one required term, for each term.
    fn wanted(&self, class: &Class) -> Vec<Requirements> {
        let spec = class.spec;
        if spec.required.is_empty() {
            return vec![spec.node_selector.clone()];
        }
        let with = |term: &Requirements| {
            let mut both = spec.node_selector.clone();
            both.add_all(term);
            both
        };
        spec.required.iter().map(with).collect()
    }

    fn burden(&self, pool: &NodePool, instance_type: &str) -> Option<&Burden> {
        let kind = self.universe.kinds.iter().find(|kind| {
            let template = &self.universe.templates[kind.template];
            template.pool.name == pool.name && template.types[kind.type_index].name == instance_type
        })?;
        self.universe.burdens.get(kind.burden)
    }

    /// A label that was probably meant: it contains the one asked for, or shares what follows the slash.
    fn similar(&self, own: &Requirements, key: &str) -> Option<String> {
        let tail = |key: &str| key.rsplit('/').next().unwrap_or(key).to_owned();
        let known = own.iter().map(|(key, _)| key);
        let known = known.chain(labels::INSTANCE).chain([
            labels::ZONE,
            labels::ARCH,
            labels::OS,
            labels::INSTANCE_TYPE,
            labels::CAPACITY_TYPE,
        ]);
        let known: Vec<&str> = known.filter(|known| *known != key && *known != labels::NODEPOOL).collect();
        let part = known.iter().copied().find(|known| known.contains(key) || tail(known) == tail(key));
        part.or_else(|| model::suggest::closest(key, known)).map(str::to_owned)
    }

    /// No type has all the labels: the key that the fewest types satisfy is named.
    fn no_type(
        &self,
        pool: &NodePool,
        own: &Requirements,
        wants: &Requirements,
        types: &[&InstanceType],
    ) -> Option<Reason> {
        let satisfied = |key: &str, wanted: &Requirement| {
            types.iter().filter(|instance_type| offers(instance_type, key, wanted)).count()
        };
        let (key, wanted) = wants.iter().min_by_key(|(key, wanted)| satisfied(key, wanted))?;
        let mut has: Vec<String> = types
            .iter()
            .filter_map(|instance_type| instance_type.requirements.get(key))
            .flat_map(|offered| offered.values().into_iter().flatten().cloned())
            .filter(|value| own.get(key).is_none_or(|own| own.has(value)))
            .collect();
        has.sort();
        has.dedup();
        has.truncate(12);
        let has = (!has.is_empty()).then(|| Requirement::is_in(has));
        let similar =
            if has.is_none() && !labels::is_well_known(key) { self.similar(own, key) } else { None };
        let pool = pool.name.clone();
        Some(Reason::Requirements { pool, key: key.to_owned(), wants: wanted.clone(), has, similar })
    }

    /// Types would do, but none is sold as asked.
    fn no_offering(
        &self,
        pool: &NodePool,
        own: &Requirements,
        wants: &Requirements,
        types: &[&InstanceType],
    ) -> Option<Reason> {
        let offered = |key: &str| {
            let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
            let mut values: Vec<String> =
                offerings.filter_map(|offering| offering.labels().remove(key)).collect();
            values.sort();
            values.dedup();
            values
        };
        let mut both = own.clone();
        both.add_all(wants);
        let keys = [labels::ZONE, labels::CAPACITY_TYPE, labels::ZONE_ID, labels::RESERVATION_ID];
        let blocked = keys.into_iter().find_map(|key| {
            let asked = both.get(key)?;
            let values = offered(key);
            (!values.iter().any(|value| asked.has(value))).then(|| (key, asked.clone(), values))
        });
        let (key, wanted, has) = blocked.or_else(|| {
            let asked = both.get(labels::ZONE)?;
            Some((labels::ZONE, asked.clone(), offered(labels::ZONE)))
        })?;
        let has = Some(Requirement::is_in(has));
        Some(Reason::Requirements {
            pool: pool.name.clone(),
            key: key.to_owned(),
            wants: wanted,
            has,
            similar: None,
        })
    }

    /// The resource in the way: one that no type has enough of, else the one that most types lack.
    fn too_large(&self, pool: &NodePool, requests: &Resources, types: &[&InstanceType]) -> Reason {
        let mut worst: Option<(usize, &str, Quantity, Quantity, Quantity)> = None;
        for (resource, asks) in requests.iter().filter(|(_, asks)| !asks.is_zero()) {
            let room = |instance_type: &&InstanceType| instance_type.allocatable().get(resource);
            let daemons = |name: &str| {
                self.burden(pool, name).map_or(Quantity::ZERO, |burden| burden.requests.get(resource))
            };
            let fits = types
                .iter()
                .filter(|instance_type| asks.plus(daemons(&instance_type.name)) <= room(instance_type))
                .count();
            let largest = types.iter().max_by_key(|instance_type| room(instance_type));
            let has = largest.map_or(Quantity::ZERO, room);
            let taken = largest.map_or(Quantity::ZERO, |instance_type| daemons(&instance_type.name));
            if worst.as_ref().is_none_or(|(fewest, ..)| fits < *fewest) {
                worst = Some((fits, resource, asks, taken, has));
            }
        }
        let (_, resource, asks, daemons, largest) = worst.unwrap_or_default();
        // A million cores are a thousand written without their m.
        let milli_slip = resource == "cpu" && asks.units() >= 1000;
        Reason::Resources {
            pool: pool.name.clone(),
            resource: resource.to_owned(),
            asks,
            daemons,
            largest,
            milli_slip,
        }
    }
}

/// The pool's launches come to nothing, so no more are made for now.
fn held(pool: &NodePool, funnel: &mut Funnel) -> Option<(Stage, Reason)> {
    let (because, until) = pool.hold()?;
    step(funnel, "launches held", 0);
    let (pool, because) = (pool.name.clone(), because.to_owned());
    Some((Stage::Limits, Reason::LaunchesHeld { pool, because, until }))
}

fn offers(instance_type: &InstanceType, key: &str, wanted: &Requirement) -> bool {
    match instance_type.requirements.get(key) {
        Some(offered) => offered.intersects(wanted) || (offered.allows_absence() && wanted.allows_absence()),
        None => true,
    }
}

fn without_price(own: &Requirements, wants: &Requirements) -> Requirements {
    let mut both = own.clone();
    both.add_all(wants);
    both.remove(labels::USD_PER_HOUR);
    both
}

fn step(funnel: &mut Funnel, rule: &str, left: usize) {
    funnel.steps.push(FunnelStep { rule: rule.to_owned(), left });
}
