//! What the holder of a page key may do: read, or edit as well.
//!
//! It follows from who the key was made for and from how the server runs now, so a key says nothing
//! by itself: a server that is started again with `--read-only` has no key that edits.

use serde::Serialize;
use twig_core::access::AccessRights;

use super::super::doorkeeper::Admission;
use super::keys::PageHolder;

/// What a page key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageScope {
    /// To read, and why no more than that.
    Read(OnlyReads),
    /// To edit: the user whose server it is edits their files and projects, a person the prompts of
    /// projects where they may write.
    Edit,
}

/// Why a page key only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnlyReads {
    /// The server was started with `--read-only`.
    Server,
    /// The token of the server is nobody's own.
    Token,
    /// The server was started without `--page-edit`.
    People,
    /// No role of the person lets them write anywhere.
    Roles,
}

/// What the server allows on its page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRules {
    /// True if nothing may be written.
    pub(crate) is_read_only: bool,
    /// True if people may edit what their roles let them write.
    pub(crate) people_edit: bool,
}

/// What the page says to a visitor about themselves.
#[derive(Debug, Serialize)]
pub(super) struct VisitorAnswer<'a> {
    name: Option<&'a str>,
    scope: &'static str,
    /// Why nothing can be edited.
    why: Option<&'static str>,
}

impl PageRules {
    /// What a holder of a key may do now.
    pub(super) fn scope(self, holder: &PageHolder, admission: &Admission) -> PageScope {
        if self.is_read_only {
            return PageScope::Read(OnlyReads::Server);
        }
        match holder {
            PageHolder::Owner => PageScope::Edit,
            PageHolder::Token(_) => PageScope::Read(OnlyReads::Token),
            PageHolder::Person(..) if !self.people_edit => PageScope::Read(OnlyReads::People),
            PageHolder::Person(..) if admission.rights().is_some_and(AccessRights::may_write) => {
                PageScope::Edit
            }
            PageHolder::Person(..) => PageScope::Read(OnlyReads::Roles),
        }
    }
}

impl PageScope {
    /// Why nothing can be edited; an error in one sentence.
    pub(super) fn check(self) -> Result<(), &'static str> {
        match self {
            Self::Edit => Ok(()),
            Self::Read(why) => Err(why.sentence()),
        }
    }

    /// What the page says to its holder.
    pub(super) fn answer(self, name: Option<&str>) -> VisitorAnswer<'_> {
        let why = self.check().err();
        VisitorAnswer {
            name,
            scope: if why.is_none() { "edit" } else { "read" },
            why,
        }
    }
}

impl OnlyReads {
    fn sentence(self) -> &'static str {
        match self {
            Self::Server => {
                "Nothing can be edited here: this server was started with `--read-only`."
            }
            Self::Token => {
                "The token of a server only reads: type a key of your own, or run `twig page` on the \
                 machine of the server."
            }
            Self::People => {
                "People cannot edit here: this server was started without `--page-edit`."
            }
            Self::Roles => {
                "Your roles let you read, and write nowhere: ask for the role `writer` in a project."
            }
        }
    }
}
