//! Indexes of the sample made by scip-typescript and scip-python.
//!
//! They are next to this file, so that no test needs npm. `tests/clients/clients.d/scip` rebuilds them (`just clients
//! scip`), with `SCIP_KEPT=FOLDER` to keep them.

use std::path::Path;

use super::*;

/// The sample with both indexes.
fn imported() -> Fixture {
    let fixture = Fixture::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sample = root.join("../../corpus/sample").canonicalize().unwrap();
    let args = ["ingest", "--shards", "4", "--depth", "1", sample.to_str().unwrap()];
    fixture.run(&args).code(0);
    for (repo, tool) in [("regatta", "scip-typescript"), ("lighthouse", "scip-python")] {
        let index = root.join(format!("tests/it/scip/{repo}.scip"));
        let ran = fixture.run(&["scip", repo, index.to_str().unwrap()]).code(0);
        assert!(ran.out.starts_with(&format!("imported the SCIP index of {tool} ")), "{}", ran.out);
        assert!(!ran.out.contains("left out"), "{}{}", ran.out, ran.err);
    }
    fixture
}

/// Returns the place of the `nth` mention of a name in a file of the sample, from 0, as `repository/path:line:column`.
fn at(file: &str, name: &str, nth: usize) -> String {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
    let text = fs::read_to_string(sample.join(file)).unwrap();
    let start = text.match_indices(name).nth(nth).unwrap_or_else(|| panic!("{name} in {file}")).0;
    let before = &text[..start];
    let column = start - before.rfind('\n').map_or(0, |at| at + 1) + 1;
    format!("{file}:{}:{column}", before.matches('\n').count() + 1)
}

/// Returns the line of a place.
fn line(file: &str, name: &str) -> String {
    let place = at(file, name, 0);
    place[..place.rfind(':').unwrap()].to_owned()
}

#[test]
fn indexes_of_the_sample_lead_from_uses_to_definitions() {
    let fixture = imported();
    let server = fixture.serve();
    let (types, scoring) = ("regatta/src/types.ts", "regatta/src/scoring.ts");
    let (config, checks) = ("lighthouse/lighthouse/config.py", "lighthouse/lighthouse/checks.py");
    for (from, definition) in [
        // A type, in another file; a function, from the tests; a member, which many types could have.
        (at(scoring, "race.finishes", 0), line(scoring, "race: Race")),
        (at(scoring, "Race, boats", 0), line(types, "interface Race ")),
        (at("regatta/test/scoring.test.ts", "scoreRace", 1), line(scoring, "function scoreRace")),
        (at("regatta/test/scoring.test.ts", "code\"", 0), line(types, "code?: ")),
        (at("lighthouse/lighthouse/cli.py", "Config, quiet", 0), line(config, "class Config:")),
        (at("lighthouse/lighthouse/cli.py", "run_all", 0), line(checks, "def run_all")),
    ] {
        let answer = server.json(&format!("/definitions?from={from}")).1;
        assert_eq!(
            defined(&answer).first(),
            Some(&format!("precise {definition}")),
            "{from}: {answer}"
        );
    }
    fixture.check_invariants();
}

#[test]
fn indexes_of_the_sample_lead_from_definitions_to_uses() {
    let fixture = imported();
    let server = fixture.serve();
    let precise = |from: &str| -> Vec<String> {
        let answer = server.json(&format!("/references?from={from}")).1;
        let all = referred(&answer).into_iter().filter(|one| one.starts_with("precise "));
        all.map(|one| one["precise ".len()..].to_owned()).collect()
    };
    let from = at("regatta/src/scoring.ts", "corrected", 0);
    let found = precise(&from);
    let (main, tests) = ("regatta/src/scoring.ts:", "regatta/test/scoring.test.ts:");
    assert!(found.iter().any(|one| one.starts_with(main) && one.ends_with(" call")), "{found:?}");
    assert!(
        found.iter().any(|one| one.starts_with(tests) && one.ends_with(" import")),
        "{found:?}"
    );
    let from = at("lighthouse/lighthouse/config.py", "CheckConfig", 0);
    let found = precise(&from);
    assert!(
        found.iter().any(|one| one.starts_with("lighthouse/lighthouse/checks.py:")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|one| one.starts_with("lighthouse/tests/test_checks.py:")),
        "{found:?}"
    );
    // Names in comments or strings are not in a SCIP index.
    assert!(found.iter().all(|one| !one.ends_with(" comment")), "{found:?}");
}

#[test]
fn what_is_stored_of_the_sample_is_small() {
    let fixture = imported();
    let stored: i64 = fixture.sql("select sum(octet_length(occurrences)) from scip");
    let places: i64 = fixture.sql("select sum(occurrences)::bigint from scip_imports");
    assert!(places > 2000 && stored < places * 6, "{stored} bytes for {places} places");
}
