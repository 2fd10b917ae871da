//! Many users, large groups, and users whose rights end.

use serde_json::{Value, json};

use super::indexed;
use crate::access::new_token;
use crate::harness::{Server, eventually};

/// Members of a large group.
const MEMBERS: usize = 50_000;

/// How a proxy names users.
const PROXY: [&str; 6] = [
    "--trust-user-header",
    "X-User",
    "--trust-groups-header",
    "X-Groups",
    "--proxy-network",
    "127.0.0.0/8",
];

/// Returns the number of files that a client finds, with these headers.
fn found(server: &Server, headers: &[(&str, &str)]) -> u64 {
    let (status, _, body) = server.ask("/search?q=needle&limit=0", headers);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).unwrap()["stats"]["files"].as_u64().unwrap()
}

#[test]
fn a_file_with_the_members_of_a_large_group_is_read_and_compared() {
    let fixture = indexed(&["shop/web", "lab/x"]);
    let members = |count: usize, more: &str| -> String {
        let line = |n| format!("\"user:m{n}\" = [\"shop/**\", \"shops/*\"]\n");
        let lines: Vec<String> = (0..count).map(line).collect();
        format!("[access]\n{}{more}", lines.concat())
    };
    fixture.write("c.toml", members(MEMBERS, ""));
    let ran = fixture.run(&["config", "check", "c.toml"]).code(0);
    let of_last = format!("user:m{}: shop/**, shops/*\n", MEMBERS - 1);
    assert!(ran.out.contains(&of_last), "{:.200}", ran.out);
    // One sentence for all, as for one.
    let said = "shops/*, granted to user:m0 and 49,999 others, matches no repository";
    assert!(ran.err.contains(said), "{:.500}", ran.err);
    assert!(ran.err.lines().count() < 5, "{:.500}", ran.err);
    // A server reads it as often as it changes; fewer will do.
    fixture.write("c.toml", members(2_000, ""));
    let server = fixture.serve_with(&[&["--settings", "c.toml"], &PROXY[..]].concat());
    let sees = |name: &str| found(&server, &[("x-user", name)]);
    assert_eq!((sees("m0"), sees("m1999"), sees("m2000")), (1, 1, 0));
    // The file is read again while they ask.
    fixture.write("c.toml", members(2_000, "\"user:m2000\" = [\"**\"]\n"));
    assert_eq!((sees("m2000"), sees("m1")), (2, 1));
}

#[test]
fn the_group_of_many_is_a_grant_of_one_line() {
    let fixture = indexed(&["shop/web", "lab/x"]);
    fixture.run(&["grant", "group:all", "shop/**"]).code(0);
    let server = fixture.serve_with(&PROXY);
    let sees = |user: &str, groups: &str| found(&server, &[("x-user", user), ("x-groups", groups)]);
    for n in 0..50 {
        assert_eq!(sees(&format!("m{n}"), "all"), 1);
    }
    // Somebody who leaves the group, or gets into another one, sees so with the next request.
    assert_eq!((sees("m7", "others"), sees("m7", "")), (0, 0));
    assert_eq!((sees("m7", "others,all"), sees("m7", "All")), (1, 0));
    // Somebody in as many groups as are taken.
    let groups: Vec<String> = (0..9_999).map(|n| format!("g{n}")).collect();
    assert_eq!(sees("m8", &groups.join(",")), 0);
    assert_eq!(sees("m8", &format!("{},all", groups.join(","))), 1);
}

#[test]
fn a_token_that_ends_or_loses_its_group_shows_nothing_more() {
    let fixture = indexed(&["shop/web", "lab/x"]);
    fixture.run(&["grant", "group:shop", "shop/**"]).code(0);
    let (ann, line) = new_token(&fixture, &["ann", "--groups", "shop"]);
    fixture.write("tokens", format!("{line}\n"));
    let servers = [(); 2].map(|()| fixture.serve_with(&["--tokens", "tokens"]));
    let bearer = format!("Bearer {ann}");
    let head = [("authorization", &*bearer)];
    for server in &servers {
        assert_eq!(found(server, &head), 1);
    }
    // Without the group.
    fixture.write("tokens", format!("{}\n", line.replace(" groups=shop", "")));
    for server in &servers {
        eventually("the group is left", || found(server, &head) == 0);
    }
    // In it again, but until a day that is over.
    fixture.write("tokens", format!("{line} expires=2020-01-31\n"));
    for server in &servers {
        eventually("the token has ended", || server.ask("/search?q=needle", &head).0 == 401);
        let (_, _, told) = server.ask("/search?q=needle", &head);
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["error"]["code"], json!("expired_token"));
        assert!(!told.to_string().contains("shop"), "{told}");
    }
}
