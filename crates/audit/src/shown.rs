//! Events for people and for programs.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use store::AuditEvent;

/// Returns the current time, in microseconds since 1970.
pub fn now() -> i64 {
    Timestamp::now().as_microsecond()
}

/// Returns a time in microseconds since 1970.
///
/// # Errors
/// A sentence for the user, if the time is earlier: no event has such a time, and the database not any.
pub fn micros(time: Timestamp) -> Result<i64, String> {
    match time.as_microsecond() {
        micros @ 0.. => Ok(micros),
        _ => Err(format!("{time} is before 1970; use a later time")),
    }
}

/// Returns the cursor that continues after an event.
pub fn cursor(event: &AuditEvent) -> String {
    format!("{}-{}", event.at, event.id)
}

/// Returns the time, in microseconds since 1970, and the number of the event of a [`cursor`]; `None` if it is none.
pub fn of_cursor(cursor: &str) -> Option<(i64, i64)> {
    let (at, id) = cursor.split_once('-')?;
    let at = micros(Timestamp::from_microsecond(at.parse().ok()?).ok()?).ok()?;
    Some((at, id.parse().ok()?))
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
    }
}

/// Returns what an answer had, or what a server notes, in one line; empty for nothing.
pub fn contents(event: &AuditEvent) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_an_event_can_have() {
        let at = |text: &str| micros(text.parse().unwrap());
        assert_eq!(at("1970-01-01T00:00Z"), Ok(0));
        assert_eq!(at("2026-11-30T00:00Z"), Ok(1_795_996_800_000_000));
        for early in ["1969-12-31T23:59:59Z", "-009999-01-02T01:59:59Z"] {
            let why = at(early).unwrap_err();
            assert!(why.contains(" is before 1970; use a later time"), "{why}");
        }
        let event = AuditEvent { at: 7_000_000, id: 3, ..AuditEvent::default() };
        assert_eq!(of_cursor(&cursor(&event)), Some((7_000_000, 3)));
        for wrong in
            ["", "7", "-7-3", "7-", "x-3", "9223372036854775807-3", "7-99999999999999999999"]
        {
            assert_eq!(of_cursor(wrong), None, "{wrong}");
        }
    }
}
