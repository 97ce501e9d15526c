//! Every code that a problem can have. Scripts rely on them; docs/problems.md describes each.

use std::fmt;

macro_rules! codes {
    ($($variant:ident = $text:literal,)*) => {
        /// A short name for a kind of problem, such as `missing-file`, that scripts can rely on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "docs/problems.md describes each code")]
        pub enum ProblemCode {
            $($variant,)*
        }

        impl ProblemCode {
            /// All of them, sorted.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as every output has it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

impl ProblemCode {
    /// True if a library has more of something than is read or served of it.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            Self::EmbeddedLimit
                | Self::MediaTooLarge
                | Self::SkillTooLarge
                | Self::TemplatesTooLarge
                | Self::TooDeep
                | Self::TooLarge
                | Self::TooManyArguments
                | Self::TooManyDocuments
                | Self::TooManyFiles
                | Self::TooManyMessages
                | Self::TooManyResources
        )
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<&str> for ProblemCode {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

codes! {
    AmbiguousNumber = "ambiguous-number",
    ArgumentWithoutTemplate = "argument-without-template",
    BadArgument = "bad-argument",
    BadArgumentName = "bad-argument-name",
    BadChoice = "bad-choice",
    BadCommand = "bad-command",
    BadConfig = "bad-config",
    BadContent = "bad-content",
    BadDefault = "bad-default",
    BadFileName = "bad-file-name",
    BadGrant = "bad-grant",
    BadLength = "bad-length",
    BadLibraryName = "bad-library-name",
    BadLock = "bad-lock",
    BadMessage = "bad-message",
    BadName = "bad-name",
    BadPath = "bad-path",
    BadPattern = "bad-pattern",
    BadPrompt = "bad-prompt",
    BadResource = "bad-resource",
    BadRole = "bad-role",
    BadScheme = "bad-scheme",
    BadSetting = "bad-setting",
    BadTemplate = "bad-template",
    BadTemplateKind = "bad-template-kind",
    BadTrust = "bad-trust",
    BinaryFile = "binary-file",
    BracesAreText = "braces-are-text",
    ByteOrderMark = "byte-order-mark",
    CommandAndText = "command-and-text",
    ConfigSyntax = "config-syntax",
    ConstantTooLarge = "constant-too-large",
    DefinitionSyntax = "definition-syntax",
    DuplicateArgument = "duplicate-argument",
    DuplicateDocument = "duplicate-document",
    DuplicateKey = "duplicate-key",
    DuplicateLibrary = "duplicate-library",
    DuplicatePrompt = "duplicate-prompt",
    DynamicInclude = "dynamic-include",
    EmbeddedLimit = "embedded-limit",
    EmptyFile = "empty-file",
    ExpressionTooLong = "expression-too-long",
    FailsToRender = "fails-to-render",
    FileAndMessages = "file-and-messages",
    FirstArgument = "first-argument",
    FolderLink = "folder-link",
    FrontMatter = "front-matter",
    HiddenText = "hidden-text",
    IncludeCycle = "include-cycle",
    IncludeDepth = "include-depth",
    LibraryRenamed = "library-renamed",
    LinkLoop = "link-loop",
    LiteralBraces = "literal-braces",
    LongDescription = "long-description",
    ManifestInDataFolder = "manifest-in-data-folder",
    ManifestSyntax = "manifest-syntax",
    MediaTooLarge = "media-too-large",
    MissingDocument = "missing-document",
    MissingField = "missing-field",
    MissingFile = "missing-file",
    MissingFolder = "missing-folder",
    MissingFunction = "missing-function",
    MissingInclude = "missing-include",
    MissingLibrary = "missing-library",
    MissingName = "missing-name",
    MoreProblems = "more-problems",
    NameCollision = "name-collision",
    NameMismatch = "name-mismatch",
    NestingTooDeep = "nesting-too-deep",
    NoChoices = "no-choices",
    NoDefinitions = "no-definitions",
    NoLibrary = "no-library",
    NoMessages = "no-messages",
    NoProject = "no-project",
    NoPrompts = "no-prompts",
    NotACommand = "not-a-command",
    NotAFile = "not-a-file",
    NotAFolder = "not-a-folder",
    NotAPrompt = "not-a-prompt",
    NotASkill = "not-a-skill",
    NotAnswering = "not-answering",
    NotExecutable = "not-executable",
    NotFollowed = "not-followed",
    NotInvocable = "not-invocable",
    NotServed = "not-served",
    NotText = "not-text",
    NotUtf8 = "not-utf8",
    OptionalInUri = "optional-in-uri",
    OutsideLibrary = "outside-library",
    PackageChanged = "package-changed",
    PackageMissing = "package-missing",
    PackageNames = "package-names",
    RequiredWithDefault = "required-with-default",
    ShadowedDocument = "shadowed-document",
    ShadowedPrompt = "shadowed-prompt",
    ShadowedSkill = "shadowed-skill",
    ShellLine = "shell-line",
    ShellVariable = "shell-variable",
    SkillTooLarge = "skill-too-large",
    Store = "store",
    StrangersFolder = "strangers-folder",
    TemplateSyntax = "template-syntax",
    TemplatesTooLarge = "templates-too-large",
    TextAndNumber = "text-and-number",
    TooDeep = "too-deep",
    TooLarge = "too-large",
    TooManyArguments = "too-many-arguments",
    TooManyBranches = "too-many-branches",
    TooManyDocuments = "too-many-documents",
    TooManyFiles = "too-many-files",
    TooManyIncludes = "too-many-includes",
    TooManyMessages = "too-many-messages",
    TooManyResources = "too-many-resources",
    TwinName = "twin-name",
    UnknownField = "unknown-field",
    UnknownFilter = "unknown-filter",
    UnknownFunction = "unknown-function",
    UnknownMedia = "unknown-media",
    UnknownMethod = "unknown-method",
    UnknownTest = "unknown-test",
    UnknownVariable = "unknown-variable",
    UnreadableFile = "unreadable-file",
    UnreadableFolder = "unreadable-folder",
    UnsupportedSyntax = "unsupported-syntax",
    Untrusted = "untrusted",
    UnusedArgument = "unused-argument",
    WrongType = "wrong-type",
}
