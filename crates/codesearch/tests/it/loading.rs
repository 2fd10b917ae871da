//! A page is loaded with a fixed number of statements, however much it shows.

use crate::harness::{Fixture, Server};

/// Makes an index in one shard with `repos` repositories, each with a file that contains `needle`, and one of them with
/// `files` more files.
fn served(repos: usize, files: usize, cache: &str) -> (Fixture, Server) {
    let fixture = Fixture::new();
    for n in 0..repos {
        fixture.write(&format!("repo{n:02}/src/one.md"), format!("# Needle {n}\n\nneedle {n}\n"));
    }
    for n in 0..files {
        fixture.write(&format!("repo00/many/{n:03}.txt"), format!("before\nneedle {n}\nafter\n"));
    }
    fixture.run(&["ingest", "--shards", "1", "--depth", "1", "."]).code(0);
    let server = fixture.serve_with(&["--cache", cache]);
    (fixture, server)
}

#[track_caller]
fn check(server: &Server, few: &str, many: &str, accept: &str) -> u64 {
    let (few_made, many_made) = (server.statements(few, accept), server.statements(many, accept));
    assert_eq!(few_made, many_made, "{few} and {many}");
    many_made
}

#[test]
fn statements_do_not_grow_with_a_page() {
    // Nothing is kept in memory, so everything shown is loaded.
    let (_fixture, server) = served(20, 200, "0");
    for accept in ["application/json", "text/html"] {
        let searched = check(
            &server,
            "/search?q=needle+file:txt&limit=16",
            "/search?q=needle+file:txt&limit=100",
            accept,
        );
        // A lookup, files, and texts. Zero would mean that statements are not counted.
        assert!((2..20).contains(&searched), "{searched}");
        check(
            &server,
            "/search?q=needle+file:txt&limit=16&context=1",
            "/search?q=needle+file:txt&limit=100&context=1",
            accept,
        );
        check(&server, "/files?q=txt&limit=1", "/files?q=txt&limit=200", accept);
        check(&server, "/repos?q=repo00", "/repos", accept);
        check(&server, "/docs?q=needle&limit=2", "/docs?q=needle&limit=20", accept);
    }
}

#[test]
fn what_is_in_memory_takes_no_statement() {
    let (_fixture, server) = served(3, 150, "64");
    server.settle();
    assert_eq!(server.statements("/search?q=needle&limit=100", "application/json"), 0);
    check(&server, "/search?q=needle&limit=5", "/search?q=needle&limit=150", "application/json");
}
