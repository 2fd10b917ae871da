//! The audit while Postgres is away, and with several servers.

use crate::access::token_of;
use crate::harness::{Server, clean_command, eventually, texts};
use crate::private_postgres::Home;

use super::{Audited, ask};

/// A server on a Postgres of its own, which it does not start again by itself.
struct Away {
    home: Home,
    ann: String,
}

impl Away {
    fn new() -> Self {
        let home = Home::new();
        home.ingest();
        home.run(&["db", "start"]).code(0);
        let (ann, line) = token_of(&home.run(&["token", "ann"]).code(0));
        std::fs::write(home.folder().join("tokens"), line).unwrap();
        Self { home, ann }
    }

    fn serve(&self, listen: &str) -> Server {
        let folder = self.home.path().join("run");
        let url = format!("postgresql://codesearch@localhost/codesearch?host={}", folder.display());
        let mut command = clean_command();
        command.env("DATABASE_URL", url).current_dir(self.home.folder());
        command.args(["serve", "--listen", listen, "--tokens", "tokens"]);
        Server::start(command)
    }

    fn ask(&self, server: &Server) -> u16 {
        ask(server, &self.ann, "/search?q=hello", "application/json").0
    }

    /// Waits until so many events match a condition.
    #[track_caller]
    fn await_events(&self, count: usize, of: &str) {
        let sql = format!("select id::text from audit where {of}");
        let found = || texts(&self.home.path().join("run"), &sql).len();
        eventually(&format!("{count} events: {of}"), || found() == count);
    }
}

#[test]
fn events_wait_while_postgres_is_stopped() {
    let away = Away::new();
    let server = away.serve("127.0.0.1:0");
    let address = server.address.to_string();
    assert_eq!(away.ask(&server), 200);
    away.await_events(1, "who = 'ann'");
    away.home.run(&["db", "stop", "--force"]).code(0);
    for _ in 0..3 {
        assert!(away.ask(&server) >= 500);
    }
    away.home.run(&["db", "start"]).code(0);
    away.await_events(3, "who = 'ann' and outcome = 'failed' and status >= 500");
    away.await_events(4, "who = 'ann'");
    eventually("it answers again", || away.ask(&server) == 200);
    // One that is stopped meanwhile does not wait for long, and the next start notes the gap.
    away.home.run(&["db", "stop", "--force"]).code(0);
    assert!(away.ask(&server) >= 500);
    server.stop();
    away.home.run(&["db", "start"]).code(0);
    away.await_events(0, "outcome = 'gap'");
    let server = away.serve(&address);
    away.await_events(1, "outcome = 'gap'");
    server.stop();
    away.await_events(1, "interface = 'server'");
}

#[test]
fn two_servers_write_one_audit() {
    let audited = Audited::new();
    let (mut one, other) = (audited.serve(), audited.serve());
    let address = one.address.to_string();
    for n in 0..20 {
        for server in [&one, &other] {
            let path = format!("/search?q=needle+{n}");
            assert_eq!(ask(server, &audited.ann, &path, "application/json").0, 200);
        }
    }
    audited.await_events(40, "who = 'ann'");
    one.child.kill().unwrap();
    one.child.wait().unwrap();
    // The other one goes on, and is not taken for dead by the next.
    assert_eq!(ask(&other, &audited.ann, "/search?q=needle", "application/json").0, 200);
    let next = audited.fixture.serve_with(&["--tokens", "tokens", "--listen", &address]);
    audited.await_events(1, &format!("outcome = 'gap' and query like '%{address} %'"));
    for server in [&next, &other] {
        assert_eq!(ask(server, &audited.ann, "/search?q=needle", "application/json").0, 200);
    }
    next.stop();
    other.stop();
    audited.await_events(43, "who = 'ann'");
    audited.await_events(1, "interface = 'server'");
    audited.await_events(0, "exists (select from audit_writers where not ended)");
}
