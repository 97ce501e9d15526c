//! A program that a client starts as a server: converts to and from the format of its file.

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
    /// The entry of that name that a client reads.
    pub(crate) fn entry(&self, form: Form, name: &str) -> ConfigNode {
        let mut entry = Vec::new();
        let mut add = |key: &str, node: ConfigNode| entry.push((key.to_owned(), node));
        let env = ConfigNode::Table(
            self.env
                .iter()
                .map(|(name, value)| (name.clone(), ConfigNode::text(value)))
                .collect(),
        );
        match form {
            Form::Plain | Form::Typed | Form::AllTools | Form::Named => {
                match form {
                    Form::Typed => add("type", ConfigNode::text("stdio")),
                    Form::AllTools => add("type", ConfigNode::text("local")),
                    Form::Named => add("name", ConfigNode::text(name)),
                    _ => {}
                }
                add("command", ConfigNode::text(&self.program));
                add("args", ConfigNode::List(self.args.clone()));
                if !self.env.is_empty() {
                    add("env", env);
                }
                if form == Form::AllTools {
                    add("tools", ConfigNode::List(vec!["*".to_owned()]));
                }
            }
            Form::Extension => {
                add("enabled", ConfigNode::Flag(true));
                add("type", ConfigNode::text("stdio"));
                add("name", ConfigNode::text(name));
                add("cmd", ConfigNode::text(&self.program));
                add("args", ConfigNode::List(self.args.clone()));
                if !self.env.is_empty() {
                    add("envs", env);
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

/// Every form is read in every file: users copy entries from one client to another.
pub(super) fn read(value: &Value) -> Option<ClientLaunch> {
    let words = |value: &Value| -> Option<Vec<String>> {
        let items = value.as_array()?.iter();
        items.map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let command = value.get("command").or_else(|| value.get("cmd"));
    let (program, args) = match command? {
        Value::String(program) => {
            let args = value.get("args").map_or(Some(Vec::new()), words)?;
            (program.clone(), args)
        }
        list => {
            let mut words = words(list)?.into_iter();
            (words.next()?, words.collect())
        }
    };
    let env = ["env", "environment", "envs"];
    let env = env.into_iter().find_map(|key| value.get(key));
    let env = env.map_or(Some(BTreeMap::new()), |env| {
        let pairs = env.as_object()?.iter();
        pairs
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    })?;
    Some(ClientLaunch { program, args, env })
}
