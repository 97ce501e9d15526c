//! Counters and times of requests, and their text for Prometheus.
//!
//! Every label value comes from a fixed list, so no client can add a time series. Recording is a few
//! atomic additions; without an admin listener, nothing is recorded.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use axum::response::Response;
use futures_util::future::Either;
use twig_mcp::METHODS;
use twig_mcp::http::{HttpRefusal, ReplyError};
use twig_sources::StoreHealth;

use super::Shared;
use super::peers::HttpPeer;
use crate::follow_signals::FollowGauge;

/// Upper bounds of the histogram's buckets, in microseconds.
const BUCKETS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];
/// Notifications that clients send.
const NOTIFICATIONS: [&str; 4] = [
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
];
/// Stands for any other value.
const OTHER: &str = "_OTHER";
/// How a request can end; the first one is success, which has no `error_type`.
const ENDS: [&str; 11] = [
    "", "-32700", "-32600", "-32601", "-32602", "-32603", "-32020", "-32022", CANCELLED, TOOL,
    OTHER,
];
/// A tool ran and failed.
const TOOL: &str = "tool_error";
/// The client was gone before the answer.
const CANCELLED: &str = "cancelled";
/// A connection that was refused because all others are in use.
const CONNECTIONS: &str = "connections";
/// The body is no message, or the headers contradict it.
const MESSAGE: &str = "message";

const METHOD_COUNT: usize = METHODS.len() + NOTIFICATIONS.len() + 1;
const REASON_COUNT: usize = HttpRefusal::REASONS.len() + 2;

/// What is counted while the server runs.
pub(super) struct Metrics {
    /// By method and end.
    operations: Box<[[OperationTimes; ENDS.len()]]>,
    refusals: [AtomicU64; REASON_COUNT],
    started: SystemTime,
}

/// The times of operations that ended alike.
#[derive(Default)]
struct OperationTimes {
    /// How many took at most as long as each bound; the last bucket has no bound.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanos: AtomicU64,
}

/// A method by its place among all label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MethodLabel(u8);

/// A call that is measured, unless there is no need for it.
pub(super) type MeasuredCall<F> =
    Either<F, Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>>;

impl Metrics {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            operations: (0..METHOD_COUNT).map(|_| Default::default()).collect(),
            refusals: Default::default(),
            started: SystemTime::now(),
        })
    }

    /// Counts a connection that was refused because all others are in use.
    pub(super) fn refuse_connection(&self) {
        self.refuse(CONNECTIONS);
    }

    fn refuse(&self, reason: &str) {
        if let Some(at) = reasons().position(|known| known == reason) {
            self.refusals[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn record(&self, method: MethodLabel, end: &str, took: Duration) {
        let end = ENDS.iter().position(|it| *it == end);
        let end = end.unwrap_or(ENDS.len() - 1);
        let Some(times) = self.operations.get(usize::from(method.0)) else {
            return;
        };
        times[end].record(took);
    }

    /// The text of all metrics.
    pub(super) fn text(&self, shared: &Shared) -> String {
        let mut text = MetricText::default();
        let name = "mcp_server_operation_duration_seconds";
        let help = "Time from the head of a request to the head of its answer";
        text.family(name, "histogram", help);
        for (method, ends) in methods().zip(&self.operations) {
            for (end, times) in ENDS.into_iter().zip(ends) {
                let mut labels = format!("mcp_method_name=\"{method}\"");
                if !end.is_empty() {
                    let _ = write!(labels, ",error_type=\"{end}\"");
                }
                text.histogram(name, &labels, times);
            }
        }
        let name = "twig_refusals_total";
        text.family(
            name,
            "counter",
            "Requests that were refused before their method was known, or by a limit",
        );
        for (reason, count) in reasons().zip(&self.refusals) {
            let labels = format!("{{reason=\"{reason}\"}}");
            text.value(name, &labels, count.load(Ordering::Relaxed));
        }
        let gauges = [
            (
                "twig_connections_open",
                "Connections of clients",
                shared.peers.count() as u64,
            ),
            (
                "twig_sessions_open",
                "Sessions of older clients",
                shared.sessions.count() as u64,
            ),
            (
                "twig_streams_open",
                "Open event streams",
                shared.streams.count(),
            ),
        ];
        for (name, help, value) in gauges {
            text.gauge(name, help, value);
        }
        let name = "twig_jobs_waiting";
        text.family(name, "gauge", "Jobs that wait for their turn");
        for (kind, waiting) in shared.service.jobs.waiting() {
            text.value(name, &format!("{{kind=\"{kind}\"}}"), waiting as u64);
        }
        let catalog = shared.service.live.published();
        let revisions = catalog.revisions();
        let name = "twig_catalog_revision";
        text.family(name, "gauge", "Grows with each change of a list");
        let lists = [
            ("prompts", revisions.prompts),
            ("documents", revisions.documents),
        ];
        for (list, revision) in lists {
            text.value(name, &format!("{{list=\"{list}\"}}"), revision);
        }
        let (prompts, libraries) = (catalog.len() as u64, catalog.libraries().len() as u64);
        text.gauge("twig_catalog_prompts", "Prompts that are served", prompts);
        text.gauge(
            "twig_catalog_libraries",
            "Libraries that are served",
            libraries,
        );
        if let Some(database) = &shared.database {
            text.store(&database.health());
        }
        text.followed(&shared.follow.gauges());
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH);
        let started = started.unwrap_or_default();
        let name = "process_start_time_seconds";
        text.family(name, "gauge", "Start of the process in Unix time");
        text.line(name, "", format_args!("{}", started.as_secs()));
        text.family("twig_build_info", "gauge", "The version of Twig");
        let version = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");
        text.value("twig_build_info", version, 1);
        text.0
    }
}

impl OperationTimes {
    fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        // The bounds include their own value, and a started microsecond counts as a whole one.
        let micros = micros.saturating_add(u64::from(!took.subsec_nanos().is_multiple_of(1_000)));
        let bucket = BUCKETS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl MethodLabel {
    /// The label of a method; all unknown methods share one.
    pub(super) fn new(method: &str) -> Self {
        let at = methods().position(|known| known == method);
        Self(u8::try_from(at.unwrap_or(METHOD_COUNT - 1)).unwrap_or(u8::MAX))
    }

    pub(super) fn from_number(number: u8) -> Self {
        Self(number)
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }
}

/// The values of `mcp_method_name`.
fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.into_iter().chain(NOTIFICATIONS).chain([OTHER])
}

/// The values of `reason`.
fn reasons() -> impl Iterator<Item = &'static str> {
    HttpRefusal::REASONS
        .into_iter()
        .chain([CONNECTIONS, MESSAGE])
}

