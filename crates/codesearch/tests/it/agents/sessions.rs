//! What agents share between calls: states of the index, folders, resources; and the messages of MCP's own clients.

use serde_json::{Value, json};

use super::{Agent, fixture};
use crate::harness::Fixture;
use crate::symbol_search::told;

#[test]
fn parallel_calls_read_one_state_of_the_index() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    let before = agent.told("search", &json!({ "query": "func repo:one" }));
    let epoch = agent.epoch.clone();
    assert!(before.starts_with("3 matching lines in 2 files. That is all."), "{before}");
    fixture.write("one/a.go", "package a\n\nfunc Renamed() {}\n");
    fixture.write("one/new.go", "package a\n\nfunc New() {}\n");
    fixture.ingest();
    let now = agent.told("search", &json!({ "query": "func repo:one" }));
    assert!(now.starts_with("3 matching lines in 3 files. That is all."), "{now}");
    assert!(agent.epoch.as_u64() > epoch.as_u64(), "{} {epoch}", agent.epoch);
    // Every tool reads the state that a call names.
    let at = |arguments: Value| {
        let mut arguments = arguments;
        arguments["epoch"] = epoch.clone();
        arguments
    };
    // It also says that the file has changed since.
    let told = agent.told("search", &at(json!({ "query": "func repo:one" })));
    let lines: Vec<&str> = told.lines().filter(|line| !line.starts_with("Note: ")).collect();
    assert!(lines.len() < told.lines().count(), "{told}");
    assert_eq!(lines, before.lines().collect::<Vec<_>>());
    assert_eq!(agent.epoch, epoch);
    let read = agent.told("read_file", &at(json!({ "repo": "one", "path": "a.go" })));
    assert!(read.contains("\n7:func B() {\n"), "{read}");
    let outline = json!({ "repo": "one", "path": "a.go", "outline": true });
    assert!(agent.told("read_file", &at(outline.clone())).contains("3-5: function A\n"));
    assert!(agent.told("read_file", &outline).contains("3-3: function Renamed\n"));
    let found = agent.told("find_file", &at(json!({ "typed": "new.go" })));
    assert!(!found.contains("one: new.go"), "{found}");
    let defined = agent.told("symbol", &at(json!({ "name": "A", "find": "definitions" })));
    assert!(defined.contains("one: a.go\n3:func A() {"), "{defined}");
    let none = agent.told("symbol", &json!({ "name": "A", "find": "definitions" }));
    assert!(none.starts_with("No definition of that name"), "{none}");
    // A state that is not kept is an error that says so.
    let newest = agent.epoch.as_u64().unwrap();
    let gone = agent.refused("search", &json!({ "query": "func", "epoch": 1_000_000 }));
    let said =
        format!("epoch 1000000 is gone, and {newest} is the newest; call again without epoch");
    assert_eq!(gone, said);
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let fixture = Fixture::new();
    fixture.write("harbor/net/address.go", "package net\n\nfunc ParseAddress(a string) {}\n");
    fixture.write("harbor/main.go", "package main\n\nfunc main() { net.ParseAddress(x) }\n");
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    for (tool, arguments, said) in [
        ("read_file", json!({ "repo": "habor", "path": "a" }), "did you mean harbor?"),
        ("diff", json!({ "repo": "habor", "range": "HEAD" }), "did you mean harbor?"),
        (
            "read_file",
            json!({ "repo": "harbor", "path": "net/adress.go" }),
            "did you mean net/address.go?",
        ),
        (
            "read_file",
            json!({ "repo": "harbor", "path": "adress.go", "outline": true }),
            "did you mean net/address.go?",
        ),
        (
            "read_file",
            json!({ "repo": "harbor", "path": "net/address.go", "symbol": "ParseAdress" }),
            "did you mean ParseAddress?",
        ),
        (
            "symbol",
            json!({ "name": "x", "from": "harbor/net/adress.go:1" }),
            "did you mean harbor/net/address.go?",
        ),
        ("symbol", json!({ "nmae": "x" }), "symbol has no argument nmae; did you mean name?"),
    ] {
        let refused = agent.refused(tool, &arguments);
        assert!(refused.contains(said), "{tool} {arguments}: {refused}");
        assert!((40..=100).contains(&refused.len()), "{refused}");
    }
    for (tool, arguments, said) in [
        ("symbol", json!({ "name": "ParseAdress" }), "did you mean ParseAddress?"),
        (
            "symbol",
            json!({ "name": "ParseAddress", "repo": "habor" }),
            "no repository matches habor; did you mean harbor?",
        ),
        ("search", json!({ "query": "ParseAdress" }), "a similar name, ParseAddress"),
        ("search", json!({ "query": "func repo:habor" }), "in harbor"),
    ] {
        let answer = agent.told(tool, &arguments);
        assert!(answer.contains(said), "{tool} {arguments}: {answer}");
    }
    // Names of arguments that other tools use.
    let found = agent.told("symbol", &json!({ "symbol": "ParseAddress", "max_results": 1 }));
    assert!(found.contains("3:func ParseAddress(a string) {}  [function]"), "{found}");
    assert!(found.contains("main.go: 3\n"), "{found}");
}

