//! Questions are asked on a page, without scripts.

use super::repositories;
use super::tab::{Tab, journeys_in};

#[test]
fn a_question_is_asked_without_scripts() {
    let options = ["--blink-settings=scriptEnabled=false"];
    journeys_in(repositories, &options, &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle+serve+nowhere").await;
        // Few files match, so others follow.
        let others = tab.text(".near").await;
        assert!(others.contains("no file has all of these words; ranked by words"), "{others}");
        assert!(others.contains("src/server.go"), "{others}");
        tab.follow(".tabs a[href^='/ask']").await;
        assert!(tab.text(".truth").await.contains("some of these words"));
        assert!(tab.text(".file:first-child").await.contains("src/server.go"));
        assert!(["needle", "Serve"].contains(&&*tab.text(".file:first-child mark").await));
        tab.keys("[name=repo]", "two").await;
        tab.follow(".within button").await;
        assert!(tab.address().await.contains("repo=two"));
        assert!(!tab.text(".found").await.contains("server.go"));
        tab.follow(".file:first-child .open").await;
        assert!(tab.text("#text").await.contains("needle"));
    });
}
