//! An agent that calls tools: jobs are run at once, writes go to a store in memory.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use twig_core::search::Hit;
use twig_core::store::{
    Change, Decision, Item, ItemKind, ItemWrite, LabelChange, LabelName, LabelWrite,
    LabelledVersion, Noun, Operation, Project, StoreError, StoreName, Timestamp, Version,
    VersionChoice, Write, Written, decide, library,
};
use twig_core::{FunctionOutcome, Library, Limits, suggest};
use twig_mcp::{FoundVersions, Job, Tools, VersionsRequest, Work, WorkOutcome};

use crate::support::{Peer, modern, request, values};

/// What every project of these tests is called.
pub(crate) const PROJECT: &str = "auth-module";

/// One client of a server with a project.
pub(crate) struct Agent {
    pub(crate) peer: Peer,
    pub(crate) store: Store,
    /// What searches find.
    pub(crate) found: Result<Vec<Hit>, String>,
    /// What functions print.
    pub(crate) printed: FunctionOutcome,
    /// Whether requests are modern ones.
    pub(crate) is_modern: bool,
    others: Vec<Library>,
}

impl Agent {
    /// With an empty project.
    pub(crate) fn new() -> Self {
        Self::with(Vec::new(), Tools::default())
    }

    /// With an empty project and these libraries.
    pub(crate) fn with(others: Vec<Library>, tools: Tools) -> Self {
        let mut agent = Self::without_project(others, for_project(tools));
        agent.select();
        agent
    }

    /// Without a project.
    pub(crate) fn without_project(others: Vec<Library>, tools: Tools) -> Self {
        Self {
            peer: Peer::with_tools(others.clone(), Limits::default(), tools),
            store: Store::default(),
            found: Ok(Vec::new()),
            printed: FunctionOutcome::Refused("Nothing runs here".to_owned()),
            is_modern: false,
            others,
        }
    }

    /// Serves the project as it is now; gives what is announced.
    pub(crate) fn select(&mut self) -> Vec<Value> {
        for (key, text) in &self.store.texts {
            self.peer.bodies.insert(key, text.as_str());
        }
        let project = library(&self.store.project(), "main");
        let others = self.others.iter().cloned();
        self.peer
            .publish([project].into_iter().chain(others).collect())
    }

    /// Calls a tool and gives the whole reply.
    pub(crate) fn reply(&mut self, tool: &str, arguments: Value) -> Value {
        let (job, heard) = self.start(tool, arguments);
        match job {
            None => values(&heard).remove(0),
            Some(job) => self.run(job).unwrap(),
        }
    }

    /// Calls a tool and gives its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.reply(tool, arguments);
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].clone()
    }

    /// The text of what a tool says, after a look that it went well.
    pub(crate) fn says(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        text(&result)
    }

    /// The text of what a tool says, after a look that it failed.
    pub(crate) fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert!(result.get("structuredContent").is_none());
        text(&result)
    }

    /// Calls a tool that may start a job.
    pub(crate) fn start(&mut self, tool: &str, arguments: Value) -> (Option<Job>, String) {
        let mut params = json!({"name": tool, "arguments": arguments});
        if self.is_modern {
            params = modern(params, json!({}));
        }
        self.peer.start(request(1, "tools/call", params))
    }

    /// Runs a job and gives the answer, if there is one.
    pub(crate) fn run(&mut self, job: Job) -> Option<Value> {
        let done = match job.work {
            Work::Render(render) => WorkOutcome::Render(twig_core::template::run(&render)),
            Work::Function(_) => WorkOutcome::Function(self.printed.clone()),
            Work::Search(_) => WorkOutcome::Search(self.found.clone()),
            Work::Versions(request) => WorkOutcome::Versions(self.store.versions(&request)),
            Work::Question => WorkOutcome::Unanswered,
            Work::Write(write) => {
                let outcome = match *write {
                    Write::Item(write) => self.store.write(&write),
                    Write::Label(write) => self.store.label(&write),
                    other => panic!("{other:?}"),
                };
                self.select();
                WorkOutcome::Write(outcome)
            }
        };
        let mut out = Vec::new();
        self.peer.connection.finish(job.ticket, done, &mut out);
        values(&String::from_utf8(out).unwrap()).pop()
    }
}

