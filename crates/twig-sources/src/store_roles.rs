//! The roles of a database that has workspaces.

/// The roles that `twig store migrate` gives rights to, beside the one that owns the tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreRoles<'r> {
    /// Servers and commands connect with this one.
    pub app: Option<&'r str>,
    /// Dumps are made with this one.
    pub backup: Option<&'r str>,
}
