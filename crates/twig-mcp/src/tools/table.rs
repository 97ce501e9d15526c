//! The tools, in the order in which they are listed.
//!
//! Names, descriptions and arguments are promises to clients: existing clients depend on the exact
//! words of the first two, where sentences are only added, and of the six from `create_prompt` on.

use twig_core::store::ItemKind::{Prompt, Resource};

use super::expand::PromptForm;
use super::search;
use super::tool::Verb::{Create, Delete, Update};
use super::tool::{Does, Parameter, Takes, Tool};

/// Every tool; the first two stay first.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "list_prompts",
        title: "List prompts",
        description: "List available prompt commands with descriptions. Users invoke prompt commands in messages by writing {trigger}<command> (e.g., {trigger}research topic); this lists what commands exist. A long list comes in pages: while a result has nextCursor, call again with it as cursor. To find a prompt for a task, use search.",
        parameters: &[
            Parameter {
                name: "filter",
                description: "List only prompts with all these words in their name, title or description; `*` in a word stands for any characters of the whole name, as in `git:*` (optional)",
                takes: Takes::Line(search::LONGEST),
                is_required: false,
            },
            CURSOR,
        ],
        is_strict: false,
        output: Some(
            r#"{"type":"object","properties":{"prompts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"version":{"type":"integer"},"package":{"type":"object","properties":{"name":{"type":"string"},"source":{"type":"string"},"version":{"type":"string"}},"required":["name","version"]},"arguments":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"required":{"type":"boolean"},"choices":{"type":"array","items":{"type":"string"}},"default":{"type":"string"}},"required":["name","required"]}}},"required":["name","description"]}},"nextCursor":{"type":"string"}},"required":["prompts"]}"#,
        ),
        does: Does::ListPrompts,
    },
    Tool {
        name: "expand_prompt",
        title: "Expand a prompt",
        description: "Expands a named prompt command into a full prompt. When ANY user message contains a {trigger}-prefixed command token (e.g., {trigger}research topic, {trigger}summarize this article, {trigger}critique \"draft\"), you MUST call this tool before responding. Strip the leading {trigger word} from the command name and pass any remaining text (including quotes) as the input. Do not bypass this tool or answer directly whenever a {trigger}-prefixed command is present. Call use_prompt instead if you can: it takes the same arguments and returns the prompt as plain text with its images and documents, not as JSON.",
        parameters: &[
            needed(
                "command",
                "Prompt command name (filename without extension), as list_prompts and search give it, with the library in front if there is one",
            ),
            needed("input", "Text to inject into the prompt template"),
        ],
        is_strict: false,
        output: Some(
            r#"{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}"#,
        ),
        does: Does::ExpandPrompt(PromptForm::Json),
    },
    Tool {
        name: "use_prompt",
        title: "Use a prompt",
        description: "Use a prompt, command or skill of the user: returns its text, images and documents as plain content, which you then follow. When a user message contains a {trigger}-prefixed command token (e.g., {trigger}research topic, {trigger}fix-issue 12), call this tool before you respond: pass the name without the leading {trigger word} as the command and all remaining text, quotes included, as the input. Also use it for a prompt or skill that search found.",
        parameters: &[
            needed(
                "command",
                "Name of a prompt or skill, as list_prompts and search give it",
            ),
            optional(
                "input",
                "What the user wrote after the name; key=value and key=\"several words\" give values to arguments (optional)",
            ),
        ],
        is_strict: false,
        output: None,
        does: Does::ExpandPrompt(PromptForm::Plain),
    },
    Tool {
        name: "search",
        title: "Search prompts and resources",
        description: "Search prompts, skills and resources by name, title, description and text. The query may be a whole sentence, such as what the user asks for; words may be cut short (`cod rev` finds code review). Results that match all words come first, then results that match some of them, each with a snippet. Use a prompt or skill that was found with use_prompt; read a resource by its URI.",
        parameters: &[
            Parameter {
                name: "query",
                description: "A sentence, words, or the beginnings of words",
                takes: Takes::Line(search::LONGEST),
                is_required: true,
            },
            Parameter {
                name: "limit",
                description: "The most results wanted",
                takes: Takes::Number(1, Some(50), Some(search::LIMIT)),
                is_required: false,
            },
            Parameter {
                name: "kind",
                description: "What to look through (optional, defaults to both); skills are prompts",
                takes: Takes::Choice(&["prompt", "resource"]),
                is_required: false,
            },
        ],
        is_strict: true,
        output: Some(
            r#"{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","properties":{"type":{"type":"string","enum":["prompt","skill","resource"]},"name":{"type":"string"},"uri":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"snippet":{"type":"string"},"matched":{"type":"string","enum":["all","some"]},"package":{"type":"object","properties":{"name":{"type":"string"},"source":{"type":"string"},"version":{"type":"string"}},"required":["name","version"]}},"required":["type","name","snippet","matched"]}}},"required":["results"]}"#,
        ),
        does: Does::Search,
    },
    Tool {
        name: "create_prompt",
        title: "Create a prompt",
        description: "Create a new prompt in the selected project",
        parameters: &[
            needed(
                "name",
                "Prompt name (alphanumeric, hyphens, underscores, dots)",
            ),
            needed("content", "Prompt text content"),
            optional("description", "Optional description"),
        ],
        is_strict: true,
        output: Some(WRITTEN_PROMPT),
        does: Does::Write(Prompt, Create),
    },
    Tool {
        name: "update_prompt",
        title: "Update a prompt",
        description: "Update an existing prompt's content or description",
        parameters: &[
            needed("name", "Prompt name"),
            optional("content", "New prompt content (optional)"),
            optional("description", "New description (optional)"),
            EXPECTED_VERSION,
        ],
        is_strict: true,
        output: Some(WRITTEN_PROMPT),
        does: Does::Write(Prompt, Update),
    },
    Tool {
        name: "delete_prompt",
        title: "Delete a prompt",
        description: "Delete a prompt from the selected project",
        parameters: &[needed("name", "Prompt name"), EXPECTED_VERSION],
        is_strict: true,
        output: Some(WRITTEN_PROMPT),
        does: Does::Write(Prompt, Delete),
    },
    Tool {
        name: "create_resource",
        title: "Create a resource",
        description: "Create a new resource in the selected project",
        parameters: &[
            needed(
                "name",
                "Resource name (alphanumeric, hyphens, underscores, dots)",
            ),
            needed("uri", "Resource URI"),
            needed("content", "Resource content (text or base64 for binary)"),
            optional("mime_type", "MIME type (optional, defaults to text/plain)"),
            optional("description", "Optional description"),
        ],
        is_strict: true,
        output: Some(WRITTEN_RESOURCE),
        does: Does::Write(Resource, Create),
    },
    Tool {
        name: "update_resource",
        title: "Update a resource",
        description: "Update an existing resource's content or metadata",
        parameters: &[
            needed("name", "Resource name"),
            optional("content", "New resource content (optional)"),
            optional("mime_type", "New MIME type (optional)"),
            optional("description", "New description (optional)"),
            EXPECTED_VERSION,
        ],
        is_strict: true,
        output: Some(WRITTEN_RESOURCE),
        does: Does::Write(Resource, Update),
    },
    Tool {
        name: "delete_resource",
        title: "Delete a resource",
        description: "Delete a resource from the selected project",
        parameters: &[needed("name", "Resource name"), EXPECTED_VERSION],
        is_strict: true,
        output: Some(WRITTEN_RESOURCE),
        does: Does::Write(Resource, Delete),
    },
    Tool {
        name: "list_resources",
        title: "List resources",
        description: "List the resources that read_resource can read: those of the selected project and those of libraries. A version marks a resource of the project.",
        parameters: &[CURSOR],
        is_strict: true,
        output: Some(
            r#"{"type":"object","properties":{"resources":{"type":"array","items":{"type":"object","properties":{"uri":{"type":"string"},"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"mimeType":{"type":"string"},"size":{"type":"integer"},"version":{"type":"integer"}},"required":["uri","name","mimeType","size"]}},"nextCursor":{"type":"string"}},"required":["resources"]}"#,
        ),
        does: Does::ListResources,
    },
    Tool {
        name: "read_resource",
        title: "Read a resource",
        description: "Read a resource by its URI: its text, or its base64 if it is binary. A long one comes in parts: call again with nextCursor as cursor and join the parts.",
        parameters: &[
            needed("uri", "Resource URI"),
            version(
                "An earlier version of a resource of the project (optional, defaults to the last)",
            ),
            optional(
                "label",
                "The version of a resource of the project that has this label (optional)",
            ),
            CURSOR,
        ],
        is_strict: true,
        output: Some(
            r#"{"type":"object","properties":{"uri":{"type":"string"},"name":{"type":"string"},"mimeType":{"type":"string"},"size":{"type":"integer"},"version":{"type":"integer"},"text":{"type":"string"},"blob":{"type":"string"},"nextCursor":{"type":"string"}},"required":["uri","name","mimeType","size"]}"#,
        ),
        does: Does::ReadResource,
    },
    Tool {
        name: "get_prompt",
        title: "Get a prompt as it is stored",
        description: "Get the text of a prompt of the selected project exactly as it is stored, with its version, for example before update_prompt. `name@label` is the version that has a label. A long one comes in parts: call again with nextCursor as cursor and join the parts.",
        parameters: &[
            needed("name", "Prompt name"),
            version("An earlier version (optional, defaults to the last)"),
            CURSOR,
        ],
        is_strict: true,
        output: Some(
            r#"{"type":"object","properties":{"project":{"type":"string"},"name":{"type":"string"},"description":{"type":"string"},"version":{"type":"integer"},"operation":{"type":"string","enum":["create","update","delete","restore"]},"from":{"type":"integer"},"time":{"type":"string"},"author":{"type":"string"},"text":{"type":"string"},"nextCursor":{"type":"string"}},"required":["project","name","version","operation","time","author","text"]}"#,
        ),
        does: Does::GetPrompt,
    },
    Tool {
        name: "history",
        title: "List the versions of a prompt or resource",
        description: "List the versions of a prompt or resource of the selected project, newest first, also after it was deleted.",
        parameters: &[needed("name", "Prompt or resource name"), KIND, CURSOR],
        is_strict: true,
        output: Some(
            r#"{"type":"object","properties":{"project":{"type":"string"},"kind":{"type":"string","enum":["prompt","resource"]},"name":{"type":"string"},"versions":{"type":"array","items":{"type":"object","properties":{"version":{"type":"integer"},"operation":{"type":"string","enum":["create","update","delete","restore"]},"from":{"type":"integer"},"time":{"type":"string"},"author":{"type":"string"},"description":{"type":"string"},"uri":{"type":"string"},"mimeType":{"type":"string"},"size":{"type":"integer"},"labels":{"type":"array","items":{"type":"string"}}},"required":["version","operation","time","author","size"]}},"nextCursor":{"type":"string"}},"required":["project","kind","name","versions"]}"#,
        ),
        does: Does::History,
    },
    Tool {
        name: "restore",
        title: "Restore a prompt or resource",
        description: "Restore an earlier version of a prompt or resource in the selected project as its newest version, or bring back a deleted one",
        parameters: &[
            needed("name", "Prompt or resource name"),
            KIND,
            version("The version to restore (optional for one that was deleted)"),
            EXPECTED_VERSION,
        ],
        is_strict: true,
        output: Some(WRITTEN_PROMPT),
        does: Does::Restore,
    },
    Tool {
        name: "label",
        title: "Label a version of a prompt or resource",
        description: "Give a version of a prompt or resource in the selected project a label such as staging, or move the label to it. Clients then get that version as name@label. An administrator may have protected some labels, which stay where they are.",
        parameters: &[
            needed("name", "Prompt or resource name"),
            needed("label", "Lower case letters, digits, - and _ (up to 64)"),
            KIND,
            version("The version to label (optional, defaults to the last)"),
        ],
        is_strict: true,
        output: Some(
            r#"{"type":"object","properties":{"project":{"type":"string"},"name":{"type":"string"},"label":{"type":"string"},"version":{"type":"integer"},"changed":{"type":"boolean"}},"required":["project","name","label","version","changed"]}"#,
        ),
        does: Does::Label,
    },
];

