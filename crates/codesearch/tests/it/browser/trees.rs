//! Pages of a repository with several trees: a worktree, a branch, a tag and commits, and what changed between them.

use serde_json::json;

use super::audit::AUDIT;
use super::tab::{Tab, journeys_in};
use crate::harness::Fixture;

/// A clone with a worktree beside it, a branch and a tag.
pub(super) fn trees() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("r/app/src/harbor.go", "package app\n\nfunc Berth() {\n\tdock()\n}\n");
    fixture.write("r/app/src/dock.go", "package app\n\nfunc dock() {\n\tsail(1)\n}\n");
    fixture.write("r/app/README.md", "# Harbor\n\nWhere ships berth.\n");
    fixture.commit("r/app", "A harbor");
    fixture.git("r/app", &["tag", "v1.0"]);
    fixture.git("r/app", &["checkout", "-q", "-b", "release/1.x"]);
    fixture.write(
        "r/app/src/dock.go",
        "package app\n\n// Ships dock at berth 2.\nfunc dock() {\n\tsail(2)\n}\n",
    );
    fixture.commit("r/app", "Another berth");
    fixture.git("r/app", &["checkout", "-q", "-"]);
    fixture.git(
        "r/app",
        &["worktree", "add", "--quiet", "../fix-a-long-name-of-a-worktree", "-b", "fix"],
    );
    fixture.write(
        "r/fix-a-long-name-of-a-worktree/src/new.go",
        "package app\n\nfunc Anchor() {\n\tdock()\n}\n",
    );
    fixture.write("r/other/one.txt", "one berth\n");
    fixture.commit("r/other", "first");
    fixture.run(&["ingest", "--shards", "4", "--branches", "release/*,v1.*", "r"]).code(0);
    fixture.run(&["symbols"]).code(0);
    fixture
}

/// One page of each kind.
pub(super) const TREES: [&str; 20] = [
    "/search?q=berth+repo:app",
    "/search?q=dock+(worktree:*+or+branch:release)",
    "/search?q=dock+rev:v1.0",
    "/search?q=dock+repo:app+rev:HEAD",
    "/search?q=dock+worktree:nosuch",
    "/search?q=dock+rev:nosuch",
    "/search?q=diff:v1.0..release/1.x+sail",
    "/search?q=diff:nosuch..HEAD",
    "/repos",
    "/repos?repo=app",
    "/repos?repo=app@fix-a-long-name-of-a-worktree",
    "/repos?repo=app&rev=release/1.x&path=src",
    "/file?repo=app@fix-a-long-name-of-a-worktree&path=src/new.go",
    "/file?repo=app&path=src/dock.go&rev=release/1.x",
    "/definitions?name=dock&from=app@release/1.x/src/dock.go:4",
    "/outline?repo=app&path=src/dock.go&rev=release/1.x",
    "/blame?repo=app@release/1.x&path=src/dock.go",
    "/diff?repo=app&base=v1.0&head=release/1.x",
    "/diff?repo=app&base=v1.0&head=release/1.x&path=src/dock.go",
    "/diff?repo=app&base=v1.0&head=nosuch",
];

#[test]
fn every_page_of_a_tree_can_be_read_and_used_by_everyone() {
    let fits = "return document.documentElement.scrollWidth <= window.innerWidth";
    for size in ["--window-size=1280,900", "--window-size=360,800"] {
        journeys_in(trees, &[size], &async |tab: &Tab<'_>| {
            for page in TREES {
                tab.open(page).await;
                for theme in ["light", "dark"] {
                    tab.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                    assert_eq!(tab.run(AUDIT).await, json!([]), "{page} {theme}");
                }
                assert_eq!(tab.run(fits).await, true, "{page} {size}");
            }
        });
    }
}

#[test]
fn from_a_repository_to_a_name_in_its_worktree() {
    journeys_in(trees, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/repos?repo=app").await;
        tab.follow("a[href*='app@fix-a-long-name']").await;
        tab.until("location.search.includes('app@fix')").await;
        tab.follow("a[href*='path=src']").await;
        tab.follow("a[href*='new.go']").await;
        tab.until("location.pathname === '/file'").await;
        assert!(tab.text("#text").await.contains("Anchor"));
        // The names of a page are those of its tree.
        tab.keys(".look-up [name=name]", "Anchor").await;
        tab.follow(".look-up button").await;
        tab.until("location.pathname === '/definitions'").await;
        assert!(tab.text("main").await.contains("func Anchor()"));
        tab.follow("article.file a.open").await;
        tab.until("location.pathname === '/file' && location.search.includes('app@fix')").await;
        // A card shows the definitions in this tree, too.
        tab.run(
            "const code = document.querySelector('#L4 code'), box = code.getBoundingClientRect();\
             const at = { bubbles: true, detail: 1, clientX: box.left + 60, clientY: box.top + 5 };\
             code.dispatchEvent(new MouseEvent('click', at))",
        )
        .await;
        tab.until("document.querySelector('#card li a[href*=\"app%40fix\"]')").await;
    });
}

#[test]
fn from_a_search_of_changes_to_both_sides() {
    journeys_in(trees, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=diff:v1.0..release/1.x+sail").await;
        tab.follow(".file a.open").await;
        tab.until("location.pathname === '/diff'").await;
        let text = tab.text("main").await;
        assert!(text.contains("sail(1)") && text.contains("sail(2)"), "{text}");
    });
}
