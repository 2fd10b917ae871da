//! SCIP indexes: importing them, which results they make precise, and for how long.

mod bad;
mod real;

use std::fs;

use serde_json::{Value, json};

use crate::harness::scip::{
    DEFINES, Unit, document, document_of, field, index, metadata, place, refers,
};
use crate::harness::{Fixture, Ran};
use crate::symbol_search::told;

const RUN: &str = "scip-test npm shop 1.0 src/`cart.ts`/run().";
const OTHER_RUN: &str = "scip-test npm shop 1.0 src/`other.ts`/run().";

const CART: &str = "export function run(n: number) {\n  return n;\n}\n";
const OTHER: &str = "export function run() {}\n";
const MAIN: &str = "import { run } from './cart';\n\nrun(1);\n// run is told here\n";

/// A shop whose main.ts refers to the `run` of cart.ts, next to another one; and another repository with that name.
fn shop() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("shop/src/cart.ts", CART);
    fixture.write("shop/src/other.ts", OTHER);
    fixture.write("shop/src/main.ts", MAIN);
    fixture.write("else/run.ts", "function run() {}\nrun();\n");
    fixture.ingest();
    fixture
}

fn shop_documents() -> [Vec<u8>; 3] {
    [
        document("src/cart.ts", CART, Unit::Utf16, &[("run", 0, RUN, DEFINES)]),
        document("src/other.ts", OTHER, Unit::Utf16, &[("run", 0, OTHER_RUN, DEFINES)]),
        document("src/main.ts", MAIN, Unit::Utf16, &[("run", 0, RUN, 2), ("run", 1, RUN, 0)]),
    ]
}

/// Imports an index of a repository.
fn import(fixture: &Fixture, repo: &str, bytes: &[u8]) -> Ran {
    fixture.write("index.scip", bytes);
    fixture.run(&["scip", repo, "index.scip"])
}

fn import_shop(fixture: &Fixture) -> Ran {
    import(fixture, "shop", &index("scip-test", &shop_documents())).code(0)
}

/// Returns the definitions, as `basis repo/path:line`.
fn defined(answer: &Value) -> Vec<String> {
    let all = answer["definitions"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let one = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap().to_owned();
        format!("{} {}/{}:{}", text("basis"), text("repo"), text("path"), one["line"])
    };
    all.iter().map(one).collect()
}

/// Returns the references, as `basis repo/path:line label`.
fn referred(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let mut all = Vec::new();
    for file in files {
        let text = |key: &str| file[key].as_str().unwrap().to_owned();
        for line in file["lines"].as_array().unwrap() {
            let (number, label) = (&line["line"], line["labels"][0].as_str().unwrap());
            let place = format!("{}/{}:{number}", text("repo"), text("path"));
            all.push(format!("{} {place} {label}", text("basis")));
        }
    }
    all
}