/// Measures the answer to a request of this peer, if there are metrics. A draining server also sends
/// the client elsewhere.
pub(super) fn measure<F>(shared: &Arc<Shared>, peer: &Arc<HttpPeer>, call: F) -> MeasuredCall<F>
where
    F: Future<Output = Result<Response, Infallible>> + Send + 'static,
{
    if shared.metrics.is_none() && !shared.is_draining() {
        return Either::Left(call);
    }
    let mut operation = shared.metrics.as_ref().map(|metrics| MeasuredOperation {
        metrics: Arc::clone(metrics),
        peer: Arc::clone(peer),
        started: Instant::now(),
        end: CANCELLED,
        is_unread: false,
    });
    let shared = Arc::clone(shared);
    Either::Right(Box::pin(async move {
        let Ok(mut response) = call.await;
        if let Some(operation) = &mut operation {
            operation.answer(response.extensions().get());
        }
        shared.close_if_draining(&mut response);
        Ok(response)
    }))
}

/// Recorded when it is dropped, which may be before the answer.
struct MeasuredOperation {
    metrics: Arc<Metrics>,
    peer: Arc<HttpPeer>,
    started: Instant,
    end: &'static str,
    /// True if the answer is an error, and not one of the transport.
    is_unread: bool,
}

impl MeasuredOperation {
    fn answer(&mut self, error: Option<&ReplyError>) {
        self.is_unread = matches!(error, Some(ReplyError::Code(_)));
        self.end = match error {
            None => "",
            Some(ReplyError::Tool) => TOOL,
            Some(ReplyError::Code(code)) => end_of(*code),
            Some(ReplyError::Refused { code, reason }) => {
                self.metrics.refuse(reason);
                end_of(*code)
            }
        };
    }
}

impl Drop for MeasuredOperation {
    fn drop(&mut self) {
        match self.peer.take_method() {
            Some(method) => self
                .metrics
                .record(method, self.end, self.started.elapsed()),
            None if self.is_unread => self.metrics.refuse(MESSAGE),
            None => {}
        }
    }
}

/// The label of a JSON-RPC code.
fn end_of(code: i32) -> &'static str {
    let mut codes = ENDS.into_iter();
    codes.find(|end| end.parse() == Ok(code)).unwrap_or(OTHER)
}

/// Counts open streams.
#[derive(Default)]
pub(super) struct StreamCount(AtomicU64);

/// An open stream; dropping it ends it.
pub(super) struct OpenStream(Arc<StreamCount>);

