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

# The tests, on a private Postgres
test:
    cargo test --workspace

# Licences and sources of what we depend on
deny:
    cargo deny check bans licenses sources

# Serve the sample
up:
    cargo run --release -- up

# Fetch a real corpus (about 2 GB of source code) and index it
corpus:
    corpus/fetch
    cargo run --release -- ingest --depth 2 corpus/repos