/// The same tools, for a project.
pub(crate) fn for_project(tools: Tools) -> Tools {
    Tools {
        project: StoreName::parse(Noun::Project, PROJECT).ok(),
        ..tools
    }
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> String {
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A store in memory, which decides as every store does.
#[derive(Default)]
pub(crate) struct Store {
    items: BTreeMap<(ItemKind, StoreName), Vec<Version>>,
    /// By the digest of the content, as text.
    texts: BTreeMap<String, String>,
    labels: BTreeMap<(ItemKind, StoreName), BTreeMap<LabelName, u64>>,
}

impl Store {
    pub(crate) fn history(&self, kind: ItemKind, name: &str) -> &[Version] {
        let name = StoreName::parse(kind.noun(), name).unwrap();
        &self.items[&(kind, name)]
    }

    fn versions(&self, request: &VersionsRequest) -> Result<FoundVersions, StoreError> {
        let query = &request.query;
        let key = (query.kind, query.name.clone());
        let Some(versions) = self.items.get(&key) else {
            return Err(self.with_near(StoreError::Missing {
                kind: query.kind,
                name: query.name.clone(),
                project: query.project.clone(),
                near: Vec::new(),
            }));
        };
        let before = query.before.unwrap_or(u64::MAX);
        let labels = self.labels.get(&key).cloned().unwrap_or_default();
        let last = versions.len() as u64;
        let only = match &query.only {
            None => None,
            Some(VersionChoice::Number(number)) if *number > last => {
                return Err(StoreError::NoVersion {
                    kind: query.kind,
                    name: query.name.clone(),
                    version: *number,
                    first: 1,
                    last,
                });
            }
            Some(VersionChoice::Number(number)) => Some(*number),
            Some(VersionChoice::Label(label)) => match labels.get(label) {
                Some(number) => Some(*number),
                None => {
                    return Err(StoreError::NoLabel {
                        kind: query.kind,
                        name: query.name.clone(),
                        label: label.clone(),
                        labels: labels.into_keys().collect(),
                    });
                }
            },
        };
        let is_chosen = |number| only.is_none_or(|only| only == number);
        let fitting = versions.iter().rev();
        let fitting = fitting.filter(|it| it.number < before && is_chosen(it.number));
        let versions: Vec<Version> = fitting.take(query.most).cloned().collect();
        let first = versions.first().filter(|_| request.wants_content);
        let content = first.map(|first| {
            let hex = first.content.digest.map(|byte| format!("{byte:02x}"));
            self.texts[&hex.concat()].clone().into_bytes()
        });
        Ok(FoundVersions {
            versions,
            content,
            labels: labels.into_iter().collect(),
        })
    }

    /// Sets a label; one that is called `production` is protected.
    fn label(&mut self, write: &LabelWrite) -> Result<Written, StoreError> {
        let (label, project) = (write.label.clone(), write.project.clone());
        if label.as_str() == "production" && !write.is_admin {
            return Err(StoreError::LabelProtected { label, project });
        }
        let key = (write.kind, write.name.clone());
        let LabelChange::Set { version } = write.change else {
            panic!("{write:?}")
        };
        let version = version.unwrap_or(self.items[&key].len() as u64);
        let labels = self.labels.entry(key).or_default();
        let before = labels.insert(label, version);
        Ok(Written {
            version,
            operation: None,
            is_new: before != Some(version),
            at: Timestamp(0),
        })
    }

    /// As a store does, which knows what there is.
    fn with_near(&self, mut error: StoreError) -> StoreError {
        if let StoreError::Missing {
            kind, name, near, ..
        } = &mut error
        {
            let is_other = |key: &&(ItemKind, StoreName)| key.0 == *kind && key.1 != *name;
            let items = self.items.keys().filter(is_other);
            let names = suggest::near(name.as_str(), items.map(|(_, name)| name.as_str()));
            *near = names.into_iter().map(Box::from).collect();
        }
        error
    }

    fn write(&mut self, write: &ItemWrite) -> Result<Written, StoreError> {
        assert_eq!(write.project.as_str(), PROJECT);
        let key = (write.kind, write.name.clone());
        let versions = self.items.get(&key).map(Vec::as_slice).unwrap_or_default();
        let head = versions.last();
        let wanted = match &write.change {
            Change::Restore { version } => versions.iter().find(|it| Some(it.number) == *version),
            _ => None,
        };
        let decision = decide(write, head, wanted, &Limits::default());
        let decision = decision.map_err(|error| self.with_near(error))?;
        let number = versions.len() as u64;
        let (number, operation, is_new) = match decision {
            Decision::Unchanged => (number, head.unwrap().operation, false),
            Decision::Append(next) => {
                let version = Version {
                    number: number + 1,
                    operation: next.operation,
                    description: next.description,
                    uri: next.uri,
                    mime: next.mime,
                    content: next.content,
                    at: Timestamp(0),
                    author: write.author.label(),
                };
                let digest = version.content.digest;
                let hex = digest.map(|byte| format!("{byte:02x}")).concat();
                if let Some(bytes) = next.new_content {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    self.texts.insert(hex, text);
                }
                self.items.entry(key).or_default().push(version);
                (number + 1, next.operation, true)
            }
        };
        Ok(Written {
            version: number,
            operation: Some(operation),
            is_new,
            at: Timestamp(0),
        })
    }

    fn labelled(&self, kind: ItemKind, name: &StoreName) -> Vec<LabelledVersion> {
        let key = (kind, name.clone());
        let labels = self.labels.get(&key).into_iter().flatten();
        let labelled = labels.map(|(label, number)| LabelledVersion {
            label: label.clone(),
            version: self.items[&key][usize::try_from(*number).unwrap() - 1].clone(),
        });
        labelled.collect()
    }

    fn project(&self) -> Project {
        let items = self.items.iter().filter_map(|((kind, name), versions)| {
            let head = versions.last()?.clone();
            (head.operation != Operation::Delete).then(|| Item {
                kind: *kind,
                name: name.clone(),
                head,
                labels: self.labelled(*kind, name),
            })
        });
        Project {
            id: [0; 16],
            name: StoreName::parse(Noun::Project, PROJECT).unwrap(),
            revision: 0,
            items: items.collect(),
        }
    }
}
