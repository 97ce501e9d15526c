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

# Drive the program with the official SDKs: rust, python, typescript, revisions or all
interop SDK="all":
    bash tests/interop/run {{SDK}}

# Drive the program with real AI clients: claude-code, codex, gemini, opencode, kilo or all
clients CLIENT="all":
    bash tests/clients/run {{CLIENT}}

# Install from the hub with the installers of others
hub *BINARY:
    bash tests/hub/run {{BINARY}}

# Compare templates with Python's Jinja2
jinja:
    bash tests/jinja/run

# Accept changed snapshots
accept:
    INSTA_UPDATE=always cargo test --workspace

# Measure parse, render, list and reload
bench:
    cargo bench --workspace

# Measure fetching, installing, verifying and serving packages; on an idle machine
package-figures BINARY="target/release/twig":
    python3 tests/packages/figures.py {{BINARY}}

# Measure what keys, views and sessions cost a server for people; on an idle machine
team-figures BINARY="target/release/twig":
    python3 tests/team/figures.py {{BINARY}}

# Fuzz every target for some seconds each
fuzz SECONDS="60":
    bash fuzz/run {{SECONDS}}

# Hold the server against the MCP conformance suite and the MCP inspector
conformance *BINARY:
    bash tests/conformance/run {{BINARY}}

# Hold figures against the clock, and ten busy servers for ten minutes; on an idle machine
soak SECONDS="600":
    TWIG_FIGURES=1 cargo test --release --workspace -- --nocapture
    TWIG_SOAK_SECONDS={{SECONDS}} cargo test --release -p twig --test it ten_busy_servers

# Everything that has to hold before a release: CI, the figures, the long soak and long fuzzing
release-check: ci soak
    bash fuzz/run 600

# Licences, duplicate crates and where they come from
deny:
    cargo deny check bans licenses sources