#[test]
fn what_an_index_tells_comes_first_and_what_has_the_name_beside_it() {
    let fixture = shop();
    let server = fixture.serve();
    let ask = |address: &str| server.json(address).1;
    let from = "shop/src/main.ts:3:1";
    let before = ask(&format!("/definitions?name=run&from={from}"));
    let all = ["search shop/src/cart.ts:1", "search shop/src/other.ts:1", "search else/run.ts:1"];
    assert_eq!(defined(&before), all);
    assert_eq!(before["symbols"], json!([]));
    let out = import_shop(&fixture).out;
    assert!(
        out.starts_with("imported the SCIP index of scip-test 1.0: 4 places in 3 files, "),
        "{out}"
    );
    // The server uses it at once.
    let precise =
        ["precise shop/src/cart.ts:1", "search shop/src/other.ts:1", "search else/run.ts:1"];
    let answer = ask(&format!("/definitions?name=run&from={from}"));
    assert_eq!(defined(&answer), precise);
    assert_eq!((&answer["symbols"], &answer["found"]), (&json!([RUN]), &json!(3)));
    // By its line, and by its exact place.
    assert_eq!(defined(&ask("/definitions?name=run&from=shop/src/main.ts:3")), precise);
    let answer = ask(&format!("/definitions?from={from}"));
    assert_eq!(
        (defined(&answer), &answer["name"]),
        (precise.map(str::to_owned).to_vec(), &json!("run"))
    );
    // By the file, in which the name has one meaning.
    assert_eq!(defined(&ask("/definitions?name=run&from=shop/src/main.ts")), precise);
    // Without a place, or from a file without SCIP data, nothing is precise.
    let plain = ask("/definitions?name=run");
    assert!(defined(&plain).iter().all(|one| one.starts_with("search ")), "{plain}");
    let plain = ask("/definitions?name=run&from=else/run.ts:2:1");
    assert!(defined(&plain).iter().all(|one| one.starts_with("search ")), "{plain}");
    // A comment is not a place in a SCIP index.
    let plain = ask("/definitions?name=run&from=shop/src/main.ts:4:4");
    assert!(defined(&plain).iter().all(|one| one.starts_with("search ")), "{plain}");

    let answer = ask("/references?name=run&from=shop/src/cart.ts:1:17");
    assert_eq!(
        referred(&answer),
        [
            "precise shop/src/main.ts:1 import",
            "precise shop/src/main.ts:3 call",
            "search else/run.ts:2 call",
            "search shop/src/main.ts:4 comment",
        ]
    );
    let answer = ask("/references?name=run&from=shop/src/other.ts:1:17");
    assert!(referred(&answer).iter().all(|one| one.starts_with("search ")), "{answer}");
    assert_eq!(answer["symbols"], json!([OTHER_RUN]));
    // Only some repositories or languages.
    let answer = ask("/references?name=run&from=shop/src/cart.ts:1:17&repo=else");
    assert_eq!(referred(&answer), ["search else/run.ts:2 call"]);
    let answer = ask("/references?name=run&from=shop/src/cart.ts:1:17&lang=go");
    assert_eq!(referred(&answer), [""; 0]);

    for page in ["/definitions?from=shop/src/main.ts:3:1", "/references?from=shop/src/cart.ts:1:17"]
    {
        let (status, _, text) = server.get(page, "text/html");
        assert_eq!(status, 200);
        assert!(
            text.contains("<small>precise</small>") && text.contains("<small>search</small>"),
            "{text}"
        );
    }
    for (bad, status) in [
        ("/definitions?from=shop/src/main.ts:3", 400),
        ("/definitions?from=shop/src/main.ts:2:1", 400),
        ("/definitions?from=shop/src/main.ts:99:1", 400),
        ("/definitions?from=shop/src/none.ts:1:1", 404),
    ] {
        assert_eq!(server.json(bad).0, status, "{bad}");
    }
    fixture.check_invariants();
}

#[test]
fn the_command_line_and_agents_say_what_is_precise() {
    let fixture = shop();
    import_shop(&fixture);
    let printed = fixture.run(&["def", "--from", "shop/src/main.ts:3:1"]).code(0).out;
    assert_eq!(
        printed,
        "shop/src/cart.ts:1:precise, function: export function run(n: number) {\n\
         shop/src/other.ts:1:search, function: export function run() {}\n\
         else/run.ts:1:search, function: function run() {}\n"
    );
    let on_disk = fixture.path().join("shop/src/cart.ts");
    let from = format!("{}:1:17", on_disk.display());
    let printed = fixture.run(&["refs", "run", "--from", &from]).code(0).out;
    assert!(printed.contains("\nshop/src/main.ts:3:precise, call: run(1);\n"), "{printed}");
    assert!(printed.contains("else/run.ts:2:search, call: run();\n"), "{printed}");
    // Without SCIP data on the place, nothing precise is reported.
    let printed = fixture.run(&["def", "run", "--from", "else/run.ts:2:1"]).code(0).out;
    assert!(!printed.contains("precise") && !printed.contains("search"), "{printed}");
    let printed = fixture.run(&["def", "--json", "--from", "shop/src/main.ts:3:1"]).code(0).out;
    let first: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    assert_eq!((&first["basis"], &first["path"]), (&json!("precise"), &json!("src/cart.ts")));
    let ran = fixture.run(&["def", "--from", "shop/src/main.ts:3"]).code(2);
    assert!(ran.err.contains("a place with line and column"), "{}", ran.err);
    fixture.run(&["def"]).code(2);

    let server = fixture.serve();
    let told = |tool: &str, arguments: Value| told(&server, tool, &arguments);
    let text = told("definitions", json!({ "from": "shop/src/main.ts:3:1" }));
    assert!(text.contains("[precise, function]") && text.contains("[search, function]"), "{text}");
    let text = told("references", json!({ "name": "run", "from": "shop: src/cart.ts:1:17" }));
    assert!(text.contains("[precise, call]") && text.contains("[search, call]"), "{text}");
    let text = told("list_repos", json!({}));
    assert!(
        text.contains("; precise by scip-test 1.0: 3 files, all unchanged, imported "),
        "{text}"
    );
}

