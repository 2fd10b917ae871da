//! Searching documents and comments by their words.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::harness::{Fixture, citus};

impl Fixture {
    /// Searches documents, and returns the answer.
    #[track_caller]
    fn docs(&self, args: &[&str]) -> Value {
        let ran = self.run(&[&["docs", "--json", "--limit", "1000"], args].concat());
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", ran.err);
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(answer["docs"].as_array().unwrap().is_empty(), ran.status.code() == Some(1));
        answer
    }

    /// Returns the files found, the best first.
    #[track_caller]
    fn found(&self, args: &[&str]) -> Vec<String> {
        let answer = self.docs(args);
        let docs = answer["docs"].as_array().unwrap();
        let text = |doc: &Value, key: &str| doc[key].as_str().unwrap().to_owned();
        docs.iter().map(|doc| format!("{}/{}", text(doc, "repo"), text(doc, "path"))).collect()
    }
}

fn written() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "one/README.md",
        "# The kettle\n\nIt boils water.\n\n## Retries\n\nConfigure how often it is retried with `maxRetryCount`.\n",
    );
    fixture.write(
        "one/docs/tea.rst",
        "Brewing tea\n===========\n\nWater that has boiled once is best for a kettle of tea.\n",
    );
    fixture.write(
        "one/src/user.go",
        "// Copyright 2020 The Authors.\n\n// Package user says who is there: see getUserName.\npackage user\n",
    );
    fixture.write("one/src/none.go", "package none\n\nfunc kettle() {}\n");
    fixture.write("two/notes.txt", "Der Kessel kocht Wasser und pfeift dabei leise vor sich hin, bis jemand kommt und ihn ausschaltet\n");
    fixture.write("two/kettle.1", ".TH KETTLE 1\n.SH NAME\nkettle \\- boil \\fBwater\\fP\n");
    fixture.ingest();
    fixture
}

#[test]
fn found_by_titles_bodies_stems_and_parts_of_identifiers() {
    let fixture = written();
    for (query, files) in [
        // A match in a title ranks before one in the text.
        ("kettle", &["one/README.md", "two/kettle.1", "one/docs/tea.rst"][..]),
        ("how do I configure retrying", &["one/README.md"]),
        ("boiling", &["two/kettle.1", "one/README.md", "one/docs/tea.rst"]),
        ("user name", &["one/src/user.go"]),
        ("get_user_name", &["one/src/user.go"]),
        ("getUserName", &["one/src/user.go"]),
        ("max retry", &["one/README.md"]),
        ("authors", &[]),
        ("kessel", &["two/notes.txt"]),
        ("kesseln", &[]),
        ("\"kettle of tea\"", &["one/docs/tea.rst"]),
        ("\"tea of kettle\"", &[]),
        // A phrase does not span the end of a title.
        ("\"kettle kettle\"", &[]),
        ("brewing or kessel", &["one/docs/tea.rst", "two/notes.txt"]),
        ("kettle -tea -retries", &["two/kettle.1"]),
        // Excluded phrases match in any form: this one excludes "boil water", too.
        ("kettle -\"boils water\"", &["one/docs/tea.rst"]),
    ] {
        let found = fixture.found(&[query]);
        let sorted = |files: Vec<String>| files.into_iter().collect::<BTreeSet<_>>();
        assert_eq!(
            sorted(found.clone()),
            sorted(files.iter().map(|f| (*f).to_owned()).collect()),
            "{query}"
        );
        if query == "kettle" {
            assert_eq!(found[2], "one/docs/tea.rst", "{found:?}");
        }
    }
    let answer = fixture.docs(&["configure retries"]);
    let doc = &answer["docs"][0];
    assert_eq!(
        (&doc["title"], &doc["kind"], &doc["same"]),
        (&"The kettle".into(), &"document".into(), &0.into())
    );
    let snippet = doc["snippet"].as_str().unwrap();
    let marked = doc["snippet_ranges"].as_array().unwrap().iter();
    let marked: Vec<&str> = marked
        .map(|range| {
            &snippet[range[0].as_u64().unwrap() as usize..range[1].as_u64().unwrap() as usize]
        })
        .collect();
    assert_eq!(marked, ["Retries", "Configure", "retried", "Retry"], "{snippet}");
    assert_eq!(answer["stats"]["complete"], true);

    let out = fixture.run(&["docs", "--color", "always", "user name"]).code(0).out;
    assert!(out.contains("one/src/user.go"), "{out}");
    assert!(out.contains("get\u{1b}["), "parts are marked: {out:?}");
    assert_eq!(fixture.run(&["docs", "nowhere"]).code(1).out, "");
}