#[test]
fn a_message_with_numbers_is_found_in_code_without_them() {
    let fixture = Fixture::new();
    fixture.write(
        "one/check.rs",
        "fn check() {\n    panic!(\"expected {} arguments, got {}\", a, b);\n}\n",
    );
    fixture.write("one/config.c", "die(\"bad config line %d in file %s\", line, name);\n");
    fixture.write("one/other.c", "expected arguments, bad config\n");
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    for (message, line) in [
        ("\"expected 3 arguments, got 12\"", "\n2:panic!(\"expected {} arguments"),
        ("bad config line 7 in file /etc/x.conf", "\n1:die(\"bad config line %d"),
        ("\"fatal: bad config line 7 in file 'a b'\"", "\n1:die(\"bad config line %d"),
    ] {
        let found = agent.told("search", &json!({ "query": message }));
        let said = "Nothing matches as it is; without numbers and names, \"";
        assert!(found.starts_with(said) && found.contains(line), "{message}: {found}");
        assert!(found.contains("1 matching line in 1 file. That is all."), "{message}: {found}");
    }
    // What is no query of the language gets one that finds the message.
    let refused =
        agent.refused("search", &json!({ "query": "expected 3 arguments, got 12 (of x" }));
    assert!(refused.contains("\nTry this query (1 file): \""), "{refused}");
}

#[test]
fn roots_tell_where_an_agent_works() {
    let fixture = Fixture::new();
    let root = std::fs::canonicalize(fixture.path()).unwrap();
    fixture.write("r/app/a.txt", "in main\n");
    fixture.commit("r/app", "one");
    fixture.git("r/app", &["worktree", "add", "--quiet", "../fix", "-b", "fix"]);
    fixture.write("r/fix/a.txt", "in fix\n");
    fixture.run(&["ingest", "--shards", "4", "r"]).code(0);
    let mut command = fixture.command(&["mcp"]);
    command.current_dir(root.join("r/app"));
    let mut agent = Agent::with_capabilities(command, &json!({ "roots": { "listChanged": true } }));
    // The client is asked as soon as it is ready; a call that it sends meanwhile waits for its roots.
    let params = json!({ "name": "read_file", "arguments": { "repo": "app", "path": "a.txt" } });
    agent.send(
        &json!({ "jsonrpc": "2.0", "id": "early", "method": "tools/call", "params": params }),
    );
    let asked = agent.message();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots = json!([{ "uri": "file:///nowhere" }, { "uri": format!("file://{}/r/fix", root.display()) }]);
    agent.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } }));
    let answer = agent.message();
    assert_eq!(answer["id"], "early", "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("1:in fix\n") && text.contains("(Read in worktree fix of app.)"),
        "{text}"
    );
    // It moves to the main checkout.
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    let asked = agent.message();
    let roots = json!([{ "uri": format!("file://{}/r/app", root.display()) }]);
    agent.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } }));
    let answer = agent.ask("tools/call", &params);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("1:in main\n"), "{text}");
    agent.end().code(0);
}

