//! The limits that protect a running server, all in one place.
//!
//! Each is a default that the configuration can change. Each has a test at the limit and one beyond
//! it.

/// Levels that a TOML or JSON text may nest. It protects the stacks of threads, so it cannot be
/// configured.
pub const NESTING: usize = 32;

/// Levels that a YAML text may nest. Its reader takes twice the time and memory for each level of
/// maps that are keys of maps, so without this limit a few bytes could take gigabytes.
pub const YAML_NESTING: usize = 12;

/// Bytes that are read of any file of a library, even where the configured limits are lower.
const LIBRARY_FILE: usize = 1024 * 1024;

/// Errors of one file, and warnings, that are told one by one; more of them are counted.
pub const PROBLEMS: usize = 300;

/// The refusal of a request that cannot wait any longer, or not at all.
pub const TOO_MANY_WAIT: &str = "Too many requests are waiting: ask again in a moment";

/// How much of anything is accepted before it is refused with a sentence that names the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one template's source.
    pub template_source: usize,
    /// Bytes of all templates of one prompt, each file counted once however often it is included.
    ///
    /// A compiled template takes up to fifty times its source, so this bounds the memory that one
    /// prompt can take.
    pub template_sources: usize,
    /// Bytes of a manifest (`twig.toml`).
    ///
    /// It is large enough for an imported catalogue: 1,470 prompts take 547 KB. Without titles that
    /// only repeat the name and with one sentence of each description they would still take 376 KB,
    /// and 310 KB with inline arguments: more than 256 KiB, and less to see in every list.
    pub manifest: usize,
    /// Bytes of front matter.
    pub front_matter: usize,
    /// Arguments one prompt may declare.
    pub arguments: usize,
    /// Messages one prompt may have.
    pub messages: usize,
    /// Bytes of one argument's value.
    pub argument_value: usize,
    /// Bytes of all argument values of one request.
    pub argument_values: usize,
    /// Bytes of rendered text of one prompt.
    pub rendered: usize,
    /// Bytes of the images and audio of one prompt.
    pub media: usize,
    /// Documents that one prompt may embed.
    pub embedded: usize,
    /// Bytes of the documents that one prompt embeds.
    pub embedded_bytes: usize,
    /// Files that the list of one skill may have.
    pub skill_files: usize,
    /// Bytes of the files in the list of one skill.
    pub skill_bytes: usize,
    /// Bytes of one document.
    pub document: usize,
    /// Bytes of a prompt that is served verbatim.
    pub verbatim: usize,
    /// Prompts and resources that one project may hold.
    pub project_items: usize,
    /// Bytes that the versions of one project may take.
    pub project_history: usize,
    /// Milliseconds that a write may wait for its turn.
    pub store_millis: u64,
    /// How deep includes may nest.
    pub include_depth: usize,
    /// How many includes one template may pull in, counted with repetition.
    pub includes: usize,
    /// Milliseconds that a computed template may take.
    pub render_millis: u64,
    /// Milliseconds that a request may wait for its turn: for a render worker, a prompt function, or
    /// room for a long message or reply.
    pub queue_millis: u64,
    /// Milliseconds that a prompt function may take.
    pub function_millis: u64,
    /// Milliseconds that a client may take to answer a question.
    pub answer_millis: u64,
    /// Bytes that a prompt function may print.
    pub function_output: usize,
    /// Bytes of one protocol message.
    pub message: usize,
    /// How deep the JSON of a protocol message may nest.
    pub json_depth: usize,
    /// Prompts on one page of `prompts/list`.
    pub page: usize,
    /// Values that a completion offers.
    pub completions: usize,
    /// Open subscriptions of one client.
    pub subscriptions: usize,
    /// Computed renders of one client that may run at once.
    pub in_flight: usize,
}

impl Limits {
    /// Bytes that are read of one file of a library; what a template may measure is checked later.
    pub fn library_file(&self) -> usize {
        self.template_source.max(self.verbatim).max(LIBRARY_FILE)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            template_source: 128 * 1024,
            template_sources: 1024 * 1024,
            manifest: 1024 * 1024,
            front_matter: 64 * 1024,
            arguments: 64,
            messages: 64,
            argument_value: 256 * 1024,
            argument_values: 1024 * 1024,
            rendered: 1024 * 1024,
            media: 4 * 1024 * 1024,
            embedded: 50,
            embedded_bytes: 1024 * 1024,
            skill_files: 512,
            skill_bytes: 16 * 1024 * 1024,
            document: 16 * 1024 * 1024,
            verbatim: 1024 * 1024,
            project_items: 10_000,
            project_history: 256 * 1024 * 1024,
            store_millis: 10_000,
            include_depth: 8,
            includes: 64,
            render_millis: 1_000,
            queue_millis: 20_000,
            function_millis: 10_000,
            answer_millis: 60_000,
            function_output: 1024 * 1024,
            message: 4 * 1024 * 1024,
            json_depth: 128,
            page: 1_000,
            completions: 100,
            subscriptions: 64,
            in_flight: 64,
        }
    }
}
