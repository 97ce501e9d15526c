//! The formats of `twig check` that other programs read: SARIF, and annotations of GitHub.

use std::fmt::Write as _;

use serde::Serialize;
use twig_core::{Problem, Severity};

/// The version of SARIF that is written, and where its schema is.
const SARIF: (&str, &str) = ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json");

/// A log in SARIF, the format that code scanning services read.
#[derive(Debug, Serialize)]
pub(super) struct SarifLog<'p> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'p>; 1],
}

#[derive(Debug, Serialize)]
struct SarifRun<'p> {
    tool: SarifTool,
    results: Vec<SarifResult<'p>>,
}

#[derive(Debug, Serialize)]
struct SarifTool {
    driver: SarifDriver,
}

#[derive(Debug, Serialize)]
struct SarifDriver {
    name: &'static str,
    version: &'static str,
    rules: Vec<SarifRule>,
}

#[derive(Debug, Serialize)]
struct SarifRule {
    id: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'p> {
    rule_id: &'static str,
    level: &'static str,
    message: SarifText,
    locations: [SarifLocation<'p>; 1],
}

#[derive(Debug, Serialize)]
struct SarifText {
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation<'p> {
    physical_location: SarifPlace<'p>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifPlace<'p> {
    artifact_location: SarifArtifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<SarifRegion<'p>>,
}

#[derive(Debug, Serialize)]
struct SarifArtifact {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion<'p> {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<SarifSnippet<'p>>,
}

#[derive(Debug, Serialize)]
struct SarifSnippet<'p> {
    text: &'p str,
}

/// All problems as one run.
pub(super) fn sarif(problems: &[Problem]) -> SarifLog<'_> {
    let mut codes: Vec<&'static str> = problems.iter().map(|it| it.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let driver = SarifDriver {
        name: "twig",
        version: env!("CARGO_PKG_VERSION"),
        rules: codes.into_iter().map(|id| SarifRule { id }).collect(),
    };
    let (version, schema) = SARIF;
    SarifLog {
        schema,
        version,
        runs: [SarifRun {
            tool: SarifTool { driver },
            results: problems.iter().map(result).collect(),
        }],
    }
}

fn result(problem: &Problem) -> SarifResult<'_> {
    let region = problem.line.map(|start_line| SarifRegion {
        start_line,
        start_column: problem.column,
        snippet: problem.excerpt.as_ref().map(|excerpt| SarifSnippet {
            text: &excerpt.text,
        }),
    });
    SarifResult {
        rule_id: problem.code.as_str(),
        // The same three words.
        level: problem.severity.as_str(),
        message: SarifText {
            text: with_help(problem, "; "),
        },
        locations: [SarifLocation {
            physical_location: SarifPlace {
                artifact_location: SarifArtifact {
                    uri: uri(&problem.path),
                },
                region,
            },
        }],
    }
}

/// A problem as a command of a GitHub workflow, which shows it beside its line.
pub(super) fn github(problem: &Problem) -> String {
    let command = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut line = format!("::{command} file={}", property(&problem.path));
    // Writing to a `String` cannot fail.
    if let Some(number) = problem.line {
        let _ = write!(line, ",line={number}");
    }
    if let Some(column) = problem.column {
        let _ = write!(line, ",col={column}");
    }
    let title = property(problem.code.as_str());
    let message = escaped(&with_help(problem, "\n"));
    let _ = write!(line, ",title={title}::{message}");
    line
}

fn with_help(problem: &Problem, between: &str) -> String {
    match &problem.help {
        Some(help) => format!("{}{between}help: {help}", problem.message),
        None => problem.message.clone(),
    }
}

/// Text after the last `::` of a workflow command.
fn escaped(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a workflow command.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

/// A path as a URI reference: relative, or that of a file.
fn uri(path: &str) -> String {
    let mut uri = if path.starts_with('/') {
        "file://".to_owned()
    } else {
        String::new()
    };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use twig_core::ProblemCode;

    use super::*;

    #[test]
    fn a_hostile_path_stays_one_property() {
        let problem = Problem::of_file(
            ProblemCode::ConfigSyntax,
            Severity::Note,
            "a,line=9::x\n%.md",
            "one\ntwo 100%",
        );
        let line = github(&problem.with_help("fix it"));
        assert_eq!(
            line,
            "::notice file=a%2Cline=9%3A%3Ax%0A%25.md,title=config-syntax::one%0Atwo 100%25%0Ahelp: fix it"
        );
    }

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("a b/ü.md"), "a%20b/%C3%BC.md");
        assert_eq!(uri("/a:b"), "file:///a%3Ab");
    }
}