#[test]
fn files_and_manuals_are_resources() {
    let fixture = fixture();
    fixture.write("one/with space.txt", "1\n2\n3\n");
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let listed = agent.ask("resources/list", &json!({}));
    let names: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    let manuals = ["codesearch://manual/syntax", "codesearch://manual/sql", "codesearch://schemas"];
    assert_eq!(names, manuals);
    let templates = agent.ask("resources/templates/list", &json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "codesearch://file/{+file}{?revision,lines}");
    let read = |agent: &mut Agent, uri: &str| {
        let answer = agent.ask("resources/read", &json!({ "uri": uri }));
        match answer["result"]["contents"][0]["text"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(answer["error"]["message"].as_str().unwrap().to_owned()),
        }
    };
    assert!(read(&mut agent, manuals[0]).unwrap().contains("lang:"));
    let file = "codesearch://file/one/lib/b.py";
    assert_eq!(read(&mut agent, file).unwrap(), "def a():\n    return func\n");
    assert_eq!(read(&mut agent, &format!("{file}?lines=2")).unwrap(), "    return func\n");
    let spaces = "codesearch://file/one/with%20space.txt?lines=2-3";
    assert_eq!(read(&mut agent, spaces).unwrap(), "2\n3\n");
    for (uri, said) in [
        ("codesearch://file/one/lib/c.py", "one has no file 'lib/c.py'; did you mean lib/b.py?"),
        ("codesearch://file/oen/a.go", "unknown repository 'oen'; did you mean one?"),
        ("codesearch://manual/sytax", "did you mean codesearch://manual/syntax?"),
        ("codesearch://file/one/lib/b.py?lines=9", "the file has 2 lines; read others"),
        ("codesearch://file/one/lib/b.py?x=9", "unknown parameter x=9; use revision or lines"),
        ("file:///etc/passwd", "unknown resource file:///etc/passwd"),
    ] {
        let refused = read(&mut agent, uri).unwrap_err();
        assert!(refused.contains(said), "{uri}: {refused}");
    }
}

