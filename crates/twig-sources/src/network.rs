//! File systems that other machines change without the system here being notified.

use std::path::Path;

use crate::platform::network_kind;

/// Kinds of file systems by their `statfs` number: NFS, SMB, CIFS, SMB2, 9p, FUSE, AFS (two), Ceph,
/// Coda, NCP and `VirtualBox` folders.
const NETWORK: [u32; 12] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x6573_5546,
    0x5346_414f,
    0x6b41_4653,
    0x00c3_6400,
    0x7375_7245,
    0x564c,
    0x786f_4256,
];

/// Whether a folder is on such a file system, where calls may also block. Only Linux tells.
pub fn is_network(path: &Path) -> bool {
    network_kind(path).is_some_and(|kind| NETWORK.contains(&kind))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn proc_is_no_network() {
        assert!(!is_network(Path::new("/proc")));
        assert!(!is_network(Path::new("/nowhere/at/all")));
    }
}
