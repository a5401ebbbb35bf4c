//! Problems of the kinds on which node provisioners are compared, made from a seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use model::{
    AffinityTerm, Catalogue, Cluster, InstanceType, LabelSelector, Namespaces, NodeClassRef, NodePool,
    ObjectName, Phase, Pod, PodSpec, Quantity, Requirement, Resources, Settings, Snapshot, Spread,
    Toleration, TolerationOperator, labels,
};

/// What the pods are like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// Thirty sizes, drawn evenly.
    Uniform,
    /// Half want CPU, half want memory.
    CpuMemory,
    /// One in six wants a GPU.
    Gpu,
    /// Spread over zones.
    Zonal,
    /// Replicas keep off each other's nodes.
    AntiAffinity,
    /// Uniform, Spot allowed.
    Spot,
    /// A few are forty times as large as the rest.
    LargeTail,
    /// Either architecture will do.
    MultiArch,
    /// Plain, zonal spread, hostname spread, affinity and anti-affinity in equal parts.
    Diverse,
    /// At most 110 pods a node and half of the pods tiny.
    Capped,
    /// Hardly two ask for the same.
    Distinct,
}

impl Shape {
    /// Every shape on which the quality of plans is measured.
    pub const ALL: [Self; 10] = [
        Self::Uniform,
        Self::CpuMemory,
        Self::Gpu,
        Self::Zonal,
        Self::AntiAffinity,
        Self::Spot,
        Self::LargeTail,
        Self::MultiArch,
        Self::Diverse,
        Self::Capped,
    ];

    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::CpuMemory => "cpumem",
            Self::Gpu => "gpu",
            Self::Zonal => "zonal",
            Self::AntiAffinity => "antiaffinity",
            Self::Spot => "spot",
            Self::LargeTail => "largetail",
            Self::MultiArch => "multiarch",
            Self::Diverse => "diverse",
            Self::Capped => "capped",
            Self::Distinct => "distinct",
        }
    }
}

/// splitmix64: small, seeded, the same everywhere.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}

/// A snapshot with `count` pending pods of `shape`; `small` holds nodes to 4–32 vCPU.
pub fn snapshot(shape: Shape, count: usize, small: bool, types: Arc<Vec<InstanceType>>) -> Snapshot {
    let mut dice = Dice(count as u64 ^ 0x6a6f_7572_6e65_796d);
    let mut specs: BTreeMap<PodSpec, Arc<PodSpec>> = BTreeMap::new();
    let pods = (0..count)
        .map(|index| {
            let spec = pod_spec(shape, index, &mut dice);
            let spec = specs.entry(spec).or_insert_with_key(|spec| Arc::new(spec.clone())).clone();
            pending(index, spec)
        })
        .collect();
    let cluster = Cluster { pools: vec![pool(shape, small)], pods, ..Cluster::default() };
    let types = BTreeMap::from([("default".to_owned(), types)]);
    let catalogue = Catalogue { region: "us-east-1".to_owned(), types, illustrative_spot: true };
    Snapshot { now: Timestamp::UNIX_EPOCH, settings: Settings::default(), cluster, catalogue }
}

fn pending(index: usize, spec: Arc<PodSpec>) -> Pod {
    Pod {
        name: ObjectName::new("default", format!("pod-{index:05}")),
        uid: format!("{index:05}"),
        created: Timestamp::UNIX_EPOCH,
        node: None,
        phase: Phase::Pending,
        terminating: false,
        unschedulable: true,
        owner: None,
        daemon: false,
        mirror: false,
        do_not_disrupt: None,
        disruption: Default::default(),
        volumes: Vec::new(),
        spec,
    }
}

fn pool(shape: Shape, small: bool) -> NodePool {
    let mut pool = NodePool { name: "default".to_owned(), ..NodePool::default() };
    let group = "karpenter.k8s.aws".to_owned();
    pool.node_class = NodeClassRef { group, kind: "EC2NodeClass".to_owned(), name: "default".to_owned() };
    let mut ask = |key: &str, requirement| pool.requirements.add(key, requirement);
    ask(labels::OS, Requirement::is_in(["linux"]));
    let capacity_types: &[&str] = if shape == Shape::Spot { &["spot", "on-demand"] } else { &["on-demand"] };
    ask(labels::CAPACITY_TYPE, Requirement::is_in(capacity_types.iter().copied()));
    let architectures: &[&str] = if shape == Shape::MultiArch { &["amd64", "arm64"] } else { &["amd64"] };
    ask(labels::ARCH, Requirement::is_in(architectures.iter().copied()));
    let categories: &[&str] = if shape == Shape::Gpu { &["c", "m", "r", "g", "p"] } else { &["c", "m", "r"] };
    ask("karpenter.k8s.aws/instance-category", Requirement::is_in(categories.iter().copied()));
    if small {
        ask("karpenter.k8s.aws/instance-cpu", Requirement::within(Some(4), Some(32)));
    }
    pool
}

