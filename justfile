# What developers type. `just` lists it.

default:
    @just --list

# Everything that a change must pass
check: format lint test deny

# rustfmt, as it must be
format:
    cargo fmt --all --check

# clippy, without a warning
lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy --workspace --bench agents --bench judged --bench reference --bench side_by_side --bench symbols -- -D warnings

# The tests, on a private Postgres
test:
    cargo test --workspace

# The tests on Citus, with three workers that they start: `just citus /usr/lib/postgresql/15/bin nodes::`
citus bin filter="":
    CODESEARCH_CITUS={{bin}} cargo test --release -p codesearch --test it {{filter}} -- --test-threads=4

# Generated queries against a plain scan, many of them: `just property 20000 7`
property queries="20000" seed="1":
    CODESEARCH_PROPERTY_QUERIES={{queries}} CODESEARCH_PROPERTY_SEED={{seed}} \
        cargo test --release -p codesearch --test it property -- --nocapture

# axe-core on every page, light and dark, wide and narrow; npm installs it
axe:
    npm install --no-save --no-audit --no-fund --prefix target/axe axe-core@4
    CODESEARCH_BROWSER=required CODESEARCH_AXE={{justfile_directory()}}/target/axe/node_modules/axe-core/axe.min.js \
        cargo test -p codesearch --test it axe_finds_nothing -- --nocapture

# Generated input for the parser and the planner, much of it
generated cases="100000":
    PROPTEST_CASES={{cases}} cargo test --release -p query --test fuzz

# Random input, led by what it reaches, for what reads strangers' bytes: `just fuzz query 600`
fuzz target="all" seconds="600":
    fuzz/run {{target}} {{seconds}}

# Kills, crashes, losses of power, faults, full disks, flipped bytes, hostile clients, for hours: `just torture 7`
torture seed="1" length="long":
    CODESEARCH_TORTURE={{length}} CODESEARCH_TORTURE_SEED={{seed}} \
        cargo test --release -p codesearch --test it torture -- --nocapture --test-threads=1

# Other people's clients (from npm, PyPI and PATH) against a server on the sample: `just clients redocly promtool`
clients *names:
    cargo build -p codesearch
    crates/codesearch/tests/clients/run {{names}}

# Licences and sources of what we depend on
deny:
    cargo deny check advisories bans licenses sources

# Serve the sample
up:
    cargo run --release -- up

# Fetch a real corpus (about 2 GB of source code) and index it
corpus:
    corpus/fetch
    cargo run --release -- ingest --depth 2 corpus/repos

# What the program is made of, as CycloneDX: crates/codesearch/codesearch_bin.cdx.json
sbom:
    cargo cyclonedx --format json --describe binaries --manifest-path crates/codesearch/Cargo.toml