#[test]
fn agents_ask_in_sql_within_bounds() {
    let fixture = fixture();
    fixture.run(&["symbols"]).code(0);
    let mut agent = Agent::of(&fixture);
    let sql = |query: &str| json!({ "query": query });
    let counts = "select repository, count(*) as files from files group by 1 order by 1";
    assert_eq!(
        agent.told("sql", &sql(counts)),
        "2 rows. That is all.\n\nrepository | files\none | 2\ntwo | 1\n"
    );
    let found = agent.told("sql", &sql("select path, text from grep('func A') ;"));
    assert_eq!(found, "1 row. That is all.\n\npath | text\na.go | func A() {\n");
    // The examples of the description.
    let tools = agent.ask("tools/list", &json!({}))["result"]["tools"].take();
    let described = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "sql").unwrap();
    let (_, examples) =
        described["description"].as_str().unwrap().split_once("Examples:\n").unwrap();
    assert_eq!(examples.lines().count(), 5);
    for example in examples.lines() {
        let (failed, text) = agent.call("sql", &sql(example));
        assert!(!failed && text.contains("That is all."), "{example}: {text}");
    }
    // Rows, bytes and values are bounded, and the answer says so.
    let many = json!({ "query": "select n from generate_series(1, 1000000) n", "limit": 3 });
    assert_eq!(
        agent.told("sql", &many),
        "3 rows, and at least 1000 more rows: the limit was reached. Count them in the query, or raise limit.\n\nn\n1\n2\n3\n"
    );
    let wide = agent.told("sql", &sql("select repeat('x', 1000000) from generate_series(1, 50)"));
    assert!(wide.len() <= 8192 && wide.contains("[... 999700 letters ...]"), "{wide}");
    // A recursion that never ends gives its first rows.
    let endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select n from t";
    assert!(agent.told("sql", &sql(endless)).starts_with("100 rows, and at least 1000 more rows"));
    for statement in [
        "delete from files",
        "insert into files values (1)",
        "create table x (a int)",
        "create temp table x (a int)",
        "do $$ begin loop end loop; end $$",
        "set role postgres",
        "set session authorization postgres",
        "reset role",
        "copy files to '/tmp/x'",
        "copy (select 1) to program 'touch /tmp/x'",
        "select set_config('statement_timeout', '0', false)",
        "select set_config('role', 'postgres', false)",
        "select pg_sleep(100)",
        "select pg_read_file('/etc/passwd')",
        "select pg_advisory_lock(1)",
        "select lo_create(0)",
        "select pg_terminate_backend(pg_backend_pid())",
        "with x as (delete from files returning 1) select * from x",
        "select 1; select 2",
        "select 1) q(c1); drop table x; select 1 from (select 1",
        "begin",
        "commit",
        "listen x",
        "notify x",
        "explain analyze delete from files",
        "select * from codesearch.repos",
        "select * from pg_authid",
        "select rolpassword from pg_shadow",
        "select count(*) from generate_series(1, 1000000000000000)",
        "selec 1",
        "",
    ] {
        let refused = agent.refused("sql", &sql(statement));
        assert!(refused.lines().count() == 1 && refused.len() <= 300, "{statement}: {refused}");
    }
    let refused = agent.refused("sql", &sql("select * from repos"));
    assert!(refused.contains("did you mean repositories?"), "{refused}");
    let refused = agent.refused("sql", &sql("select repo from files"));
    assert!(refused.contains("repo"), "{refused}");
    // The index is as it was.
    assert!(agent.told("sql", &sql(counts)).contains("one | 2\ntwo | 1\n"));
}

#[test]
fn only_operators_read_the_searches_of_others_by_sql() {
    let fixture = fixture();
    let server = fixture.serve();
    let rows = told(&server, "sql", &json!({ "query": "select 1 as one" }));
    assert_eq!(rows, "1 row. That is all.\n\none\n1\n");
    server.stop();
    let token = |name: &str, rights: &str| {
        let made = fixture.run(&["token", name]).code(0);
        let token = made.err.trim().rsplit(' ').next().unwrap().to_owned();
        (format!("{} {rights}\n", made.out.trim()), token)
    };
    let ((ann, admin), (bob, other)) = (token("ann", "admin"), token("bob", ""));
    fixture.write("tokens", ann + &bob);
    let tokens = fixture.path().join("tokens");
    let server = fixture.serve_with(&["--tokens", tokens.to_str().unwrap()]);
    let call = |token: &str, method: &str, params: &Value| -> String {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = ureq::post(format!("http://{}/mcp", server.address))
            .header("Authorization", format!("Bearer {token}"));
        request.send(body.to_string()).unwrap().body_mut().read_to_string().unwrap()
    };
    let params = json!({ "name": "sql", "arguments": { "query": "select 2 as two" } });
    assert!(call(&admin, "tools/list", &json!({})).contains("\"name\":\"sql\""));
    assert!(call(&admin, "tools/call", &params).contains("two\\n2"));
    assert!(call(&other, "tools/call", &params).contains("two\\n2"));
    let slow =
        json!({ "name": "sql", "arguments": { "query": "select count(*) from slow_searches" } });
    assert!(call(&admin, "tools/call", &slow).contains("That is all."));
    let refused = call(&other, "tools/call", &slow);
    assert!(refused.contains("does not exist"), "{refused}");
}
