//! Results while the user types a query.

use fantoccini::key::Key;
use serde_json::json;

use super::journeys;
use super::tab::Tab;

/// Puts a query into the box, as if typed at once.
async fn typed(tab: &Tab<'_>, query: &str) {
    let query = serde_json::to_string(query).unwrap();
    tab.run(&format!(
        "const box = document.querySelector('#q'); box.value = {query}; box.dispatchEvent(new InputEvent('input'));"
    ))
    .await;
}

/// Holds the requests for results until `held[0]()` releases them. `queries` has their queries, `signals` their
/// signals. `late` becomes true when the result of the last released request was either shown or ignored.
const HOLD: &str = "
    window.real = window.fetch;
    [window.queries, window.held, window.signals, window.late] = [[], [], [], false];
    window.fetch = (address, options) => {
        if (!String(address).includes('typed=1')) return real(address, options);
        queries.push(new URLSearchParams(String(address).split('?')[1]).get('q'));
        signals.push(options.signal);
        return new Promise((done) => held.push(async () => {
            late = false;
            const { status, headers, body } = await real(address, { headers: options.headers });
            const text = await new Response(body).text();
            done({ status, headers, text: async () => { setTimeout(() => { late = true; }); return text; } });
            if (status !== 200) setTimeout(() => { late = true; });
        }));
    };";

#[test]
fn results_appear_while_a_query_is_typed() {
    let journey = async |tab: &Tab<'_>| {
        tab.open("/").await;
        tab.keys("#q", "needle").await;
        tab.until("document.querySelector('.truth')?.textContent.includes('in 74 files')").await;
        tab.until("location.pathname + location.search === '/search?q=needle'").await;
        assert_eq!(
            tab.run("return [document.activeElement.id, document.title]").await,
            json!(["q", "needle · codesearch"])
        );
        // Screen readers are told at the end of typing, by an element that stays.
        tab.until("document.querySelector('#told').textContent.includes('in 74 files')").await;
        assert_eq!(
            tab.run("return document.querySelectorAll('main [role=status]').length").await,
            0
        );
        // Further typing replaces the address.
        tab.keys("#q", " repo:^one$").await;
        tab.until("document.querySelector('.truth').textContent.includes('in 3 files')").await;
        assert_eq!(
            tab.run("return new URLSearchParams(location.search).get('q')").await,
            "needle repo:^one$"
        );
        // Keys walk through the shown results, and the opened one is remembered.
        tab.run("document.querySelector('#q').blur()").await;
        tab.keys("body", "j").await;
        tab.until("document.querySelector('.file.here')").await;
        tab.run("document.querySelector('.file.here .open').click()").await;
        tab.until("location.pathname === '/file'").await;
        tab.client.back().await.unwrap();
        tab.until("document.querySelector('.truth')?.textContent.includes('in 3 files')").await;
        let asked = "return JSON.parse(localStorage.getItem('history'))[0]";
        assert_eq!(tab.run(asked).await, "needle repo:^one$");
        // Back leads to the page before the typing, forward to the typed query.
        tab.client.back().await.unwrap();
        tab.until("location.pathname === '/' && document.querySelector('.home')").await;
        tab.client.forward().await.unwrap();
        tab.until("location.pathname === '/search' && document.querySelector('.truth')?.textContent.includes('in 3 files')").await;
        // Enter leads to the same page.
        tab.ready().await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until(
            "document.querySelector('main [role=status]')?.textContent.includes('in 3 files')",
        )
        .await;
    };
    journeys(&["--window-size=1280,900"], &journey);
    journeys(&["--window-size=360,800"], &journey);
}

#[test]
fn a_late_answer_shows_nothing() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle&wait=1").await;
        tab.run(HOLD).await;
        typed(tab, "Serve").await;
        tab.until("queries.length === 1").await;
        typed(tab, "needle repo:^one$").await;
        tab.until("queries.length === 2").await;
        // The previous request is cancelled, so that the server ends its search.
        assert_eq!(
            tab.run("return signals.map((signal) => signal.aborted)").await,
            json!([true, false])
        );
        tab.run("held[1]()").await;
        tab.until("late && document.querySelector('.truth').textContent.includes('in 3 files')")
            .await;
        tab.run("held[0]()").await;
        tab.until("late").await;
        assert!(tab.text(".truth").await.contains("in 3 files"));
        assert_eq!(
            tab.run("return new URLSearchParams(location.search).get('q')").await,
            "needle repo:^one$"
        );
        // A user who has moved on to the results keeps them.
        typed(tab, "Serve").await;
        tab.until("queries.length === 3").await;
        tab.run("document.querySelector('.file .open').focus()").await;
        tab.run("held[2]()").await;
        tab.until("late").await;
        assert!(tab.text(".truth").await.contains("in 3 files"));
        // The page marks that these are not the results of the current query.
        tab.until("document.querySelector('main.stale')").await;
    });
}

#[test]
fn a_query_that_is_not_finished_changes_nothing() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle&wait=1").await;
        tab.run(HOLD).await;
        for query in [
            "ne",
            "needle (",
            "needle \"func",
            "needle or",
            "needle -",
            "needle [a",
            "needle lang:",
            "needle \\",
        ] {
            typed(tab, query).await;
            tab.until("document.querySelector('main.stale')").await;
            assert_eq!(tab.run("return queries").await, json!([]), "{query}");
            assert!(tab.text(".truth").await.contains("in 74 files"), "{query}");
        }
        // The server decides: no error flashes.
        typed(tab, "needle lang:klingon").await;
        tab.until("queries.length === 1").await;
        tab.run("held[0]()").await;
        tab.until("late").await;
        assert_eq!(tab.run("return document.querySelectorAll('[role=alert]').length").await, 0);
        assert!(tab.text(".truth").await.contains("in 74 files"));
        assert_eq!(tab.run("return new URLSearchParams(location.search).get('q')").await, "needle");
        // The shown results are those of the previous query.
        typed(tab, "needle").await;
        tab.until("!document.querySelector('main.stale')").await;
        assert_eq!(tab.run("return queries.length").await, 1);
    });
}

#[test]
fn results_while_typing_can_be_switched_off() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle&wait=1").await;
        let pressed = "return document.querySelector('#live').ariaPressed";
        assert_eq!(tab.run(pressed).await, "true");
        tab.click_in_menu("#live").await;
        tab.open("/").await;
        assert_eq!(tab.run(pressed).await, "false");
        typed(tab, "needle").await;
        assert_eq!(tab.run("return timers.length").await, 0);
        tab.open("/search?q=Serve&wait=1").await;
        typed(tab, "needle").await;
        assert_eq!(tab.run("return timers.length").await, 0);
        // Switched on again, it begins with the query in the box.
        tab.click_in_menu("#live").await;
        tab.until("document.querySelector('.truth')?.textContent.includes('in 74 files')").await;
        // On the page of a file or of documents, nothing is replaced.
        for page in ["/file?repo=one&path=src/server.go", "/docs?q=needle"] {
            tab.open(page).await;
            typed(tab, "Serve").await;
            assert_eq!(tab.run("return timers.length").await, 0, "{page}");
        }
    });
}
