//! Indexes that are invalid, truncated, huge, for other files, or no indexes at all.

use super::*;

/// Returns the imported data, for comparison.
fn imported(fixture: &Fixture) -> String {
    fixture.sql("select coalesce(string_agg(i::text, ' ' order by id), '') || (select count(*) from scip) from scip_imports i")
}

#[test]
fn a_bad_index_changes_nothing() {
    let fixture = shop();
    import_shop(&fixture);
    let before = imported(&fixture);
    let good = index("scip-test", &shop_documents());
    let refused = |bytes: &[u8], sentence: &str| {
        let ran = import(&fixture, "shop", bytes).code(2);
        assert!(ran.err.contains(sentence), "{}", ran.err);
        // Postgres may notice late that the previous import has ended, and still hold its lock.
        let said = ran.err.lines().filter(|line| !line.ends_with("waiting for it to end"));
        assert_eq!(said.count(), 1, "{}", ran.err);
        assert_eq!(imported(&fixture), before, "{sentence}");
    };
    refused(b"", "this is not a SCIP index");
    refused(b"{\"jsonrpc\": \"2.0\"}\n", "this is not a SCIP index");
    refused(MAIN.as_bytes(), "this is not a SCIP index");
    refused(
        &good[..good.len() - 3],
        &format!("the SCIP index is truncated after {} bytes", good.len() - 3),
    );
    refused(&index("scip-test", &[]), "the SCIP index has no documents");
    // A document that is not a message, after some that are stored already.
    let broken = [&good[..], &field(2, &[0xff; 20])].concat();
    refused(&broken, "the SCIP index is corrupt at byte");
    refused(&[&good[..], &[0x0f]].concat(), "the SCIP index is corrupt at byte");
    // A document of another project.
    let other = document("lib/none.ts", MAIN, Unit::Utf16, &[("run", 0, RUN, 0)]);
    refused(
        &index("scip-test", &[other.clone(), other]),
        "none of the 2 files in the SCIP index matches shop as indexed (",
    );
    let named_alike =
        document("src/main.ts", "other contents\nrun\n", Unit::Utf16, &[("run", 0, RUN, 0)]);
    refused(&index("scip-test", &[named_alike]), "src/main.ts with");
    // An empty file fits any index, so it proves none.
    fixture.write("shop/src/empty.ts", "");
    fixture.ingest();
    let empty = document("src/empty.ts", "", Unit::Utf16, &[]);
    refused(&index("scip-test", &[empty]), "none of the 1 file in the SCIP index");
    for (args, sentence) in [
        (&["scip", "shop", "none.scip"][..], "cannot read none.scip"),
        (&["scip", "shop", "shop"], "shop is a folder; give the file index.scip in it"),
        (
            &["scip", "none", "index.scip"],
            "no repository is named 'none'; codesearch repos lists them",
        ),
        (&["scip", "none", "--remove"], "no repository is named 'none'"),
        (&["scip", "shop"], "<FILE> is missing"),
    ] {
        let ran = fixture.run(args).code(2);
        assert!(ran.err.contains(sentence), "{}", ran.err);
    }
    fixture.check_invariants();
}

#[test]
fn what_does_not_fit_is_left_out_and_counted() {
    let fixture = shop();
    fixture.write("shop/src/long.ts", "export function long() {}\nlong();\n");
    fixture.write("shop/src/text.ts", "run();\n");
    fixture.ingest();
    let [cart, _, _] = shop_documents();
    let long = "scip-test npm shop 1.0 src/`long.ts`/long().";
    let outside = field(2, &place(&[7, 0, 4], long, 0));
    // The column is further to the right: the file has changed.
    let before = MAIN.replacen("import", "import ", 1);
    let moved =
        document("src/main.ts", &before, Unit::Utf16, &[("run", 0, RUN, 0), ("run", 1, RUN, 0)]);
    let with_text =
        document_of("src/text.ts", &[field(2, &place(&[0, 0, 3], RUN, 0)), field(5, b"run()")]);
    let none = document("src/none.ts", MAIN, Unit::Utf16, &[("run", 0, RUN, 0)]);
    let documents = [
        cart.clone(),
        document_of("src/long.ts", &[outside]),
        moved,
        with_text,
        none.clone(),
        none,
        cart,
    ];
    let ran = import(&fixture, "shop", &index("scip-test", &documents)).code(0);
    assert!(ran.out.contains(": 1 place in 1 file; 6 files left out, "), "{}", ran.out);
    for told in [
        "left out 1 file not in the indexed repository: src/none.ts",
        "left out 2 files listed twice, and imported once, such as",
        "left out 1 file with positions outside the file, which has changed: src/long.ts",
        "left out 1 file with names at other positions: the file has changed: src/main.ts",
    ] {
        assert!(ran.err.contains(told), "{}", ran.err);
    }
    assert_eq!(fixture.sql::<String>("select string_agg(path, ' ') from scip"), "src/cart.ts");
    let counted =
        "select format('%s %s %s', documents, fitting, refused) from codesearch_sql.scip_indexes";
    assert_eq!(fixture.sql::<String>(counted), "1 1 6");
    fixture.check_invariants();
}

#[test]
fn a_document_of_more_than_a_file_can_have_is_passed_over() {
    let fixture = shop();
    let huge = field(2, &[field(1, b"src/main.ts"), field(5, &vec![b' '; 65 << 20])].concat());
    let [cart, other, _] = shop_documents();
    let ran = import(&fixture, "shop", &index("scip-test", &[cart, huge, other])).code(0);
    assert!(ran.out.contains(": 2 places in 2 files; 1 file left out, "), "{}", ran.out);
    assert!(
        ran.err.contains("left out 1 file too large: a document of more than 64 MB"),
        "{}",
        ran.err
    );
}

#[test]
fn an_index_is_read_from_standard_input() {
    let fixture = shop();
    fixture.write("index.scip", index("scip-test", &shop_documents()));
    let file = fs::File::open(fixture.path().join("index.scip")).unwrap();
    let ran =
        Ran::of(fixture.command(&["scip", "shop", "-"]).stdin(file).output().unwrap()).code(0);
    assert!(
        ran.out.starts_with("imported the SCIP index of scip-test 1.0: 4 places in 3 files, "),
        "{}",
        ran.out
    );
}

#[test]
fn a_killed_import_has_changed_nothing() {
    let fixture = shop();
    import_shop(&fixture);
    let before = imported(&fixture);
    // The import has stored some documents, and waits for more.
    let documents: Vec<Vec<u8>> = (0..600).map(|_| shop_documents()[0].clone()).collect();
    let mut child = fixture
        .command(&["scip", "shop", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut into = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut into, &index("scip-test", &documents)).unwrap();
    crate::harness::eventually("it stores", || {
        fixture.sql::<bool>("select exists (select from pg_locks where relation = 'scip_imports'::regclass and mode = 'RowExclusiveLock')")
    });
    assert_eq!(imported(&fixture), before);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(into);
    // The next import waits until the server releases the dead one's lock.
    import_shop(&fixture);
    fixture.check_invariants();
}