#[test]
fn narrowed_by_repository_language_and_dictionary() {
    let fixture = written();
    let count = |args: &[&str]| fixture.found(args).len();
    assert_eq!(fixture.found(&["kettle", "--repo", "tw"]), ["two/kettle.1"]);
    assert_eq!(count(&["kettle", "--repo", "^one$", "--repo", "two"]), 3);
    assert_eq!(count(&["kettle", "--repo", "three"]), 0);
    assert_eq!(fixture.found(&["kettle", "--lang", "md"]), ["one/README.md"]);
    assert_eq!(count(&["kettle", "--lang", "md", "--lang", "rst"]), 2);
    assert_eq!(count(&["kessel", "--dictionary", "english"]), 0);
    assert_eq!(count(&["kessel", "--dictionary", "plain"]), 1);
    assert_eq!(count(&["kettle", "--dictionary", "plain"]), 0);
    // Fields of a query for code narrow this search, too; unsupported ones are reported.
    assert_eq!(fixture.found(&["kettle repo:tw"]), ["two/kettle.1"]);
    assert_eq!(fixture.found(&["lang:md kettle -file:x"]), ["one/README.md"]);
    assert_eq!(count(&["kettle l:md lang:rst"]), 2);
    assert_eq!(fixture.docs(&["kettle -file:x"])["ignored"][0], "-file:x");
    let told = fixture.run(&["docs", "kettle case:yes"]).code(0).err;
    assert!(told.contains("ignored in a search of documents: case:yes"), "{told}");
    let unknown = fixture.run(&["docs", "kettle lang:klingon"]).code(2).err;
    assert!(unknown.contains("klingon"), "{unknown}");
    let cut = fixture.run(&["docs", "kettle", "--limit", "2"]).code(0);
    assert_eq!(cut.err, "codesearch: the best 2 of 3\n");
    assert_eq!(
        cut.out.lines().filter(|line| line.starts_with("one/") || line.starts_with("two/")).count(),
        2
    );
}

