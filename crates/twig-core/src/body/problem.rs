//! The one table from read errors to problems: code, severity, message and help.

use super::{BodyError, NotAFile};
use crate::problem::{Problem, ProblemCode, Severity};

/// What a file is to its library: the same error needs different advice for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRole {
    /// The text of a prompt, named by a manifest, a definition or a template.
    PromptText,
    /// A file of another client that is a prompt itself.
    ClientPrompt,
    /// `twig.toml`.
    Manifest,
    /// The `config.toml` of a repository.
    Configuration,
    /// A definition of a prompt.
    Definition,
    /// One of the two files of a library of functions.
    Functions,
    /// The program of a prompt.
    Program,
    /// A document.
    Document,
    /// A file of a skill.
    SkillFile,
    /// A folder whose files matter.
    Folder,
    /// A folder that only a symlink in the library points to.
    LinkedFolder,
}

impl FileRole {
    /// True for files that were found in a listing: if one is missing, it is a broken symlink.
    fn is_listed(self) -> bool {
        use FileRole::{ClientPrompt, Configuration, Definition, Document, Manifest, SkillFile};
        matches!(
            self,
            Manifest | Configuration | Definition | ClientPrompt | Document | SkillFile
        )
    }
}

impl BodyError {
    /// The problem of a file at `path`, which is shown to people as `shown`.
    pub fn problem(&self, role: FileRole, path: &str, shown: &str) -> Problem {
        let (code, severity, help) = self.advice(role);
        let help = match self {
            Self::NotExecutable => format!("run `chmod +x {shown}`"),
            _ => help.to_owned(),
        };
        Problem::of_file(code, severity, path, self.sentence(role, shown)).with_help(help)
    }

    /// What is wrong, in one sentence, the same when loading and when rendering.
    pub fn sentence(&self, role: FileRole, shown: &str) -> String {
        match (role, self) {
            (_, Self::Store(error) | Self::Lost(error)) => error.clone(),
            (FileRole::PromptText | FileRole::ClientPrompt, Self::NotFound) => {
                format!("Prompt content file not found: {shown}")
            }
            (FileRole::Program, Self::NotFound) => {
                format!("Program of the prompt not found: {shown}")
            }
            (FileRole::PromptText | FileRole::ClientPrompt, _) => {
                format!("Prompt content file {shown} {self}")
            }
            (FileRole::Program, _) => format!("Program of the prompt {shown} {self}"),
            (FileRole::Definition, _) => format!("the definition {shown} {}", self.what(role)),
            _ => format!("{shown} {}", self.what(role)),
        }
    }

    /// What is wrong; follows the path.
    fn what(&self, role: FileRole) -> String {
        let what = match (self, role) {
            (Self::NotFound | Self::NotAFile(_), FileRole::Folder) => "is not a folder",
            (Self::NotFound, role) if role.is_listed() => "is a broken symlink",
            (Self::NotAFile(NotAFile::Folder), FileRole::Document) => {
                "is a symlink to a folder, which is not followed"
            }
            (_, FileRole::LinkedFolder) if *self == Self::Outside => {
                "is a symlink to a folder outside the library, which is not read"
            }
            (_, FileRole::LinkedFolder) => {
                "is a symlink to a folder of this library, which is read where it is"
            }
            (Self::Outside, FileRole::Document) => "points outside the documents folder",
            (Self::Unreadable(_) | Self::Loop, FileRole::Folder) => {
                return format!("cannot be listed: {self}");
            }
            _ => return self.to_string(),
        };
        what.to_owned()
    }

    fn advice(&self, role: FileRole) -> (ProblemCode, Severity, &'static str) {
        use FileRole::{
            ClientPrompt, Definition, Document, Folder, Functions, LinkedFolder, Manifest, Program,
            PromptText, SkillFile,
        };
        let (code, help) = match (self, role) {
            (Self::Outside, LinkedFolder) => {
                let help = "add the folder that it points to with `twig library add`";
                return (ProblemCode::OutsideLibrary, Severity::Warning, help);
            }
            (_, LinkedFolder) => {
                let help = "remove the symlink if nothing else needs it";
                return (ProblemCode::FolderLink, Severity::Note, help);
            }
            (Self::NotAFile(NotAFile::Folder), Document) => {
                let help = "move the folder here, or name it as `folder` under [documents]";
                return (ProblemCode::FolderLink, Severity::Warning, help);
            }
            (Self::NotFound | Self::NotAFile(_), Folder) => {
                (ProblemCode::NotAFolder, "put a folder of that name there")
            }
            (Self::Unreadable(_) | Self::Loop, Folder) => (
                ProblemCode::UnreadableFolder,
                "check the folder's permissions",
            ),
            (Self::NotFound, role) => {
                let help = match role {
                    PromptText => "create the file, or name another with `file`",
                    Program => {
                        "the first word of `command` is a file of the library: create it, or correct the path"
                    }
                    Functions => "put it there, as UTF-8 text",
                    _ => "fix or remove it",
                };
                (ProblemCode::MissingFile, help)
            }
            (Self::Outside, role) => {
                let help = match role {
                    Document => "copy the file into the documents folder",
                    SkillFile => "copy the file into the skill",
                    Folder => "copy the folder into the library",
                    _ => "copy the file into the library",
                };
                (ProblemCode::OutsideLibrary, help)
            }
            (Self::OutsideProject, _) => (
                ProblemCode::OutsideLibrary,
                "name the folder itself, inside the project",
            ),
            (Self::NotAFile(_), role) => {
                let help = match role {
                    Document | SkillFile => "keep only regular files there",
                    Program => "put a program there",
                    _ => "put a regular text file there",
                };
                (ProblemCode::NotAFile, help)
            }
            (Self::TooLarge { .. }, role) => {
                let help = match role {
                    PromptText => "split it and `{% include %}` the parts",
                    Document | SkillFile => "split it, or set `document` under [limits]",
                    Manifest | Functions => "split the library in two",
                    Definition => "make it shorter",
                    // Such a file cannot include others.
                    ClientPrompt => "split it in two, or raise `verbatim` under [limits]",
                    _ => "make it smaller",
                };
                (ProblemCode::TooLarge, help)
            }
            (Self::Altered, _) => (
                ProblemCode::PackageChanged,
                "run `twig verify`, then `twig install --repair` to fetch it again",
            ),
            (Self::NoRoom { .. }, _) => (
                ProblemCode::TooLarge,
                "move some of the files to another folder",
            ),
            (Self::NotUtf8 { .. } | Self::Utf16, _) => {
                (ProblemCode::NotUtf8, "save the file as UTF-8")
            }
            (Self::Binary { .. }, _) => (
                ProblemCode::BinaryFile,
                "it has to be text; remove the NUL bytes",
            ),
            (Self::Loop, _) => (ProblemCode::LinkLoop, "replace the symlink with a file"),
            (Self::NotExecutable, _) => (ProblemCode::NotExecutable, "make it executable"),
            (Self::Store(_) | Self::Lost(_), _) => {
                (ProblemCode::Store, "run `twig doctor` to see what is wrong")
            }
            (Self::Unreadable(_), _) => {
                (ProblemCode::UnreadableFile, "check the file's permissions")
            }
        };
        (code, Severity::Error, help)
    }
}
