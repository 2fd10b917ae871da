//! Events for people and for programs.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use store::AuditEvent;

/// Returns the current time, in microseconds since 1970.
pub fn now() -> i64 {
    micros(Timestamp::now())
}

/// Returns a time in microseconds since 1970.
pub fn micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// Returns a time for people: local, to the second.
pub fn time(at: i64) -> String {
    let time = Timestamp::from_microsecond(at).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns a time for programs: in UTC, to the microsecond.
pub fn utc(at: i64) -> String {
    format!("{:.6}", Timestamp::from_microsecond(at).unwrap_or_default())
}

/// Returns an event as JSON. Fields without a value are left out.
pub fn json(event: &AuditEvent) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            object.insert(name.to_owned(), value);
        }
    };
    put("at", json!(utc(event.at)));
    put("id", json!(event.id));
    put("who", json!(event.who));
    put("owner", if event.is_owner { json!(true) } else { Value::Null });
    put("sender", json!(event.sender));
    put("interface", json!(event.interface));
    put("endpoint", if event.endpoint.is_empty() { Value::Null } else { json!(event.endpoint) });
    put("query", json!(event.query));
    put("parameters", json!(event.parameters));
    put("outcome", json!(event.outcome));
    put("status", if event.status == 0 { Value::Null } else { json!(event.status) });
    put("reason", json!(event.reason));
    put("more", if event.more == 0 { Value::Null } else { json!(event.more) });
    put("files", json!(event.files));
    put("results", json!(event.results));
    put("repository_count", json!(event.repos_count));
    put("repositories", json!(event.repos));
    put("ms", json!(event.took));
    Value::Object(object)
}

/// Returns who asked, for people.
pub fn who(event: &AuditEvent) -> &str {
    match &event.who {
        Some(who) => who,
        None if event.interface == "server" => "(server)",
        None if event.is_owner => "(owner)",
        None => "(anonymous)",
    }
}

/// Returns what became of a request: `answered`, `refused (unknown_token)`.
pub fn outcome(event: &AuditEvent) -> String {
    match &event.reason {
        Some(reason) => format!("{} ({reason})", event.outcome),
        None => event.outcome.to_string(),
    }
}

/// Returns a number with its noun.
pub(crate) fn count(count: i32, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    match &*event.outcome {
        "lost" => {
            return format!(
                "{} not written until {}: the database was away or the server stopped",
                count(event.more, "event"),
                time(event.at + i64::from(event.took) * 1000),
            );
        }
        "gap" => {
            let name = event.query.as_deref().unwrap_or_default();
            let running = match event.more {
                0 => String::new(),
                running => format!(", and {} that ran,", count(running, "request")),
            };
            return format!(
                "{name}: what came later{running} is missing; noted {}",
                time(event.at + i64::from(event.took) * 1000),
            );
        }
        _ => {}
    }
    let mut told = Vec::new();
    if event.more > 0 {
        told.push(format!("and {} more within a minute", event.more));
    }
    if event.files > 0 {
        told.push(count(event.files, "file"));
    }
    if event.results > 0 {
        told.push(count(event.results, "result"));
    }
    match &*event.repos {
        [] if event.repos_count == 0 => {}
        [one] if event.repos_count == 1 => told.push(one.clone()),
        [] => told.push(format!("{} repositories", event.repos_count)),
        [first, ..] => told.push(format!("{first} and {} more", event.repos_count - 1)),
    }
    told.join(", ")
}
