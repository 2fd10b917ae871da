//! The parts of the reference experiments (`benches/reference`) whose errors would go unnoticed.

#[path = "../../../../benches/reference/names/fill.rs"]
mod fill;
#[path = "../../../../benches/reference/report/picture.rs"]
mod picture;
#[path = "../../../../benches/reference/report/table.rs"]
mod table;
#[path = "../../../../benches/reference/names/typing.rs"]
mod typing;

use fill::paths;
use picture::bars;
use table::Table;
use typing::{KINDS, Kind, Typing, clean};

#[test]
fn there_are_as_many_as_are_asked_for() {
    let real: Vec<String> = (0..50).map(|n| format!("some/folder{n}/with_words.rs")).collect();
    let few = paths(&real, 20);
    assert_eq!(few.len(), 20);
    assert!(few.iter().all(|path| real.contains(path)));
    let many = paths(&real, 1000);
    assert_eq!(many.len(), 1000);
    assert!(real.iter().all(|path| many.contains(path)) && many.is_sorted());
    assert!(many.iter().any(|path| path.starts_with("words/")));
    assert_eq!(paths(&real, 1000), many);
}

#[test]
fn kinds_make_clean_texts() {
    let path = "crates/engine/src/httpServer_routes-2.test.rs";
    let made: Vec<String> = KINDS.iter().map(|(kind, _)| clean(*kind, path).unwrap()).collect();
    let name = "httpserver_routes-2.test.rs";
    assert_eq!(made[..4], [name; 4]);
    assert_eq!(
        made[4..],
        [
            "httpserver_routes-2.test",
            name,
            "src/httpserver_routes-2.test.rs",
            "src/httpserver_routes-2.test",
            "e/s/httpserver_routes-2.test",
            "hsrt",
        ]
    );
}

#[test]
fn typings_differ_from_names_by_one_error() {
    let paths = vec!["src/server.rs".to_owned(), "a/b/http_server_routes.rs".to_owned()];
    let some = Typing::some(&paths, 100);
    assert_eq!(some.len(), 100);
    for typing in &some {
        let (typed, clean) = (typing.text.len(), typing.clean.len());
        let expected = match KINDS[typing.kind].0 {
            Kind::Dropped => clean - 1,
            Kind::Doubled => clean + 1,
            _ => clean,
        };
        assert_eq!(typed, expected, "{typing:?}");
        let wrong = typing.kind < 4;
        assert_eq!(typing.text != typing.clean, wrong, "{typing:?}");
        assert!(paths.iter().any(|path| typing.is_right(path)));
        assert!(!typing.is_right("src/other.rs"));
    }
}

#[test]
fn a_bar_is_as_long_as_its_number() {
    let mut table = Table::new("times & sizes", &["way", "ms", "seen"]);
    table.row(["a <-> b", "50.0", "-"].map(str::to_owned));
    table.row(["b", "100.0", "-"].map(str::to_owned));
    let svg = bars(&table).unwrap();
    assert!(svg.contains("a &lt;-&gt; b") && svg.contains("times &amp; sizes"), "{svg}");
    let widths: Vec<&str> = svg
        .lines()
        .filter(|line| line.contains("#1f77b4"))
        .filter_map(|line| line.split("width=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(widths, ["45.0", "90.0"]);
    assert_eq!(bars(&Table::new("nothing", &["a"])), None);
}

#[test]
fn a_table_is_as_wide_as_its_cells() {
    let mut table = Table::new("sizes", &["what", "MB"]);
    table.row(["titles", "20"].map(str::to_owned));
    table.row(["é", "1672"].map(str::to_owned));
    table.note("of one run");
    assert_eq!(
        table.text(),
        "sizes\n  what      MB\n  titles    20\n  é       1672\n  of one run\n"
    );
}
