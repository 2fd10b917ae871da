//! The parameters of `/stats`, and the statistics that they select.

use serde_json::{Map, Value, json};
use store::SlowSearch;

use crate::error::Failure;
use crate::params::names::FORMAT;
use crate::params::{CheckedParams, Param};
use crate::server::Shared;
use statistics::{FORMS, Span, Summary, Trim, slow_json};

/// The span of time that is shown by default.
pub(super) const DEFAULT_SPAN: &str = "24h";

/// Most slow searches listed.
const MAX_SLOW: i64 = 20;

pub(super) const SINCE: Param =
    Param::word("since", "Time span in whole hours: 24h (the default), 7d, 48h-24h.");
pub(super) const FROM: Param =
    Param::word("from", "Start of the time span, instead: 2026-01-31, 2026-01-31T12:00Z.");
pub(super) const TO: Param = Param::word("to", "End of the time span; default: now.");
pub(super) const COMPARE: Param =
    Param::word("compare", "A time span to compare with, or before for as many hours before.");
pub(super) const TRIM: Param = Param::word(
    "trim",
    "Percentages of the fastest and slowest searches that the trimmed mean leaves out: 5,5.",
);

/// The parameters of `/stats`.
#[derive(Clone, Debug)]
pub(super) struct StatsParams {
    /// The duration until now, or any other span.
    pub(super) since: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// The span to compare with, or `before`.
    pub(super) compare: Option<String>,
    /// The share that the trimmed mean leaves out.
    trim: Option<String>,
    pub(super) format: Option<String>,
}

impl From<CheckedParams> for StatsParams {
    fn from(given: CheckedParams) -> Self {
        let some = |param| given.get(param).map(str::to_owned);
        Self {
            since: some(&SINCE),
            from: some(&FROM),
            to: some(&TO),
            compare: some(&COMPARE),
            trim: some(&TRIM),
            format: some(&FORMAT),
        }
    }
}

/// The statistics of a span, and of the one that it is compared with.
pub(super) struct SpanStats {
    /// `None` if statistics are not stored; the counts are then those since the server's start.
    pub(super) span: Option<Span>,
    pub(super) one: Summary,
    pub(super) other: Option<(Span, Summary)>,
    pub(super) slow: Vec<SlowSearch>,
    pub(super) trim: Trim,
}

impl StatsParams {
    fn span(&self) -> Result<Span, Failure> {
        match &self.from {
            Some(from) => Span::between(Some(from), self.to.as_deref()),
            None => Span::parse(self.since.as_deref().unwrap_or(DEFAULT_SPAN)),
        }
        .map_err(|error| Failure::bad_request(format!("{error:#}")))
    }

    pub(super) async fn read(&self, server: &Shared) -> Result<SpanStats, Failure> {
        let span = self.span()?;
        let trim = self.trim.as_deref().map_or_else(|| Ok(Trim::default()), str::parse);
        let trim = trim.map_err(|why| Failure::bad_request(format!("trim: {why}")))?;
        let compared = match self.compare.as_deref() {
            None => None,
            Some("before") => Some(span.before()),
            Some(other) => Some(Span::parse(other).map_err(|_| {
                Failure::bad_request(format!("compare={other}: use before, {FORMS}"))
            })?),
        };
        let (store, recorder) = (&server.admin().store, server.recorder());
        if !recorder.is_stored() {
            let (one, slow) = (recorder.since_start(), Vec::new());
            return Ok(SpanStats { span: None, one, other: None, slow, trim });
        }
        // The counts of the last minute are included.
        recorder.flush(store).await?;
        let other = match compared {
            Some(other) => Some((other, Summary::read(store, other).await?)),
            None => None,
        };
        Ok(SpanStats {
            span: Some(span),
            one: Summary::read(store, span).await?,
            other,
            slow: store.slow_searches(span.from, span.to, MAX_SLOW).await?,
            trim,
        })
    }
}

impl SpanStats {
    pub(super) fn json(&self) -> Map<String, Value> {
        let mut object = self.one.json(self.trim);
        object.insert("span".to_owned(), json!(self.span.map(Span::json)));
        if let Some((span, other)) = &self.other {
            let mut compared = other.json(self.trim);
            compared.insert("span".to_owned(), span.json());
            object.insert("compared".to_owned(), Value::Object(compared));
        }
        let slow: Vec<Value> = self.slow.iter().map(slow_json).collect();
        object.insert("slow".to_owned(), json!(slow));
        object
    }
}
