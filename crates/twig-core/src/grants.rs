//! What a function asks for beyond its library: files, the network, variables of the environment.
//! The user grants all of it together with the trust in its library.

use std::fmt;

/// What one function asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Whether it reads the repository in which the caller works.
    pub repository: bool,
    /// The files and folders that it reads, as the author wrote them: they start with `/` or `~/`
    /// and have no `..`.
    pub paths: Vec<Box<str>>,
    /// Whether it connects to other hosts.
    pub network: bool,
    /// The variables that it gets from the environment.
    pub environment: Vec<Box<str>>,
}

/// One of them, as `twig.toml` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant<'g> {
    /// `read = ["repository"]`
    Repository,
    /// `read = ["~/notes"]`
    Path(&'g str),
    /// `network = true`
    Network,
    /// `environment = ["AWS_PROFILE"]`
    Variable(&'g str),
}

impl Grants {
    /// Everything that it asks for.
    pub fn iter(&self) -> impl Iterator<Item = Grant<'_>> {
        let repository = self.repository.then_some(Grant::Repository);
        let paths = self.paths.iter().map(|path| Grant::Path(path));
        let network = self.network.then_some(Grant::Network);
        let variables = self.environment.iter().map(|name| Grant::Variable(name));
        repository
            .into_iter()
            .chain(paths)
            .chain(network)
            .chain(variables)
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repository => f.write_str("read = [\"repository\"]"),
            Self::Path(path) => write!(f, "read = [{path:?}]"),
            Self::Network => f.write_str("network = true"),
            Self::Variable(name) => write!(f, "environment = [{name:?}]"),
        }
    }
}