const CURSOR: Parameter = optional("cursor", "The nextCursor of the result before (optional)");

const KIND: Parameter = Parameter {
    name: "kind",
    description: "What it is (optional, defaults to prompt)",
    takes: Takes::Choice(&["prompt", "resource"]),
    is_required: false,
};

const fn version(description: &'static str) -> Parameter {
    Parameter {
        name: "version",
        description,
        takes: Takes::Number(1, None, None),
        is_required: false,
    }
}

const EXPECTED_VERSION: Parameter = Parameter {
    name: "expected_version",
    description: "Only if this is still the last version",
    takes: Takes::Number(1, None, None),
    is_required: false,
};

const WRITTEN_PROMPT: &str = r#"{"type":"object","properties":{"project":{"type":"string"},"name":{"type":"string"},"version":{"type":"integer"},"changed":{"type":"boolean"}},"required":["project","name","version","changed"]}"#;
const WRITTEN_RESOURCE: &str = r#"{"type":"object","properties":{"project":{"type":"string"},"name":{"type":"string"},"uri":{"type":"string"},"mimeType":{"type":"string"},"version":{"type":"integer"},"changed":{"type":"boolean"}},"required":["project","name","version","changed"]}"#;

const fn needed(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        description,
        takes: Takes::Text,
        is_required: true,
    }
}

const fn optional(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        description,
        takes: Takes::Text,
        is_required: false,
    }
}
