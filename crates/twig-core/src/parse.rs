//! Reading what authors wrote: manifests and front matter.

pub mod front_matter;
pub mod library;
