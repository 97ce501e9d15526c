# List the recipes
default:
    @just --list

# Everything that has to pass before a change lands
ci:
    bash .ci/run

# Run the tests
test *ARGS:
    cargo test --workspace {{ARGS}}

# Format and lint
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Drive the program with the official SDKs: rust, python, typescript or all
interop SDK="all":
    bash tests/interop/run {{SDK}}

# Accept changed snapshots
accept:
    INSTA_UPDATE=always cargo test --workspace

# Measure parse, render, list and reload
bench:
    cargo bench --workspace

# Fuzz every target for some seconds each
fuzz SECONDS="60":
    bash fuzz/run {{SECONDS}}

# Hold the server against the MCP conformance suite and the MCP inspector
conformance *BINARY:
    bash tests/conformance/run {{BINARY}}

# Licences, duplicate crates and where they come from
deny:
    cargo deny check bans licenses sources