#[test]
fn columns_are_counted_in_the_unit_of_the_index() {
    // Characters of two, three and four bytes precede the names; the last one has two UTF-16 units.
    let text = "x = \"é€𝄞\"; name(); \"𝄞𝄞\"; name(x)\n";
    for unit in [Unit::Unsaid, Unit::Utf8, Unit::Utf16, Unit::Utf32] {
        let fixture = Fixture::new();
        fixture.write("r/a.js", text);
        fixture.ingest();
        let symbol = "s npm p 1 name().";
        let told =
            document("a.js", text, unit, &[("name", 0, symbol, DEFINES), ("name", 1, symbol, 0)]);
        import(&fixture, "r", &index("s", &[told])).code(0);
        let second = text.match_indices("name").nth(1).unwrap().0 + 1;
        let from = format!("r/a.js:1:{second}");
        let printed = fixture.run(&["def", "--json", "--from", &from]).code(0).out;
        let one: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&one["basis"], &one["start"]),
            (&json!("precise"), &json!(text.find("name"))),
            "{unit:?}"
        );
        fixture.check_invariants();
    }
}

#[test]
fn an_index_holds_while_its_files_are_as_they_were() {
    let fixture = shop();
    import_shop(&fixture);
    let fits = || {
        fixture.sql::<String>(
            "select format('%s of %s', fitting, documents) from codesearch_sql.scip_indexes",
        )
    };
    let precise = || {
        let ran = fixture.run(&["def", "run", "--from", "shop/src/main.ts:3:1"]).code(0);
        ran.out.contains("precise")
    };
    assert_eq!((fits(), precise()), ("3 of 3".to_owned(), true));
    // First another file changes; then the file of the request.
    fixture.write("shop/src/other.ts", "// moved\nexport function run() {}\n");
    fixture.ingest();
    assert_eq!((fits(), precise()), ("2 of 3".to_owned(), true));
    let listed = fixture.run(&["repos", "shop"]).code(0).out;
    assert!(
        listed.contains("\n  precise by scip-test 1.0: 2 of 3 files unchanged, imported "),
        "{listed}"
    );
    fixture.check_invariants();
    fixture.write("shop/src/main.ts", MAIN.replace("run(1)", "run(2)"));
    fixture.ingest();
    assert_eq!((fits(), precise()), ("1 of 3".to_owned(), false));
    // Another file keeps the text: the document is ignored, not lost.
    fixture.write("else/main.ts", MAIN);
    fixture.write("shop/src/main.ts", MAIN);
    fixture.ingest();
    fixture.write("shop/src/main.ts", "gone\n");
    fixture.ingest();
    import_shop(&fixture);
    assert_eq!(fits(), "1 of 1", "the others do not fit any more");
    fixture.write("shop/src/main.ts", MAIN);
    fixture.write("shop/src/other.ts", OTHER);
    fixture.ingest();
    import_shop(&fixture);
    fixture.write("shop/src/main.ts", "gone\n");
    fixture.ingest();
    assert_eq!(fits(), "2 of 3");
    fixture.write("shop/src/main.ts", MAIN);
    fixture.ingest();
    assert_eq!((fits(), precise()), ("3 of 3".to_owned(), true));
    fixture.check_invariants();
    // Deleting a file deletes its data.
    fs::remove_dir_all(fixture.path().join("shop/src")).unwrap();
    fixture.write("shop/empty.txt", "nothing\n");
    fixture.ingest();
    assert_eq!((fits(), fixture.sql::<i64>("select count(*) from scip")), ("0 of 3".to_owned(), 1));
    fixture.check_invariants();
    fixture.run(&["remove", "shop", "else"]).code(0);
    let left = "select (select count(*) from scip) + (select count(*) from scip_imports)";
    assert_eq!(fixture.sql::<i64>(left), 0);
    fixture.check_invariants();
}

