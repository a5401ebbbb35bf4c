# Short names for what is done often. `just --list` shows them.

# All tiers, as CI runs them.
test:
    tests/run

# The crate being worked on: `just check planner`.
check crate:
    cargo clippy -p {{crate}} --all-targets -- -D warnings
    cargo test -p {{crate}}

# Case files: `just cases tests/cases/field`.
cases *paths="tests/cases":
    cargo run -q -p journeyman -- test {{paths}}

# A simulated day.
simulate *args:
    cargo run --release -q -p journeyman -- simulate {{args}}

# Solver and planner on large inputs.
bench:
    cargo bench -p solver

# The committed schema of case files, after a change of their format.
schema:
    cargo run -q -p journeyman -- schema > shared/api/schema/case.json

# The CustomResourceDefinitions that infra/ applies, after a change of the kinds.
crds:
    cargo run -q -p journeyman -- crds > infra/kubernetes/crds.yaml

# The Terraform: format, validity, tests, linters.
infra:
    infra/check

# The functions' zips for Lambda, in target/lambda/NAME/bootstrap.zip: `just package x86_64` for the other architecture.
package arch="arm64":
    infra/package {{arch}}
