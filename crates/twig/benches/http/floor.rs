//! The floor: what axum and tokio cost by themselves.

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

/// The argument that turns this benchmark into the floor.
pub(crate) const MODE: &str = "--floor";

/// Answers every POST with the bytes of a file.
pub(crate) fn serve(file: &str) {
    let canned: &'static [u8] = std::fs::read(file).expect("canned bytes").leak();
    let answer = move |_body: Bytes| async move {
        let json = [(CONTENT_TYPE, "application/json")];
        (json, Bytes::from_static(canned))
    };
    let app = Router::new().route("/mcp", post(answer));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        #[allow(clippy::print_stderr, reason = "as the server says its address")]
        {
            eprintln!("http://{address}/mcp");
        }
        // Without this a reply waits for the client's acknowledgement of the last one.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let _ = axum::serve(listener, app).await;
    });
}
