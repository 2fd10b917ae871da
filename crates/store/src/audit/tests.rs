use std::time::Duration;

use super::*;
use crate::Store;
use crate::testing::{on_index, value};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// 2026-11-30, a minute before December.
const LATE: i64 = (1_796_083_200 - 60) * SECOND;

fn event(at: i64, repos: &[&str]) -> AuditEvent {
    AuditEvent {
        at,
        took: 7,
        files: 2,
        results: 3,
        repos_count: repos.len() as i32,
        status: 200,
        outcome: "answered".into(),
        interface: "api".into(),
        endpoint: "/search".into(),
        sender: Some("192.0.2.7".to_owned()),
        who: Some("ann".to_owned()),
        query: Some("fmt.Print\0".to_owned()),
        repos: repos.iter().map(|name| (*name).to_owned()).collect(),
        ..AuditEvent::default()
    }
}

async fn all(store: &Store) -> Vec<AuditEvent> {
    store.audit_after(&AuditFilter::default(), None, 1000).await.unwrap()
}

async fn partitions(store: &Store) -> Vec<String> {
    let sql = "select coalesce(array_agg(relname::text order by relname), '{}') from pg_inherits
               join pg_class on oid = inhrelid where inhparent = 'audit'::regclass";
    value(store, sql).await
}

/// Waits for what happens soon, and fails if it never does.
async fn in_time(work: impl Future<Output = ()>) {
    let ended = tokio::time::timeout(Duration::from_mins(1), work).await;
    ended.expect("it never happens");
}

#[test]
fn a_batch_that_is_sent_again_is_written_once() {
    on_index(1, async |store| {
        let mut writer = store.audit_writer("here");
        let events = [event(LATE, &["b", "a"]), event(LATE + SECOND, &[])];
        let batch = AuditBatch { events: &events, first: 1, until: LATE, running: 0 };
        writer.write(batch).await.unwrap();
        writer.write(batch).await.unwrap();
        let more = [events[1].clone(), event(LATE + 2 * SECOND, &["a"])];
        writer.write(AuditBatch { events: &more, first: 2, ..batch }).await.unwrap();
        let found = all(store).await;
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].repos, ["a", "b"]);
        assert_eq!(found[0].query.as_deref(), Some("fmt.Print\u{fffd}"));
        assert_eq!((found[2].at, &*found[2].repos), (LATE + 2 * SECOND, &["a".to_owned()][..]));
        // The connection is lost, and Postgres may have forgotten the run.
        writer.conn = None;
        let last = [event(LATE + 3 * SECOND, &[])];
        writer.write(AuditBatch { events: &last, first: 4, ..batch }).await.unwrap();
        assert_eq!(all(store).await.len(), 4);
        let runs: i64 = value(store, "select count(*) from audit_writers").await;
        assert_eq!(runs, 1);
    });
}

#[test]
fn months_are_partitions_that_are_made_ahead_and_dropped() {
    on_index(1, async |store| {
        let mut writer = store.audit_writer("here");
        writer.tidy(LATE, LATE - 60 * DAY).await.unwrap();
        assert_eq!(partitions(store).await, ["audit_2026_11", "audit_2026_12"]);
        // The month changes within a batch; and a clock was wrong.
        let events =
            [event(LATE, &[]), event(LATE + 120 * SECOND, &[]), event(LATE + 90 * DAY, &[])];
        writer
            .write(AuditBatch { events: &events, first: 1, until: LATE, running: 0 })
            .await
            .unwrap();
        let names = ["audit_2026_11", "audit_2026_12", "audit_2027_02"];
        assert_eq!(partitions(store).await, names);
        for (name, expected) in names.iter().zip([1_i64, 1, 1]) {
            let sql = format!("select count(*) from {name}");
            assert_eq!(value::<i64>(store, &sql).await, expected, "{name}");
        }
        // All of November is older than 30 days only from December 31 on.
        writer.tidy(LATE + 30 * DAY, LATE).await.unwrap();
        assert_eq!(partitions(store).await[0], "audit_2026_11");
        // Somebody reads the oldest: it is dropped the next time.
        let mut conn = store.connection().await.unwrap();
        let mut reading = sqlx::Connection::begin(&mut conn).await.unwrap();
        sqlx::query("select from audit").execute(&mut *reading).await.unwrap();
        writer.tidy(LATE + 31 * DAY, LATE + DAY).await.unwrap();
        assert_eq!(partitions(store).await[0], "audit_2026_11");
        reading.rollback().await.unwrap();
        writer.tidy(LATE + 31 * DAY, LATE + DAY).await.unwrap();
        assert_eq!(partitions(store).await, ["audit_2026_12", "audit_2027_01", "audit_2027_02"]);
        assert_eq!(all(store).await.len(), 2);
        // An event of a month that was dropped gets its partition again.
        writer
            .write(AuditBatch { events: &events[..1], first: 4, until: LATE, running: 0 })
            .await
            .unwrap();
        assert_eq!(all(store).await.len(), 3);
    });
}