#[test]
fn an_index_replaces_that_of_the_same_folder_and_tool() {
    let fixture = shop();
    fixture.write("shop/web/a.ts", "export const page = 1;\n");
    fixture.ingest();
    import_shop(&fixture);
    let listed = || {
        fixture.sql::<String>(
            "select string_agg(format('%s/%s %s %s', repository, folder, tool, documents), ', ' order by folder, tool)
             from codesearch_sql.scip_indexes",
        )
    };
    let out = import(&fixture, "shop", &index("scip-test", &shop_documents()[..1])).code(0).out;
    assert!(
        out.starts_with("replaced by the SCIP index of scip-test 1.0: 1 place in 1 file, "),
        "{out}"
    );
    let page = "scip-test npm web 1.0 `a.ts`/page.";
    let told =
        document("a.ts", "export const page = 1;\n", Unit::Utf8, &[("page", 0, page, DEFINES)]);
    // An index of a folder: named by itself, and by the command.
    let root =
        format!("file://{}/web", fixture.path().join("shop").canonicalize().unwrap().display());
    let of_web = [metadata("scip-test", &root), told.clone()].concat();
    let out = import(&fixture, "shop", &of_web).code(0).out;
    assert!(
        out.starts_with("imported the SCIP index of scip-test 1.0 for web: 1 place in 1 file"),
        "{out}"
    );
    fixture.write("web.scip", index("other", &[told]));
    fixture.run(&["scip", "shop", "web.scip", "--root", "web/"]).code(0);
    assert_eq!(listed(), "shop/ scip-test 1, shop/web other 1, shop/web scip-test 1");
    let printed = fixture.run(&["def", "--from", "shop/web/a.ts:1:14"]).code(0).out;
    assert_eq!(printed, "shop/web/a.ts:1:precise, constant: export const page = 1;\n");
    let answer = fixture.serve().json("/repos?q=shop").1;
    assert_eq!(answer["repos"][0]["scip"].as_array().unwrap().len(), 3);
    assert_eq!(answer["repos"][0]["scip"][1]["root"], "web");
    fixture.check_invariants();
    let out = fixture.run(&["scip", "shop", "--remove"]).code(0).out;
    assert_eq!(out, "removed 3 SCIP indexes of shop\n");
    let out = fixture.run(&["scip", "shop", "--remove"]).code(1).out;
    assert_eq!(out, "removed 0 SCIP indexes of shop\n");
    fixture.check_invariants();
}

#[test]
fn a_symbol_is_known_in_other_repositories_by_its_package() {
    let fixture = Fixture::new();
    let (library, user) = ("pub fn sail() {}\n", "fn main() { sail(); }\n");
    fixture.write("library/lib.rs", library);
    fixture.write("user/main.rs", user);
    fixture.ingest();
    let imported = |symbol: &str| {
        let told = document("lib.rs", library, Unit::Utf8, &[("sail", 0, symbol, DEFINES)]);
        import(&fixture, "library", &index("s", &[told])).code(0);
        let told = document("main.rs", user, Unit::Utf8, &[("sail", 0, symbol, 0)]);
        import(&fixture, "user", &index("s", &[told])).code(0);
        fixture.run(&["def", "--from", "user/main.rs:1:13"]).code(0).out
    };
    assert!(imported("s cargo library 1.0 sail().").starts_with("library/lib.rs:1:precise, "));
    // Without a package it may be another symbol.
    assert!(imported("s . . . sail().").starts_with("library/lib.rs:1:search, "));
}

