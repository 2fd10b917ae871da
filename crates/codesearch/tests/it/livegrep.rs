//! livegrep's JSON API, as its clients use it.

use serde_json::json;

use crate::harness::{Fixture, Server};

fn served() -> (Fixture, Server) {
    let fixture = Fixture::new();
    fixture.write("one/size.go", "package a\n\n// Größe\nfunc Größe() int {\n\treturn 1\n}\n");
    fixture.write("one/func/b.py", "def f():\n    return 'a.b'\n");
    fixture.write("two/c.md", "func\n".repeat(60));
    fixture.ingest();
    let server = fixture.serve();
    (fixture, server)
}

#[test]
fn an_answer_has_the_shape_that_its_clients_know() {
    let (_fixture, server) = served();
    let (status, mut answer) = server.json("/api/v1/search/?q=%C3%B6%C3%9Fe%5C(+file:go%24");
    assert_eq!(status, 200);
    for name in ["re2_time", "index_time", "total_time"] {
        assert!(answer["info"][name].is_u64(), "{answer}");
        answer["info"][name] = json!(0);
    }
    let expected = json!({
        "info": {
            "re2_time": 0, "git_time": 0, "sort_time": 0, "index_time": 0, "analyze_time": 0,
            "total_time": 0, "why": "NONE",
        },
        "results": [{
            "tree": "one",
            "version": "",
            "path": "size.go",
            "lno": 4,
            "context_before": ["// Größe", "", "package a"],
            "context_after": ["\treturn 1", "}"],
            "bounds": [7, 11],
            "line": "func Größe() int {",
        }],
        "file_results": [],
        "search_type": "normal",
    });
    assert_eq!(answer, expected);
    // The name of the backend does not matter, and may be missing.
    for address in ["/api/v1/search/linux", "/api/v1/search"] {
        let (_, other) = server.json(&format!("{address}?q=%C3%B6%C3%9Fe%5C("));
        assert_eq!(other["results"], expected["results"]);
    }
}

#[test]
fn parameters_and_fields_narrow_the_search() {
    let (_fixture, server) = served();
    let count = |query: &str| {
        let (status, answer) = server.json(&format!("/api/v1/search/?{query}"));
        assert_eq!(status, 200, "{answer}");
        let of = |name: &str| answer[name].as_array().unwrap().len();
        (of("results"), of("file_results"), answer["info"]["why"].as_str().unwrap().to_owned())
    };
    let none = || "NONE".to_owned();
    assert_eq!(count("q=func"), (50, 1, "MATCH_LIMIT".to_owned()));
    assert_eq!(count("q=func+max_matches:100"), (61, 1, none()));
    assert_eq!(count("q=func+max_matches:-1"), (61, 1, none()));
    assert_eq!(count("q=func&repo=one"), (1, 1, none()));
    assert_eq!(count("q=func+-repo:two"), (1, 1, none()));
    assert_eq!(count("q=func&file=go&file=size"), (1, 0, none()));
    assert_eq!(count("q=func&repo%5B%5D=one&repo%5B%5D=none"), (1, 1, none()));
    assert_eq!(count("q=Func"), (0, 0, none()));
    assert_eq!(count("q=Func&fold_case=true&repo=one"), (1, 1, none()));
    assert_eq!(count("q=FUNC&fold_case=auto"), (0, 0, none()));
    assert_eq!(count("q=a.b&repo=one"), (1, 0, none()));
    assert_eq!(count("q=.%27a.b&regex=false&repo=one"), (0, 0, none()));
    assert_eq!(count("line=a.b&regex=false"), (1, 0, none()));
    let (_, paths) = server.json("/api/v1/search/?q=file:func/.*py");
    assert_eq!(paths["search_type"], "filename_only");
    assert_eq!(
        (&paths["results"], &paths["file_results"]),
        (
            &json!([]),
            &json!([{ "tree": "one", "version": "", "path": "func/b.py", "bounds": [0, 9] }])
        )
    );
}

#[test]
fn a_form_is_as_good_as_an_address() {
    let (_fixture, server) = served();
    let agent = ureq::Agent::new_with_defaults();
    let url = format!("http://{}/api/v1/search/", server.address);
    let form = agent.post(url).header("content-type", "application/x-www-form-urlencoded");
    let text = form.send("q=func&repo=one").unwrap().body_mut().read_to_string().unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["results"][0]["lno"], 4);
}

#[test]
fn errors_have_a_code_and_a_message() {
    let (_fixture, server) = served();
    for (query, code) in [
        ("", "bad_query"),
        ("q=", "bad_query"),
        ("q=a+file:b+c", "bad_query"),
        ("q=a+tags:b%5B", "query"),
        ("q=a%5B", "query"),
        ("q=a&repo=b%5B", "query"),
        ("q=%5Cw%7B1000%7D%7B100%7D", "bad_query"),
    ] {
        let (status, answer) = server.json(&format!("/api/v1/search/?{query}"));
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(code)), "{query}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{answer}");
    }
}
