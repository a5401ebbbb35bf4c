//! Made-up problems with the shapes and prices of real machines, the same on each run.

use solver::{BitSet, Column, Demand, Kind, Problem};

/// A source of arbitrary numbers that are always the same.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len() as u64) as usize]
    }
}

const ZONES: usize = 4;

/// What a demand may ask of a column.
#[derive(Clone, Copy)]
pub struct Offer {
    pub cpus: i64,
    pub arm: bool,
    pub spot: bool,
    pub zone: usize,
}

/// Kinds of about `variants` generations in three families, each in all zones, on demand and spot.
pub fn market(variants: usize) -> (Vec<Kind>, Vec<Column>, Vec<Offer>) {
    let mut dice = Dice::new(7);
    let (mut kinds, mut columns, mut offers) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |cpus: i64, memory: i64, gpus: i64, price: f64, arm: bool, dice: &mut Dice| {
        let kind = kinds.len();
        let pods = (cpus * 15).clamp(29, 737);
        kinds.push(Kind {
            capacity: vec![cpus * 1000 - 80 - cpus, memory * 1024 * 93 / 100 - 600, pods, gpus],
            family: 0,
        });
        for zone in 0..ZONES {
            for spot in [false, true] {
                let factor = if spot { 0.3 + dice.roll(40) as f64 / 100.0 } else { 1.0 };
                columns.push(Column {
                    kind,
                    cost: (price * factor * 1e6) as u64,
                    supply: None,
                    usage: Vec::new(),
                });
                offers.push(Offer { cpus, arm, spot, zone });
            }
        }
    };
    for variant in 0..variants {
        let arm = variant % 3 == 0;
        let level = (0.85 + dice.roll(45) as f64 / 100.0) * if arm { 0.82 } else { 1.0 };
        for (ratio, price) in [(2, 0.0425), (4, 0.048), (8, 0.063)] {
            for cpus in [2, 4, 8, 16, 32, 48, 64, 96, 128, 192] {
                add(cpus, cpus * ratio, 0, price * cpus as f64 * level, arm, &mut dice);
            }
        }
    }
    for (cpus, memory, gpus, price) in [
        (4, 16, 1, 0.526),
        (8, 32, 1, 0.752),
        (16, 64, 1, 1.204),
        (48, 192, 4, 3.912),
        (64, 256, 1, 4.352),
        (96, 384, 8, 7.824),
    ] {
        add(cpus, memory, gpus, price, false, &mut dice);
    }
    (kinds, columns, offers)
}

/// The problems of the quality table.
pub const SHAPES: [&str; 9] =
    ["uniform", "cpumem", "gpu", "zonal", "antiaffinity", "spot", "largetail", "multiarch", "diverse"];

/// A problem of the named shape with `units` units in all and, if given, bins of at most `most` cpus.
pub fn problem(shape: &str, units: u32, classes: u32, most: Option<i64>, variants: usize) -> Problem {
    let (kinds, columns, offers) = market(variants);
    let mut dice = Dice::new(11);
    let mut problem = Problem { kinds, columns, ..Problem::default() };
    let allowed = |want: &dyn Fn(&Offer) -> bool| {
        let mut set = BitSet::new(offers.len());
        for (index, offer) in offers.iter().enumerate() {
            if want(offer) && most.is_none_or(|most| offer.cpus <= most) {
                set.insert(index);
            }
        }
        set
    };
    for class in 0..classes {
        let count = units / classes + u32::from(class < units % classes);
        let mut cpu = dice.pick(&[100, 250, 500, 750, 1000, 1500, 2000]);
        let mut memory = dice.pick(&[128, 256, 512, 1024, 2048, 3072, 4096]);
        let mut gpu = 0;
        let zone = class as usize % ZONES;
        let kind = class % 5;
        match shape {
            "cpumem" if class % 2 == 0 => {
                (cpu, memory) = (dice.pick(&[2000, 3000, 4000]), dice.pick(&[512, 1024]))
            }
            "cpumem" => (cpu, memory) = (dice.pick(&[250, 500]), dice.pick(&[8192, 12288, 16384])),
            "gpu" if class % 3 == 0 => gpu = dice.pick(&[1, 1, 2]),
            "largetail" if class % 8 == 0 => {
                (cpu, memory) = (dice.pick(&[8000, 14000, 30000]), dice.pick(&[16384, 65536]))
            }
            _ => {}
        }
        let columns = match shape {
            "zonal" => allowed(&|offer| offer.zone == zone && !offer.spot && !offer.arm),
            "spot" => allowed(&|offer| (offer.spot || class % 4 == 0) && !offer.arm),
            "multiarch" => allowed(&|offer| !offer.spot && (class % 3 == 0 || offer.arm == (class % 3 == 1))),
            "diverse" if kind == 1 => allowed(&|offer| offer.zone == zone && !offer.spot),
            _ => allowed(&|offer| !offer.spot && !offer.arm),
        };
        let demand = problem.demands.len();
        if shape == "antiaffinity" && class % 4 == 0 || shape == "diverse" && kind == 2 {
            problem.conflicts.push((demand, demand));
        }
        problem.demands.push(Demand {
            count,
            requests: vec![cpu, memory, 1, gpu],
            columns,
            company: None,
            priority: 0,
        });
    }
    let mut order: Vec<usize> = (0..problem.demands.len()).collect();
    order.sort_by_key(|demand| std::cmp::Reverse((problem.demands[*demand].requests.clone(), *demand)));
    order.iter().enumerate().for_each(|(place, demand)| problem.demands[*demand].priority = place);
    problem
}
