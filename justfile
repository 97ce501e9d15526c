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

# Build and test what systems without the calls of Unix would get
portable *ARGS:
    bash .ci/portable {{ARGS}}

# Drive the program with the official SDKs: rust, python, typescript, revisions or all
interop SDK="all":
    bash tests/interop/run {{SDK}}

# Drive the program with real AI clients: claude-code, codex, gemini, opencode, kilo or all
clients CLIENT="all":
    bash tests/clients/run {{CLIENT}}

# Install from the hub with the installers of others
hub *BINARY:
    bash tests/hub/run {{BINARY}}

# Neovim as a client of the language server
editor *BINARY:
    bash tests/editor/run {{BINARY}}

# Build the page into crates/twig-page/dist
page *ARGS:
    bash page/build {{ARGS}}

# Drive the page with Chromium
browser *ARGS:
    bash tests/page/run {{ARGS}}

# Take the pictures of README again, after `just browser`
pictures BINARY="target/debug/twig":
    NODE_MODULES="$PWD/target/page-tests" node tests/page/pictures.mjs {{BINARY}} docs/images

# Measure the page with 10,000 prompts against its goals; on an idle machine
page-figures BINARY="target/x86_64-unknown-linux-gnu/dist/twig":
    bash tests/page/measure {{BINARY}}

# Three replicas behind nginx on one PostgreSQL, as `deploy/` sets them up
replicas *BINARY:
    bash tests/replicas/run {{BINARY}}

# Render the chart and try the images, without a cluster or a container engine
deploy *BINARY:
    bash tests/deploy/run {{BINARY}}

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
package-figures BINARY="target/x86_64-unknown-linux-gnu/dist/twig":
    python3 tests/packages/figures.py {{BINARY}}

# Measure what keys, views and sessions cost a server for people; on an idle machine
team-figures BINARY="target/x86_64-unknown-linux-gnu/dist/twig":
    python3 tests/team/figures.py {{BINARY}}

# Measure writes and reads of servers on one PostgreSQL beside their floors; on an idle machine
store-figures BINARY="target/x86_64-unknown-linux-gnu/dist/twig":
    bash tests/replicas/measure {{BINARY}}

# Crash, replace and compare databases as often as has to hold before a release; takes long
store-faults:
    TWIG_RELEASE=1 TWIG_FIGURES=1 cargo test --release -p twig-sources -p twig --test it -- store::postgres store::pooler store::cut store_cli::postgres store_cli::databases store_cli::hostile_database http::database follow::replicas --nocapture

# Compare the instructions of ten fixed workloads with the recorded ones; needs valgrind
instructions *ARGS:
    bash tests/instructions/run {{ARGS}}

# List the functions that servers run, which the packaged program has side by side; needs valgrind
hot-functions:
    CARGO_PROFILE_DIST_STRIP=none TWIG_LINKER=cc dist/build target/hot
    python3 dist/hot_functions.py target/hot/x86_64-unknown-linux-gnu/dist/twig

# Fuzz every target for some seconds each
fuzz SECONDS="60":
    bash fuzz/run {{SECONDS}}

# Hold the server against the MCP conformance suite and the MCP inspector
conformance *BINARY:
    bash tests/conformance/run {{BINARY}}

# Hold figures against the clock, and ten busy servers for ten minutes; on an idle machine
soak SECONDS="600":
    TWIG_FIGURES=1 cargo test --profile dist --workspace -- --nocapture
    TWIG_SOAK_SECONDS={{SECONDS}} cargo test --profile dist -p twig --test it ten_busy_servers

# Build what Twig is installed from, with SHA256SUMS, into target/dist
dist:
    bash dist/all

# Try everything that Twig is installed from, made of a program that is built already
dist-check *BINARY:
    bash tests/dist/run {{BINARY}}

# Everything that has to hold before a release: CI, the figures, the long soak, failing databases, long fuzzing, the static program, equal builds
release-check: ci soak store-faults
    bash tests/replicas/measure "$(dist/build)"
    bash fuzz/run 600
    bash tests/dist/run --static "$(dist/build)"
    bash dist/reproduce

# Licences, duplicate crates and where they come from
deny:
    cargo deny check bans licenses sources
