//! Flips bytes of the index on disk.

use std::fs;
use std::path::PathBuf;

use super::Run;
use super::world::{World, printed};
use crate::private_postgres::Home;

#[test]
fn a_flipped_byte_is_never_answered_wrongly() {
    let mut run = Run::new("bytes", 5, 500);
    let home = Home::new();
    let mut world = World::new(home.folder().to_owned(), &mut run.rng);
    home.run(&World::ingest_args()).code(0);
    home.run(&["db", "start"]).code(0);
    let files: Vec<PathBuf> = home.sql_texts(
        "select pg_relation_filepath(oid) from pg_class
         where relkind in ('r', 'i', 't') and pg_relation_size(oid) > 0
           and (relnamespace = 'codesearch'::regnamespace
                or oid in (select reltoastrelid from pg_class where relnamespace = 'codesearch'::regnamespace))",
    );
    let files: Vec<PathBuf> =
        files.iter().map(|file| home.path().join("data").join(file)).collect();
    home.run(&["db", "stop"]).code(0);
    let (mut reported, mut unread, mut answered, mut failed) = (0, 0, 0, 0);
    while run.step().is_some() {
        let file = run.rng.choice(&files).unwrap();
        let whole = fs::read(file).unwrap();
        let mut damaged = whole.clone();
        damaged[run.rng.usize(..whole.len())] ^= 1 << run.rng.u8(..8);
        fs::write(file, &damaged).unwrap();
        // Starts the server once for all requests.
        let started = home.run(&["db", "start"]).status.code() == Some(0);
        for _ in 0..3 {
            let (query, regex) = world.query();
            match printed(&home.run(&["search", "--limit", "0", &query])) {
                Some(found) => {
                    answered += 1;
                    world.is_of_now(&found, &regex);
                }
                None => failed += 1,
            }
        }
        match home.run(&["check"]).status.code() {
            Some(0) => unread += 1,
            Some(1 | 2) => reported += 1,
            other => panic!("check ended with {other:?}"),
        }
        if started {
            home.run(&["db", "stop", "--force"]).code(0);
        }
        // The server may have written other pages of the file meanwhile; none of them is needed.
        fs::write(file, &whole).unwrap();
    }
    home.run(&["check"]).code(0);
    run.end(&format!(
        "{reported} flips reported by check, {unread} where nothing is read; {answered} answers right, {failed} refused"
    ));
}
