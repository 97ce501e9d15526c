//! How a client starts a server: converts to and from the format of its file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
pub(crate) use twig_clients::clients::EntryForm as Form;

use super::node::ConfigNode;

/// A program that a client starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ClientLaunch {
    #[serde(rename = "command")]
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, String>,
}

impl ClientLaunch {
    /// The entry that a client reads.
    pub(crate) fn entry(&self, form: Form) -> ConfigNode {
        let mut entry = Vec::new();
        let mut add = |key: &str, node: ConfigNode| entry.push((key.to_owned(), node));
        let env = ConfigNode::Table(
            self.env
                .iter()
                .map(|(name, value)| (name.clone(), ConfigNode::text(value)))
                .collect(),
        );
        match form {
            Form::Plain | Form::Typed => {
                if form == Form::Typed {
                    add("type", ConfigNode::text("stdio"));
                }
                add("command", ConfigNode::text(&self.program));
                add("args", ConfigNode::List(self.args.clone()));
                if !self.env.is_empty() {
                    add("env", env);
                }
            }
            Form::Enabled | Form::Local => {
                let words = [&self.program].into_iter().chain(&self.args);
                add("type", ConfigNode::text("local"));
                add("command", ConfigNode::List(words.cloned().collect()));
                if form == Form::Enabled {
                    add("enabled", ConfigNode::Flag(true));
                }
                if !self.env.is_empty() {
                    add("environment", env);
                }
            }
        }
        ConfigNode::Table(entry)
    }

    /// Whether it starts a Twig that serves.
    pub(crate) fn is_twig(&self) -> bool {
        let word = self.args.first().map(String::as_str);
        self.is_twig_program() && matches!(word, Some("serve" | "start"))
    }

    /// Whether it starts a program with that name, or the running one, with any arguments.
    pub(crate) fn is_twig_program(&self) -> bool {
        let name = Path::new(&self.program).file_name();
        let is_named = name.is_some_and(|name| name == "twig" || name == "twig.exe");
        is_named || self.is_this()
    }

    /// Whether it starts the running program, whatever its name.
    fn is_this(&self) -> bool {
        let program = Path::new(&self.program);
        let Ok(own) = std::env::current_exe() else {
            return false;
        };
        let real = |path: &Path| path.canonicalize().ok();
        let is_same = || real(program).is_some_and(|program| Some(program) == real(&own));
        program.is_absolute() && (program == own || is_same())
    }
}

/// A server in a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    /// `None` if it is not a program, or written in an unknown form.
    pub(crate) launch: Option<ClientLaunch>,
    /// The folder that it is started in, if the file names one.
    pub(crate) folder: Option<String>,
    /// Whether the file disables it.
    pub(crate) is_off: bool,
    /// Its source text in the file.
    pub(crate) raw: String,
}

impl ServerEntry {
    pub(crate) fn read(name: String, value: &Value, raw: String) -> Self {
        let flag = |key: &str| value.get(key).and_then(Value::as_bool);
        Self {
            name,
            launch: launch(value),
            folder: value.get("cwd").and_then(Value::as_str).map(str::to_owned),
            is_off: flag("disabled") == Some(true) || flag("enabled") == Some(false),
            raw,
        }
    }

    pub(crate) fn is_twig(&self) -> bool {
        self.launch.as_ref().is_some_and(ClientLaunch::is_twig)
    }
}

/// Every form is read in every file: users copy entries from one client to another.
fn launch(value: &Value) -> Option<ClientLaunch> {
    let words = |value: &Value| -> Option<Vec<String>> {
        let items = value.as_array()?.iter();
        items.map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let (program, args) = match value.get("command")? {
        Value::String(program) => {
            let args = value.get("args").map_or(Some(Vec::new()), words)?;
            (program.clone(), args)
        }
        list => {
            let mut words = words(list)?.into_iter();
            (words.next()?, words.collect())
        }
    };
    let env = value.get("env").or_else(|| value.get("environment"));
    let env = env.map_or(Some(BTreeMap::new()), |env| {
        let pairs = env.as_object()?.iter();
        pairs
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    })?;
    Some(ClientLaunch { program, args, env })
}
