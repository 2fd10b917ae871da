//! What a search of a commit cannot know: symbols of texts that only the clone has.

use serde_json::json;

use crate::harness::Fixture;

#[test]
fn symbols_of_texts_that_only_the_clone_has_are_told() {
    let fixture = Fixture::new();
    fixture.write("r/a.rs", "fn unseen() {}\n");
    fixture.write("r/b.rs", "fn seen() {}\n");
    fixture.commit("r", "first");
    fixture.write("r/a.rs", "fn later() {}\n");
    fixture.commit("r", "second");
    fixture.ingest();
    fixture.run(&["symbols"]).code(0);
    let ran = fixture.run(&["search", "rev:HEAD~1 sym:unseen"]);
    assert!(
        ran.err.contains("symbols of 1 file are incomplete (1 not-indexed)")
            && !ran.err.contains("run: codesearch symbols"),
        "{}",
        ran.err
    );
    assert_eq!(fixture.search(&["rev:HEAD~1 sym:seen"]), ["r/b.rs:1:fn seen() {}"]);
    let server = fixture.serve();
    let left = server.search("rev:HEAD~1 sym:unseen")["stats"]["symbols"].clone();
    assert_eq!((&left["pending"], &left["given_up"]), (&json!(0), &json!({ "not-indexed": 1 })));
    // All texts of HEAD are stored.
    assert_eq!(server.search("rev:HEAD sym:later")["stats"]["complete"], true);
}