fn requests(cpu_milli: i64, memory_mebibytes: i64) -> Resources {
    Resources::from_iter([
        ("cpu", Quantity::from_milli(cpu_milli)),
        ("memory", Quantity::from_mebibytes(memory_mebibytes)),
        ("pods", Quantity::from_units(1)),
    ])
}

fn pick<T: Copy>(dice: &mut Dice, from: &[T]) -> T {
    from[dice.roll(from.len())]
}

fn pod_spec(shape: Shape, index: usize, dice: &mut Dice) -> PodSpec {
    let cpu = pick(dice, &[100, 250, 500, 1000, 1500]);
    let memory = pick(dice, &[100, 256, 512, 1024, 2048, 4096]);
    let app = ["a", "b", "c", "d", "e", "f", "g"][dice.roll(7)];
    let mut spec = PodSpec { requests: requests(cpu, memory), ..PodSpec::default() };
    spec.labels.insert("app".to_owned(), app.to_owned());
    match shape {
        Shape::Uniform | Shape::Spot | Shape::MultiArch => {}
        Shape::CpuMemory if dice.roll(2) == 0 => spec.requests = requests(pick(dice, &[2000, 4000]), 1024),
        Shape::CpuMemory => spec.requests = requests(250, pick(dice, &[8192, 16384])),
        Shape::Gpu if dice.roll(6) == 0 => {
            spec.requests = requests(4000, 16384);
            spec.requests.set("nvidia.com/gpu", Quantity::from_units(1));
        }
        Shape::Gpu => {}
        Shape::Zonal => spec.spread.push(spread(labels::ZONE, app)),
        Shape::AntiAffinity => {
            let app = format!("set-{}", index / 30);
            spec.labels.insert("app".to_owned(), app.clone());
            spec.anti_affinity.push(term(labels::HOSTNAME, &app));
            let sizes = [(250, 512), (500, 1024), (1000, 2048)];
            let (cpu, memory) = sizes[(index / 30) % sizes.len()];
            spec.requests = requests(cpu, memory);
        }
        Shape::LargeTail if dice.roll(50) == 0 => {
            spec.requests = requests(pick(dice, &[16000, 30000]), 65536)
        }
        Shape::LargeTail => {}
        Shape::Capped => {
            spec.requests = if dice.roll(2) == 0 { requests(10, 16) } else { requests(cpu, memory) };
        }
        Shape::Distinct => {
            let (cpu, memory) = (100 + dice.roll(1500), 100 + dice.roll(4000));
            spec.requests = requests(cpu as i64, memory as i64);
        }
        Shape::Diverse => match index % 5 {
            0 => {}
            1 => spec.spread.push(spread(labels::ZONE, app)),
            2 => spec.spread.push(spread(labels::HOSTNAME, app)),
            3 => {
                spec.labels.insert("near".to_owned(), app.to_owned());
                let mut near = term(labels::ZONE, app);
                near.selector = Some(selector("near", app));
                spec.affinity.push(near);
            }
            _ => {
                spec.labels.insert("apart".to_owned(), "yes".to_owned());
                let mut apart = term(labels::HOSTNAME, app);
                apart.selector = Some(selector("apart", "yes"));
                spec.anti_affinity.push(apart);
            }
        },
    }
    spec.tolerations.push(Toleration {
        key: Some("node.kubernetes.io/not-ready".to_owned()),
        operator: TolerationOperator::Exists,
        value: String::new(),
        effect: None,
    });
    spec
}

fn selector(key: &str, value: &str) -> LabelSelector {
    LabelSelector::from_labels([(&key.to_owned(), &value.to_owned())])
}

fn spread(key: &str, app: &str) -> Spread {
    Spread {
        key: key.to_owned(),
        max_skew: 1,
        hard: true,
        min_domains: None,
        selector: Some(selector("app", app)),
        honor_affinity: true,
        honor_taints: false,
    }
}

fn term(key: &str, app: &str) -> AffinityTerm {
    let namespaces = Namespaces::Only(["default".to_owned()].into());
    AffinityTerm { key: key.to_owned(), selector: Some(selector("app", app)), namespaces }
}