#[test]
fn a_run_that_was_killed_leaves_a_gap() {
    on_index(1, async |store| {
        let mut killed = store.audit_writer("one");
        let events = [event(LATE, &[])];
        let batch = AuditBatch { events: &events, first: 1, until: LATE, running: 3 };
        killed.write(batch).await.unwrap();
        // A living run with another name is left alone, however silent.
        let mut other = store.audit_writer("two");
        other.look(LATE + 100 * SECOND).await.unwrap();
        assert_eq!(all(store).await.len(), 1);
        // Its end closes its connection, which Postgres notices soon.
        sqlx::Connection::close(killed.conn.take().unwrap()).await.unwrap();
        drop(killed);
        let mut next = store.audit_writer("one");
        let none = AuditBatch { events: &[], first: 1, until: LATE + 5 * SECOND, running: 0 };
        let gaps = async || {
            let mut found = all(store).await;
            found.retain(|event| event.outcome == "gap");
            found
        };
        next.write(none).await.unwrap();
        in_time(async {
            while gaps().await.is_empty() {
                next.look(LATE + 5 * SECOND).await.unwrap();
            }
        })
        .await;
        let found = gaps().await;
        assert_eq!(found.len(), 1, "one server notes it: {found:?}");
        assert_eq!((found[0].at, found[0].took, found[0].more), (LATE, 5000, 3));
        assert_eq!(found[0].query.as_deref(), Some("one ended before all was written"));
        // A server with another name notes one, too, once the killed one has been silent for long.
        sqlx::Connection::close(next.conn.take().unwrap()).await.unwrap();
        drop(next);
        let noted = |found: &[AuditEvent]| found.iter().any(|event| event.took == 120_000);
        other.look(LATE + 75 * SECOND).await.unwrap();
        assert_eq!(gaps().await.len(), 1);
        in_time(async {
            while !noted(&gaps().await) {
                other.look(LATE + 125 * SECOND).await.unwrap();
            }
        })
        .await;
        assert_eq!(gaps().await.len(), 2);
        let mut next = store.audit_writer("one");
        next.write(none).await.unwrap();
        // An orderly end leaves none.
        next.end(LATE + 6 * SECOND).await.unwrap();
        let mut last = store.audit_writer("one");
        last.look(LATE + 600 * SECOND).await.unwrap();
        assert_eq!(gaps().await.len(), 2);
    });
}

