//! How clients are connected: those of this machine, or what people enter in theirs.

use maud::{Markup, html};

use crate::history::command_to_copy;
use crate::problems::counts;
use crate::visible::{label, sentence};

/// A client of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownClient {
    /// Its name for people.
    pub title: &'static str,
    /// True if it seems to be installed.
    pub is_installed: bool,
    /// What it has of Twig.
    pub state: ClientState,
    /// Its file, as it is shown.
    pub file: Option<String>,
    /// The command that connects it.
    pub command: String,
    /// A link that asks it to add Twig.
    pub link: Option<String>,
    /// What is to be done after that.
    pub next: String,
}

/// What a client has of Twig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientState {
    /// Nothing.
    Without,
    /// Twig under these names, and its program is there.
    Connected(Vec<String>),
    /// Its entry cannot work, or its file cannot be read: a sentence.
    Broken(String),
}

/// What a person enters in a client to reach a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteClient {
    /// The client's name for people.
    pub title: &'static str,
    /// The file that it reads.
    pub file: String,
    /// What to write there.
    pub text: String,
    /// The command that does so.
    pub command: String,
}

/// The screen for a person whose machine this is.
pub fn connect(clients: &[ShownClient]) -> Markup {
    let found = clients.iter().filter(|client| client.is_installed);
    let found: Vec<&ShownClient> = found.collect();
    let connected = found
        .iter()
        .filter(|it| matches!(it.state, ClientState::Connected(_)));
    let others = clients.iter().filter(|client| !client.is_installed);
    let others: Vec<&ShownClient> = others.collect();
    html! {
        div.page {
            header.title {
                h1 { "Connect" }
                p.lead {
                    @if found.is_empty() { "No client was found on this machine." }
                    @else { (counts(&[(found.len(), "client", "clients")])) " found on this machine, " (connected.clone().count()) " with Twig." }
                    " Nothing is written from here: copy the command and run it in a terminal."
                }
            }
            ul.clients { @for client in &found { (shown(client)) } }
            @if connected.clone().count() > 0 {
                div.doctor {
                    div.head {
                        p { "Ask each of them for its prompts, as " code { "twig doctor" } " does." }
                        button.button type="button" data-asked="reach" data-into="asked" { "Check" }
                    }
                    div.asked #asked aria-live="polite" {}
                }
            }
            @if !others.is_empty() {
                details.others {
                    summary { "Clients that were not found here: " (others.len()) }
                    ul.clients { @for client in &others { (shown(client)) } }
                }
            }
        }
    }
}

fn shown(client: &ShownClient) -> Markup {
    html! {
        li.client-row data-key=(format!("c:{}", client.title)) {
            div.head {
                p.name {
                    (client.title) " "
                    @match &client.state {
                        ClientState::Connected(names) => {
                            span.state.good { span.dot aria-hidden="true" {} "has Twig" @if names.iter().any(|name| name != "twig") { ", as " (names.join(", ")) } }
                        }
                        ClientState::Broken(_) => { span.state.bad { span.dot.error aria-hidden="true" {} "does not reach Twig" } }
                        ClientState::Without => { span.state { span.dot aria-hidden="true" {} "without Twig" } }
                    }
                }
                @if let Some(link) = client.link.as_ref().filter(|_| client.state == ClientState::Without) {
                    a.button href=(link) { "Add in " (client.title) }
                }
            }
            @if let ClientState::Broken(why) = &client.state { p.advice { (sentence(why)) } }
            @if let Some(file) = &client.file { p.facts { span.mono { (label(file)) } } }
            @if !matches!(client.state, ClientState::Connected(_)) {
                (command_to_copy(&client.command))
                @if !client.next.is_empty() { p.next.faint { "Then: " (sentence(&client.next)) } }
            }
        }
    }
}

/// The screen for people on other machines: what they enter in their clients.
pub fn connect_remote(address: &str, clients: &[RemoteClient]) -> Markup {
    html! {
        div.page {
            header.title {
                h1 { "Connect" }
                p.lead { "Your client reaches this server with an address and a header." }
            }
            dl.facts {
                dt { "Address" } dd { (command_to_copy(address)) }
                dt { "Header" } dd {
                    (command_to_copy("Authorization: Bearer YOUR_KEY"))
                    p.faint { "Put your own key in the place of " code { "YOUR_KEY" } ". The files below read it from the variable " code { "TWIG_TOKEN" } "." }
                }
            }
            h2.minor { "In the file of your client" }
            ul.clients {
                @for client in clients {
                    li.client-row data-key=(format!("c:{}", client.title)) {
                        details {
                            summary { (client.title) " " span.faint.mono { (label(&client.file)) } }
                            pre.snippet tabindex="0" { code { (label(&client.text)) } }
                            button.quiet type="button" data-copied=(client.text) { "Copy" span.sr { " the lines for " (client.title) } }
                            p.faint { "Where Twig is installed, this command does the same:" }
                            (command_to_copy(&client.command))
                        }
                    }
                }
            }
        }
    }
}
