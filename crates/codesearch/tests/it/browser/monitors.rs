//! Monitors are made, tested, paused and deleted on pages, without scripts.

use fantoccini::Locator;

use super::repositories;
use super::tab::{Tab, journeys_in};

#[test]
fn a_monitor_is_made_tested_paused_and_deleted_without_scripts() {
    let options = ["--blink-settings=scriptEnabled=false"];
    journeys_in(repositories, &options, &async |tab: &Tab<'_>| {
        tab.open("/monitors").await;
        assert!(tab.text("table").await.contains("needles"));
        // What is wrong is told, and what was typed stays.
        tab.keys("[name=name]", "mine").await;
        tab.keys("[name=query]", "sym:needle").await;
        tab.follow(".monitor button").await;
        assert!(tab.text(".error").await.contains("sym: is not supported in a monitor"));
        let query = tab.client.find(Locator::Css("[name=query]")).await.unwrap();
        assert_eq!(query.prop("value").await.unwrap().as_deref(), Some("sym:needle"));
        query.clear().await.unwrap();
        tab.keys("[name=query]", "needle file:server.go").await;
        tab.follow(".monitor button").await;
        assert_eq!(tab.text("h1").await, "mine");
        tab.follow("[value=test]").await;
        let notice = tab.text(".notice").await;
        assert!(
            notice.contains("The query matches 1 file now.")
                && notice.contains("one/src/server.go:3"),
            "{notice}"
        );
        tab.follow("[value=pause]").await;
        assert!(tab.text(".facts").await.contains("paused"));
        tab.follow("[value=resume]").await;
        assert!(tab.text(".facts").await.contains("active"));
        tab.follow("[value=remove]").await;
        assert_eq!(tab.text("h1").await, "Monitors");
        assert!(!tab.text("table").await.contains("mine"));
    });
}