impl StreamCount {
    pub(super) fn open(self: &Arc<Self>) -> OpenStream {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(self))
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Text in the exposition format of Prometheus, version 0.0.4.
#[derive(Default)]
struct MetricText(String);

impl MetricText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.value(name, "", value);
    }

    fn store(&mut self, health: &StoreHealth) {
        let (calls, errors) = ("twig_store_calls_total", "twig_store_errors_total");
        self.family(calls, "counter", "Calls to the database of the store");
        self.value(calls, "", health.calls);
        self.family(errors, "counter", "Calls to the database that failed");
        self.value(errors, "", health.errors);
        let name = "twig_store_stale_seconds";
        let help = "For how long the database has not answered; 0 if it does";
        self.family(name, "gauge", help);
        let stale = seconds(health.stale.unwrap_or_default().as_nanos());
        self.line(name, "", format_args!("{stale}"));
    }

    fn value(&mut self, name: &str, labels: &str, value: u64) {
        self.line(name, labels, format_args!("{value}"));
    }

    fn line(&mut self, name: &str, labels: &str, value: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// The packages that are followed, if there are any. Their names come from the configuration.
    fn followed(&mut self, gauges: &[FollowGauge]) {
        if gauges.is_empty() {
            return;
        }
        let name = "twig_followed_info";
        self.family(name, "gauge", "The commit that is served of a package");
        for it in gauges {
            let labels = format!("{{library=\"{}\",commit=\"{}\"}}", it.library, it.commit);
            self.value(name, &labels, 1);
        }
        let name = "twig_followed_looked_at_seconds";
        let help = "When the source of a package last answered, in Unix time";
        self.family(name, "gauge", help);
        for it in gauges {
            let labels = format!("{{library=\"{}\"}}", it.library);
            self.value(name, &labels, it.looked_at.unwrap_or(0));
        }
        let name = "twig_followed_problem";
        let help = "1 if the newest commit of a package is not served or not known";
        self.family(name, "gauge", help);
        for it in gauges {
            let labels = format!("{{library=\"{}\"}}", it.library);
            self.value(name, &labels, u64::from(it.has_problem));
        }
    }

    /// A histogram, unless it is empty.
    fn histogram(&mut self, name: &str, labels: &str, times: &OperationTimes) {
        let counts = times.buckets.each_ref();
        let counts = counts.map(|bucket| bucket.load(Ordering::Relaxed));
        if counts.iter().all(|count| *count == 0) {
            return;
        }
        let mut total = 0;
        for (at, count) in counts.into_iter().enumerate() {
            total += count;
            let bound = match BUCKETS.get(at) {
                Some(micros) => seconds(u128::from(*micros) * 1_000),
                None => "+Inf".to_owned(),
            };
            let labels = format!("{{{labels},le=\"{bound}\"}}");
            self.value(&format!("{name}_bucket"), &labels, total);
        }
        let (labels, nanos) = (format!("{{{labels}}}"), times.nanos.load(Ordering::Relaxed));
        let sum = seconds(u128::from(nanos));
        self.line(&format!("{name}_sum"), &labels, format_args!("{sum}"));
        self.value(&format!("{name}_count"), &labels, total);
    }
}

/// Nanoseconds as seconds, without zeros at the end.
fn seconds(nanos: u128) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_every_bucket_whose_bound_it_does_not_exceed() {
        let times = OperationTimes::default();
        for nanos in [0, 100_000, 100_001, 10_000_000_000, 10_000_000_001] {
            times.record(Duration::from_nanos(nanos));
        }
        let mut text = MetricText::default();
        text.histogram("t", "m=\"x\"", &times);
        let has = |line: &str| assert!(text.0.lines().any(|it| it == line), "{line}: {}", text.0);
        has("t_bucket{m=\"x\",le=\"0.0001\"} 2");
        has("t_bucket{m=\"x\",le=\"0.00025\"} 3");
        has("t_bucket{m=\"x\",le=\"10\"} 4");
        has("t_bucket{m=\"x\",le=\"+Inf\"} 5");
        has("t_sum{m=\"x\"} 20.000200002");
        has("t_count{m=\"x\"} 5");
    }

    #[test]
    fn labels_come_from_fixed_lists() {
        let count = methods().count();
        assert_eq!(count, METHOD_COUNT);
        let labels: Vec<u8> = methods().map(|it| MethodLabel::new(it).number()).collect();
        let all: Vec<u8> = (0..).take(count).collect();
        assert_eq!(labels, all);
        assert_eq!(MethodLabel::new("secret/method"), MethodLabel::new(OTHER));
        assert_eq!(end_of(-32602), "-32602");
        assert_eq!(end_of(-1), OTHER);
        // A success has no number.
        assert_eq!(end_of(0), OTHER);
        assert_eq!(reasons().count(), REASON_COUNT);
    }
}
