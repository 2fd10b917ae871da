//! Servers follow the configuration file.

use std::fs;

use super::{found, until};
use crate::harness::{Fixture, Server, eventually};

impl Fixture {
    /// Replaces the configuration file at once.
    fn settings(&self, text: &str) {
        self.write("new.toml", text);
        fs::rename(self.path().join("new.toml"), self.path().join("codesearch.toml")).unwrap();
    }

    fn serve_settings(&self, options: &[&str]) -> Server {
        let args = ["serve", "--listen", "127.0.0.1:0", "--settings", "codesearch.toml"];
        Server::start(self.command(&[&args, options].concat()))
    }
}

/// Waits until something is indexed.
fn until_indexed(server: &Server) {
    eventually("something is indexed", || server.json("/search?q=x").0 == 200);
}

fn is_in_use(server: &Server) -> bool {
    server.get("/metrics", "*/*").2.contains("\ncodesearch_configuration_ok 1\n")
}

#[test]
fn folders_of_the_file_are_indexed_when_they_are_named() {
    let fixture = Fixture::new();
    for name in ["one", "two", "three/x"] {
        fixture.write(&format!("{name}/a.rs"), format!("fn in_it() {{}} // {name}\n"));
        fixture.write(&format!("{name}/b.log"), "fn in_it() {}\n");
        fixture.write(&format!("{name}/.ignore"), "*.log\n");
    }
    fixture.settings("[[folder]]\npath = \"one\"\n");
    fixture.run(&["init", "--shards", "4"]).code(0);
    // It does not watch, and the index is empty.
    let server = fixture.serve_settings(&[]);
    until_indexed(&server);
    until(&server, "lit:in_it", &["one a.rs"]);
    // One that does not exist is indexed when it does.
    let file =
        "[[folder]]\npath = \"one\"\n[[folder]]\npath = \"two\"\n[[folder]]\npath = \"later\"\n";
    fixture.settings(file);
    until(&server, "lit:in_it", &["one a.rs", "two a.rs"]);
    fixture.write("moved/c.rs", "fn in_it() {}\n");
    fs::rename(fixture.path().join("moved"), fixture.path().join("later")).unwrap();
    until(&server, "lit:in_it", &["later c.rs", "one a.rs", "two a.rs"]);
    // A wrong file changes nothing.
    assert!(is_in_use(&server));
    fixture.settings("[[folder]]\npath = \"three\"\ndept = 1\n");
    eventually("the server says that the file is wrong", || !is_in_use(&server));
    assert_eq!(found(&server, "lit:in_it").len(), 3);
    // Its own depth, and another rule for one that is indexed.
    fixture.settings(&format!("{file}no_ignore = true\n[[folder]]\npath = \"three\"\ndepth = 1\n"));
    until(&server, "lit:in_it", &["later c.rs", "one a.rs", "two a.rs", "x a.rs"]);
    assert!(is_in_use(&server));
    let file = file.replace("\"two\"", "\"two\"\nno_ignore = true");
    fixture.settings(&file);
    let all = ["later c.rs", "one a.rs", "two a.rs", "two b.log", "x a.rs"];
    until(&server, "lit:in_it", &all);
    assert!(fixture.sql::<bool>("select not exists (select from pending)"));
    server.stop();
    // The next server finds nothing new in it.
    let server = fixture.serve_settings(&[]);
    assert_eq!(found(&server, "lit:in_it"), all);
    server.stop();
    fixture.check_invariants();
}

#[test]
fn what_is_watched_follows_the_file() {
    let fixture = Fixture::new();
    fixture.write("seen/r/a.rs", "fn first() {}\n");
    fixture.named_clone("seen/r", "o/seen");
    fixture.write("unseen/r/a.rs", "fn first() {}\n");
    fixture.named_clone("unseen/r", "o/unseen");
    let file = |watch: &str, more: &str| {
        fixture.settings(&format!(
            "[[folder]]\npath = \"seen\"\n[[folder]]\npath = \"unseen\"\nwatch = {watch}\n{more}"
        ));
    };
    file("false", "");
    fixture.run(&["init", "--shards", "4"]).code(0);
    let server = fixture.serve_settings(&["--watch", "--note-every", "100ms"]);
    let (seen, unseen) = ("example.org/o/seen a.rs", "example.org/o/unseen a.rs");
    until_indexed(&server);
    until(&server, "lit:first", &[seen, unseen]);
    let save = |text: &str| {
        fixture.write("unseen/r/a.rs", format!("fn {text}() {{}}\n"));
        fixture.write("seen/r/a.rs", format!("fn {text}() {{}}\n"));
    };
    save("second");
    until(&server, "lit:second", &[seen]);
    save("third");
    until(&server, "lit:third", &[seen]);
    assert_eq!(found(&server, "lit:first"), [unseen], "it is not watched");
    file("true", "");
    until(&server, "lit:third", &[seen, unseen]);
    save("fourth");
    until(&server, "lit:fourth", &[seen, unseen]);
    // A wrong file keeps what was.
    file("maybe", "");
    eventually("the server says that the file is wrong", || !is_in_use(&server));
    save("fifth");
    until(&server, "lit:fifth", &[seen, unseen]);
    // All are polled.
    file("true", "[watch]\nmax_folders = 1\npoll = \"1s\"\n");
    eventually("both are polled", || {
        fixture.sql::<i64>("select count(polled) from repos where polled like 'every % s: %'") == 2
    });
    save("sixth");
    until(&server, "lit:sixth", &[seen, unseen]);
    file("true", "");
    eventually("none is polled", || fixture.sql::<i64>("select count(polled) from repos") == 0);
    save("seventh");
    until(&server, "lit:seventh", &[seen, unseen]);
    server.stop();
    fixture.check_invariants();
}
