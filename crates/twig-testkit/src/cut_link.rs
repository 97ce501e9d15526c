//! A network of two ends, one of them in a namespace, that can lose every packet.

use std::path::Path;
use std::process::{Command, Stdio};

/// The part of the names and addresses that tells links of different processes apart.
fn own() -> u32 {
    std::process::id() % 60_000
}

/// A link; dropping this removes it.
#[derive(Debug)]
pub struct CutLink {
    namespace: String,
    /// The first parts of both addresses.
    network: String,
}

impl CutLink {
    /// Makes a link; `None`, and a line that says so, where that is not allowed.
    #[allow(clippy::print_stderr, reason = "a skipped test says so")]
    pub fn new() -> Option<Self> {
        let own = own();
        let link = Self {
            namespace: format!("twig{own}"),
            network: format!("10.{}.{}", 100 + own / 256 % 100, own % 256),
        };
        let (name, network) = (&link.namespace, &link.network);
        let steps = [
            format!("netns add {name}"),
            format!("link add {name}h type veth peer name {name}n netns {name}"),
            format!("addr add {network}.1/30 dev {name}h"),
            format!("link set {name}h up"),
            format!("-n {name} addr add {network}.2/30 dev {name}n"),
            format!("-n {name} link set {name}n up"),
        ];
        if steps.iter().all(|step| ip(step)) {
            return Some(link);
        }
        eprintln!("skipped: no network can be made here");
        None
    }

    /// The address of the end outside.
    pub fn outside(&self) -> String {
        format!("{}.1", self.network)
    }

    /// A program that runs at the other end.
    pub fn inside(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.namespace])
            .arg(program);
        command
    }

    /// Loses every packet from the inside: they go to a card that is not there.
    pub fn cut(&self) {
        let (name, outside) = (&self.namespace, self.outside());
        let nowhere = "lladdr 02:00:00:00:00:99 nud permanent";
        let step = format!("-n {name} neigh replace {outside} dev {name}n {nowhere}");
        assert!(ip(&step), "{step}");
    }

    /// Resets every connection across the link: both ends get an error with their next packet.
    pub fn reset(&self) {
        let mut command = Command::new("ss");
        command.args(["-K", "src", &self.outside()]);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    }

    /// Loses none any more.
    pub fn heal(&self) {
        let (name, outside) = (&self.namespace, self.outside());
        let step = format!("-n {name} neigh del {outside} dev {name}n");
        assert!(ip(&step), "{step}");
    }
}

impl Drop for CutLink {
    fn drop(&mut self) {
        ip(&format!("link del {}h", self.namespace));
        ip(&format!("netns del {}", self.namespace));
    }
}

fn ip(step: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(step.split(' '));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
