//! Twig as the Rust SDK sees it: `rmcp`'s client, over both transports, in both eras.
//!
//! Every check gets a server of its own and leaves it: the client closes, and the server has to end
//! by itself, with success. The other SDKs do the same in `../python` and `../typescript`.

mod checks;
mod client;
mod home;
mod server;

use server::{Era, Over, Visit};

/// Makes every check a test in each of these places.
macro_rules! matrix {
    ($($place:ident: $over:ident, $era:ident;)*) => {$(
        mod $place {
            use crate::server::{Era, Over};
            use crate::{checks, run};

            matrix!(@ $over $era
                introduces_itself
                lists_every_page
                lists_the_rest
                reaches_prompts_through_tools
                gets_text_exactly
                gets_messages_and_loops
                names_what_is_missing
                asks_for_what_is_missing
                takes_no_for_an_answer
                suggests_a_near_name
                completes_choices
                tells_of_a_new_prompt
            );
        }
    )*};
    (@ $over:ident $era:ident $($check:ident)*) => {$(
        #[tokio::test]
        async fn $check() {
            run(Over::$over, Era::$era, checks::$check).await;
        }
    )*};
}

matrix! {
    stdio_legacy: Stdio, Legacy;
    stdio_modern: Stdio, Modern;
    http_legacy: Http, Legacy;
    http_modern: Http, Modern;
}

/// One check within its time.
async fn run(over: Over, era: Era, check: impl AsyncFnOnce(Visit)) {
    server::soon(check(Visit::new(over, era))).await;
}

#[tokio::test]
async fn who_asks_for_the_newest_gets_it_over_stdio() {
    run(Over::Stdio, Era::Either, checks::finds_the_modern_era).await;
}

#[tokio::test]
async fn who_asks_for_the_newest_gets_it_over_http() {
    run(Over::Http, Era::Either, checks::finds_the_modern_era).await;
}

#[tokio::test]
async fn a_token_opens_http_for_legacy_clients() {
    run(Over::Http, Era::Legacy, checks::wants_the_token).await;
}

#[tokio::test]
async fn a_token_opens_http_for_modern_clients() {
    run(Over::Http, Era::Modern, checks::wants_the_token).await;
}