#[test]
fn what_cannot_be_asked_is_told_in_a_sentence() {
    let fixture = written();
    for (args, expected) in [
        (&[""][..], "the query is empty; give some words"),
        (&["?! ..."], "the query is empty; give some words"),
        (&["how is the"], "all these words are in nearly every text"),
        (&["--", "-kettle"], "only exclusions; add a word to find"),
        (&["kettle", "--lang", "klingon"], "--lang: unknown language \"klingon\""),
        (&["kettle", "--repo", "("], "--repo: "),
        (&[&*"kettle ".repeat(1000)], "longer than 2000 bytes"),
    ] {
        let err = fixture.run(&[&["docs"], args].concat()).code(2).err;
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    // Texts that would trip the server's own parser.
    for odd in ["a:b & | ! <-> ( ' \\ \"", "x\u{1f}y", "ſ K 日本 e\u{301}", "kettle:*A"] {
        fixture.docs(&[odd]);
    }
}

#[test]
fn prose_changes_with_its_files() {
    let fixture = written();
    fixture.write("one/README.md", "# The samovar\n\nIt boils water.\n");
    fs::remove_file(fixture.path().join("two/kettle.1")).unwrap();
    // The same contents, at first only in a file that is not a document.
    fixture.write("two/copy.bin", "A teapot stands on the table.\n");
    fixture.ingest();
    assert_eq!(fixture.found(&["kettle"]), ["one/docs/tea.rst"]);
    assert_eq!(fixture.found(&["samovar"]), ["one/README.md"]);
    assert!(fixture.found(&["teapot"]).is_empty());
    fixture.write("two/teapot.txt", "A teapot stands on the table.\n");
    fixture.write("one/teapot.txt", "A teapot stands on the table.\n");
    fixture.ingest();
    let answer = fixture.docs(&["teapot"]);
    assert_eq!(answer["docs"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(
        (&answer["docs"][0]["path"], &answer["docs"][0]["same"]),
        (&"teapot.txt".into(), &2.into())
    );
    fixture.check_invariants();
    fixture.run(&["remove", "one"]).code(0);
    assert!(fixture.found(&["samovar"]).is_empty());
    assert_eq!(fixture.found(&["teapot"]), ["two/teapot.txt"]);
    // The same in one ingest: the first file with the contents is not a document.
    fixture.write("four/a.bin", "A saucer lies below the cup.\n");
    fixture.write("four/b.txt", "A saucer lies below the cup.\n");
    fixture.ingest();
    assert_eq!(fixture.found(&["saucer"]), ["four/b.txt"]);
    fixture.check_invariants();
}

#[test]
fn an_index_without_prose_gets_it_when_all_is_read_again() {
    if citus::leaves_out("an index of before lies on one Postgres") {
        return;
    }
    let fixture = written();
    let before = fixture.found(&["kettle"]);
    fixture.exec(
        "drop table docs;
         drop text search configuration docs_english, docs_plain, docs_plain_query;
         drop text search dictionary docs_stopwords;
         alter table shards drop column docs_indexed;
         delete from _sqlx_migrations where version in (2, 7, 37)",
    );
    assert!(fixture.found(&["kettle"]).is_empty());
    fixture.ingest();
    fixture.run(&["ingest", "--again", "--depth", "1", "."]).code(0);
    assert_eq!(fixture.found(&["kettle"]), before);
    fixture.check_invariants();
}

#[test]
fn an_index_in_which_docs_have_their_old_names_gets_the_new_ones() {
    if citus::leaves_out("an index of before lies on one Postgres") {
        return;
    }
    let fixture = written();
    let before = fixture.docs(&["kettle"])["docs"].clone();
    fixture.exec(
        "alter table docs rename to prose;
         alter table prose add column heads tsvector;
         alter table prose rename column lexemes to words;
         do $$
         declare name text;
         begin
             for name in select relname from pg_class
                 where relnamespace = 'codesearch'::regnamespace and relname ~ '^docs_'
             loop
                 execute format('alter table %I rename to %I', name,
                     regexp_replace(regexp_replace(name, '^docs', 'prose'), '_lexemes$', '_words'));
             end loop;
         end $$;
         alter text search configuration docs_english rename to prose_english;
         alter text search configuration docs_plain rename to prose_plain;
         alter text search configuration docs_plain_query rename to prose_asked;
         alter text search dictionary docs_stopwords rename to prose_words;
         create index prose_000_words on prose_000 using gin (words);
         alter table shards drop column docs_indexed;
         delete from words_00 w using word_segments_00 s
             where w.shard = s.shard and w.segment = s.segment and s.field = 2;
         delete from word_segments_00 where field = 2;
         delete from _sqlx_migrations where version in (7, 37)",
    );
    // The word index has no docs before the next ingest.
    assert_eq!(fixture.docs(&["kettle"])["docs"], before);
    fixture.check_invariants();
    let behind = "select count(*) from shards where not docs_indexed";
    assert!(fixture.sql::<i64>(behind) > 0);
    fixture.ingest();
    assert_eq!(fixture.sql::<i64>(behind), 0);
    assert!(fixture.sql::<i64>("select count(*) from word_segments where field = 2") > 0);
    assert_eq!(fixture.docs(&["kettle"])["docs"], before);
    fixture.check_invariants();
    let old: i64 = fixture.sql(
        "select count(*) from pg_class
         where relnamespace = 'codesearch'::regnamespace and relname ~ 'prose|^docs_.*_lexemes'",
    );
    assert_eq!(old, 0);
}

#[test]
fn scripts_without_spaces_are_found_by_their_characters() {
    let fixture = Fixture::new();
    fixture.write(
        "r/配置.md",
        "# 如何配置重试次数\n\n在服务器的配置文件中设置重试次数和等待时间，然后重新启动服务器。\n",
    );
    fixture.write("r/other.md", "# 置配\n\n启动次数\n");
    fixture.write(
        "r/english.md",
        "# The retries\n\nThis is the text that tells how 重试次数 is set by retryCount.\n",
    );
    fixture.write("r/ja.txt", "設定ファイルでリトライ回数を指定する\n");
    fixture.ingest();
    let found = |query: &str| -> BTreeSet<String> { fixture.found(&[query]).into_iter().collect() };
    let set = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
    for (query, files) in [
        ("配置", &["r/配置.md"][..]),
        ("如何配置", &["r/配置.md"]),
        ("置配", &["r/other.md"]),
        ("重试次数", &["r/english.md", "r/配置.md"]),
        ("重试次数 retryCount", &["r/english.md"]),
        ("次数 -配置", &["r/english.md", "r/other.md"]),
        ("置配 or リトライ", &["r/ja.txt", "r/other.md"]),
        ("配数", &[]),
    ] {
        assert_eq!(found(query), set(files), "{query}");
    }
    let doc = &fixture.docs(&["配置"])["docs"][0];
    let title = doc["title"].as_str().unwrap();
    assert_eq!(title, "如何配置重试次数");
    let out = fixture.run(&["docs", "--color", "always", "配置"]).code(0).out;
    assert!(out.contains("配置\u{1b}["), "{out:?}");
    fixture.check_invariants();
    // Docs of before, with words as long as a sentence, are replaced when they are read again.
    fixture.exec_each(
        "docs",
        "update {} set lexemes = to_tsvector('docs_plain', '如何配置重试次数') where plain",
    );
    fixture.exec("update shards set docs_indexed = false");
    assert!(found("配置").is_empty());
    fixture.run(&["ingest", "--again", "--depth", "1", "."]).code(0);
    assert_eq!(found("配置"), set(&["r/配置.md"]));
    fixture.check_invariants();
}

#[test]
fn hostile_and_large_texts_are_found_and_shown_as_text() {
    let fixture = Fixture::new();
    fixture.write("r/<i>.md", "# <b>Bold</b> claims\n\nneedle `<script>alert(1)</script>` &amp; \u{2}needle\u{3} \u{1b}[31m\n");
    fixture.write(
        "r/big.txt",
        format!("Large\n\nfirst {}\nlast\n", "different words again ".repeat(20_000)),
    );
    // Identifiers that are all different.
    let letter = |n: u32| char::from_u32('a' as u32 + n % 26).unwrap();
    let many: Vec<String> = (0..9000)
        .map(|n| format!("aB{}{}{}cD_eF", letter(n / 676), letter(n / 26), letter(n)))
        .collect();
    let many = many.join(" ");
    fixture.write("r/many.txt", format!("Many needle\n{many}"));
    fixture.write("r/long.txt", format!("Long needle\n{}", "x".repeat(200_000)));
    fixture.write("r/empty.md", "");
    fixture.write("r/signs.md", "# ***\n---\n");
    fixture.write("r/deep.md", format!("{}needle", "> ".repeat(5000)));
    fixture.ingest();
    assert_eq!(fixture.found(&["needle"]).len(), 4);
    assert_eq!(fixture.found(&["first different"]), ["r/big.txt"]);
    // Only the beginning of a large text is indexed.
    assert!(fixture.found(&["last"]).is_empty());
    let out = fixture.run(&["docs", "needle claims", "--color", "never"]).code(0).out;
    assert!(!out.contains(['\u{2}', '\u{3}', '\u{1b}']), "{out:?}");
    let server = fixture.serve();
    let (status, _, page) = server.get("/docs?q=needle", "text/html");
    assert_eq!(status, 200);
    assert!(
        !page.contains("<script>alert") && !page.contains("<b>") && !page.contains("<i>"),
        "{page}"
    );
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62;"), "{page}");
    assert!(page.contains("<mark>needle</mark>"), "{page}");
    let (_, _, page) = server.get("/docs?q=%22%3E%3Cscript%3Ex", "text/html");
    assert!(!page.contains("<script>x"), "{page}");
}

#[test]
fn the_word_index_names_the_docs_that_may_match() {
    let fixture = written();
    let before = fixture.found(&["kettle"]);
    // What is not in it is not found, and the check says so.
    fixture.exec(
        "delete from words_00 w using word_segments_00 s
             where w.shard = s.shard and w.segment = s.segment and s.field = 2",
    );
    assert!(fixture.found(&["kettle"]).is_empty());
    let told = fixture.run(&["check"]).code(1).out;
    assert!(told.contains("the words of its doc are not those of the word index"), "{told}");
    fixture.run(&["check", "--repair"]).code(0);
    assert_eq!(fixture.found(&["kettle"]), before);
    fixture.check_invariants();
    // Without it, all are read.
    fixture.exec("update shards set docs_indexed = false");
    assert_eq!(fixture.found(&["kettle"]), before);
    fixture.ingest();
    assert_eq!(fixture.sql::<i64>("select count(*) from shards where not docs_indexed"), 0);
    assert_eq!(fixture.found(&["kettle"]), before);
}

/// Checks that matches equal those of a scan of all texts.
#[test]
fn the_index_finds_what_a_scan_finds() {
    let fixture = Fixture::new();
    let mut random = fastrand::Rng::with_seed(7);
    let vocabulary = [
        "water",
        "waters",
        "boil",
        "boiling",
        "boiled",
        "kettle",
        "kettles",
        "tea",
        "teas",
        "cup",
        "the",
        "of",
        "configure",
        "configuration",
        "retry",
        "retries",
        "server",
        "serving",
        "user",
        "name",
    ];
    let words = |random: &mut fastrand::Rng, count: usize| -> String {
        (0..count).map(|_| *random.choice(&vocabulary).unwrap()).collect::<Vec<_>>().join(" ")
    };
    for n in 0..150 {
        let count = random.usize(3..12);
        let text = words(&mut random, count);
        // This makes the text English, and each text different.
        fixture.write(
            &format!("r{}/{n}.txt", n % 3),
            format!("{text}\nand this is the text for number n{n}\n"),
        );
    }
    fixture.ingest();
    for _ in 0..25 {
        let (one, two) = (words(&mut random, 1), words(&mut random, 2));
        let query = match random.u8(0..5) {
            0 => format!("{one} {two}"),
            1 => format!("\"{two}\""),
            2 => format!("{one} or {two} text"),
            3 => format!("number -{one} -\"{two}\""),
            _ => format!("number {two}"),
        };
        let found: BTreeSet<String> = fixture.found(&[&query]).into_iter().collect();
        let scanned: Vec<String> = fixture.sql(&format!(
            "select coalesce(array_agg(r.name || '/' || f.path), '{{}}')
             from files f join repos r on r.id = f.repo
                  join lateral (select string_agg(contents, '' order by n) text from chunks c
                                where c.shard = f.shard and c.blob = f.blob) t on true
             where to_tsvector('docs_english', text) @@ websearch_to_tsquery('docs_english', '{query}')"
        ));
        assert_eq!(found, scanned.into_iter().collect(), "{query}");
    }
}