#[test]
fn events_are_found_by_what_they_have() {
    on_index(1, async |store| {
        let many: Vec<String> = (0..MAX_AUDIT_REPOS + 5).map(|n| format!("many/{n:04}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let refused = AuditEvent {
            who: None,
            outcome: "refused".into(),
            interface: "page".into(),
            reason: Some("unknown_token".into()),
            more: 12,
            ..event(LATE + SECOND, &[])
        };
        let events = [
            event(LATE, &["team/a_b", "other"]),
            refused.clone(),
            event(LATE + 2 * SECOND, &["team/acb"]),
            event(LATE + 3 * SECOND, &many),
        ];
        let mut writer = store.audit_writer("here");
        writer
            .write(AuditBatch { events: &events, first: 1, until: LATE, running: 0 })
            .await
            .unwrap();
        let found = async |filter: AuditFilter| -> Vec<i64> {
            let found = store.audit_before(&filter, None, 10).await.unwrap();
            found.iter().map(|event| (event.at - LATE) / SECOND).collect()
        };
        let repo =
            |name: &str| AuditFilter { repo: Some(name.to_owned()), ..AuditFilter::default() };
        // An answer with more repositories than are named may have it.
        assert_eq!(found(repo("team/a_b")).await, [3, 0]);
        assert_eq!(found(repo("team/*")).await, [3, 2, 0]);
        assert_eq!(found(repo("many/0001")).await, [3]);
        let of = AuditFilter { who: Some("ann".to_owned()), ..AuditFilter::default() };
        assert_eq!(found(of).await, [3, 2, 0]);
        assert_eq!(found(AuditFilter { refused: true, ..AuditFilter::default() }).await, [1]);
        let page = AuditFilter { interface: Some("page".to_owned()), ..AuditFilter::default() };
        assert_eq!(found(page).await, [1]);
        let span = AuditFilter {
            since: Some(LATE + SECOND),
            until: Some(LATE + 3 * SECOND),
            ..AuditFilter::default()
        };
        assert_eq!(found(span.clone()).await, [2, 1]);
        let first = store.audit_before(&span, None, 1).await.unwrap();
        let next = store.audit_before(&span, Some((first[0].at, first[0].id)), 10).await.unwrap();
        assert_eq!(next.len(), 1);
        assert_eq!(
            AuditEvent { id: 0, ..next[0].clone() },
            AuditEvent { query: Some("fmt.Print\u{fffd}".to_owned()), ..refused }
        );
        // Two of the same time are told apart.
        writer
            .write(AuditBatch {
                events: &[event(LATE, &[]), event(LATE, &[])],
                first: 5,
                until: LATE,
                running: 0,
            })
            .await
            .unwrap();
        let mut seen = Vec::new();
        let mut last = None;
        loop {
            let page = store.audit_after(&AuditFilter::default(), last, 1).await.unwrap();
            let [one] = &*page else { break };
            last = Some((one.at, one.id));
            seen.push(one.id);
        }
        assert_eq!(seen.len(), 6);
    });
}

#[test]
fn an_event_takes_at_most_350_bytes() {
    const EVENTS: i64 = 10_000;
    on_index(1, async |store| {
        let names: Vec<String> =
            (0..500).map(|n| format!("github.com/organisation-{}/service-{n}", n % 20)).collect();
        let queries = [
            "func (s *Server) Handle lang:go -file:_test",
            "TODO\\(.*\\): retry",
            "how are retries configured for uploads",
            "repo:organisation-3 json.NewDecoder\\(",
        ];
        let events: Vec<AuditEvent> = (0..EVENTS as usize)
            .map(|n| {
                // Most answers are of few repositories, some of many.
                let count = if n % 20 == 0 { 60 } else { 1 + n % 9 };
                let repos = (0..count).map(|at| names[(n * 7 + at * 13) % names.len()].clone());
                AuditEvent {
                    who: Some(format!("user-{}", n % 200)),
                    sender: Some(format!("10.0.{}.{}", n % 16, n % 250)),
                    query: Some(format!("{} {n}", queries[n % queries.len()])),
                    parameters: (n % 3 == 0).then(|| "limit=50&sort=relevance".to_owned()),
                    repos: repos.collect(),
                    repos_count: count as i32,
                    ..event(LATE - DAY + n as i64 * SECOND, &[])
                }
            })
            .collect();
        let mut writer = store.audit_writer("here");
        for (n, batch) in events.chunks(100).enumerate() {
            let first = n as i64 * 100 + 1;
            let batch = AuditBatch { events: batch, first, until: LATE, running: 0 };
            writer.write(batch).await.unwrap();
        }
        let bytes: i64 = value(
            store,
            "select sum(pg_total_relation_size(inhrelid))::bigint + pg_total_relation_size('audit_repos')
             from pg_inherits where inhparent = 'audit'::regclass",
        )
        .await;
        assert!(bytes / EVENTS <= 350, "{} B an event", bytes / EVENTS);
    });
}