#[test]
fn references_to_what_is_implemented_are_references() {
    let fixture = Fixture::new();
    let text = "interface Animal { sound(): void }\nclass Dog { sound() {} }\nanimal.sound();\ndog.sound();\n";
    fixture.write("r/a.ts", text);
    fixture.ingest();
    let (animal, dog) = ("s npm p 1 Animal#sound().", "s npm p 1 Dog#sound().");
    let occurrences = [(0, 19, animal, 1), (1, 12, dog, 1), (2, 7, animal, 0), (3, 4, dog, 0)];
    let mut parts: Vec<Vec<u8>> = occurrences
        .iter()
        .map(|(line, from, symbol, roles)| {
            field(2, &place(&[*line, *from, from + 5], symbol, *roles))
        })
        .collect();
    parts.push(refers(dog, animal));
    import(&fixture, "r", &index("s", &[document_of("a.ts", &parts)])).code(0);
    let server = fixture.serve();
    for from in ["r/a.ts:1:20", "r/a.ts:2:13"] {
        let answer = server.json(&format!("/references?from={from}")).1;
        assert_eq!(
            referred(&answer)[..2],
            ["precise r/a.ts:3 call", "precise r/a.ts:4 call"],
            "{answer}"
        );
    }
    let answer = server.json("/definitions?from=r/a.ts:3:8").1;
    assert_eq!(defined(&answer), ["precise r/a.ts:1", "search r/a.ts:2"]);
}

#[test]
fn a_file_without_symbols_has_the_outline_of_its_index() {
    let fixture = Fixture::new();
    let text = "class Ship {\n  void sail(int knots) {}\n}\n";
    fixture.write("r/ship.dart", text);
    fixture.ingest();
    let server = fixture.serve();
    let outline = || server.json("/outline?repo=r&path=ship.dart").1;
    assert_eq!((&outline()["state"], &outline()["basis"]), (&json!("without"), &json!("search")));
    let (ship, sail) = ("s pub p 1 Ship#", "s pub p 1 Ship#sail().");
    let knots = "s pub p 1 Ship#sail().(knots)";
    let told = [("Ship", 0, ship, 1), ("sail", 0, sail, 1), ("knots", 0, knots, 1)];
    import(&fixture, "r", &index("scip-dart", &[document("ship.dart", text, Unit::Utf16, &told)]))
        .code(0);
    let answer = outline();
    assert_eq!((&answer["state"], &answer["basis"]), (&json!("taken"), &json!("precise")));
    let symbols: Vec<String> = answer["symbols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {} {} {}", one["name"], one["kind"], one["depth"], one["line"]))
        .collect();
    assert_eq!(symbols, [r#""Ship" "type" 0 1"#, r#""sail" "method" 1 2"#]);
    let printed = fixture.run(&["outline", "r/ship.dart"]).code(0).out;
    assert_eq!(printed, "     1  type Ship\n     2    method sail\n");
}

#[test]
fn damage_is_found_and_repaired() {
    let fixture = shop();
    import_shop(&fixture);
    fixture.exec_each("scip", "update {} set occurrences = '\\x0100' where path = 'src/main.ts'");
    let ran = fixture.run(&["check"]).code(1);
    assert!(ran.out.contains("the SCIP data of src/main.ts belong to another text"), "{}", ran.out);
    // Meanwhile there is no SCIP data on it.
    let printed = fixture.run(&["def", "run", "--from", "shop/src/main.ts:3:1"]).code(0).out;
    assert!(!printed.contains("precise"), "{printed}");
    fixture.run(&["check", "--repair"]).code(0);
    fixture.run(&["symbols"]).code(0);
    assert_eq!(fixture.sql::<i64>("select count(*) from scip"), 2);
    fixture.check_invariants();
    fixture.exec("delete from scip_imports");
    let ran = fixture.run(&["check"]).code(1);
    assert!(ran.out.contains("documents of SCIP indexes that no longer exist: 2"), "{}", ran.out);
}
