//! Reading code on the page of a file: its outline, names, the context of a line, and selected lines.

use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::json;

use super::audit::AUDIT;
use super::tab::{Tab, journeys_in};
use crate::harness::Fixture;
use crate::harness::scip::{DEFINES, Unit, document, index};

/// A class with two long methods, and a function.
fn harbor() -> String {
    let line = |word: &str, n: usize| format!("        {word}_{n} = dock({n})");
    let filler = |word: &str| (0..60).map(|n| line(word, n) + "\n").collect::<String>();
    format!(
        "class Harbor:\n    def berth(self):\n{}        return berth_1\n\n    def sail(self):\n{}        # berth it again\n        \
         return self.berth()\n\ndef dock(n):\n    return n\n",
        filler("berth"),
        filler("sail")
    )
}

/// Lines of [`harbor`].
const BERTH: u64 = 2;
const SAIL: u64 = 65;
const DOCK: u64 = 129;

const FILE: &str = "/file?repo=one&path=src/harbor.py";

/// A clone, and a folder that is not one.
pub(super) fn code() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/src/harbor.py", "class Harbor:\n    pass\n");
    fixture.commit(
        "one",
        "A harbor with a long story: <b>everything that ships need</b>, and more of it",
    );
    fixture.write("one/src/harbor.py", harbor());
    fixture.write(
        "one/src/main.py",
        "from harbor import Harbor\n\ndef main():\n    Harbor().berth()\n",
    );
    fixture.write("one/src/<b>.py", "def <b>():\n");
    fixture.commit("one", "Berths");
    fixture.write("two/other.py", "def dock():\n    pass\n");
    fixture.write("two/notes.txt", "berth\n");
    fixture.ingest();
    fixture
}

/// The pages for reading code.
pub(super) const READING: [&str; 12] = [
    FILE,
    "/file?repo=two&path=notes.txt",
    "/definitions?name=dock",
    "/references?name=berth",
    "/outline?repo=one&path=src/harbor.py",
    "/search?q=sym:berth&wait=1",
    "/blame?repo=one&path=src/harbor.py",
    "/history?repo=one&path=src/harbor.py",
    "/history?repo=two&path=notes.txt",
    "/diff?repo=one&commit=HEAD",
    "/diff?repo=one&commit=HEAD&path=src/harbor.py",
    // The text of the first commit.
    "/file?repo=one&path=src/harbor.py&hash=ec099378e0e326886febe534a249ebe6072b5d50",
];

/// Returns the texts of the visible elements that a selector matches.
async fn shown(tab: &Tab<'_>, selector: &str) -> serde_json::Value {
    tab.run(&format!(
        "return [...document.querySelectorAll('{selector}')].filter((e) => e.offsetParent).map((e) => e.textContent.trim())"
    ))
    .await
}

/// Clicks in the middle of a name in a line, with these keys of the mouse event, as by hand.
async fn click_name(tab: &Tab<'_>, line: u64, name: &str, keys: &str) {
    tab.ready().await;
    let script = format!(
        "const code = document.querySelector('#L{line} code');
         code.scrollIntoView({{ block: 'center' }});
         const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
         while (walker.nextNode()) {{
           const at = walker.currentNode.data.indexOf('{name}');
           if (at < 0) continue;
           const range = document.createRange();
           range.setStart(walker.currentNode, at);
           range.setEnd(walker.currentNode, at + {});
           const box = range.getBoundingClientRect();
           walker.currentNode.parentElement.dispatchEvent(new MouseEvent('click', {{
             bubbles: true, detail: 1, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, {keys}
           }}));
           return true;
         }}
         return false",
        name.len()
    );
    assert_eq!(tab.run(&script).await, true, "{name} stands in line {line}");
}

#[test]
fn an_outline_is_filtered_as_one_types() {
    journeys_in(code, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        let names = ".outline li span";
        assert_eq!(shown(tab, names).await, json!(["Harbor", "berth", "sail", "dock"]));
        assert_eq!(
            shown(tab, ".outline li small").await,
            json!(["class", "method", "method", "function"])
        );
        // With keys alone: the context of a hit stays, and the first hit is opened.
        tab.keys("body", "s").await;
        tab.until("document.activeElement.id === 'narrow'").await;
        tab.keys("#narrow", "AIL").await;
        assert_eq!(shown(tab, names).await, json!(["Harbor", "sail"]));
        assert_eq!(
            tab.run("return document.querySelector('.outline [role=status]').textContent").await,
            "1 of 4"
        );
        tab.keys("#narrow", &Key::Enter.to_string()).await;
        tab.until(&format!(
            "location.hash === '#L{SAIL}' && document.querySelector('#L{SAIL}.on')"
        ))
        .await;
        tab.keys("#narrow", &Key::Escape.to_string()).await;
        assert_eq!(shown(tab, names).await, json!(["Harbor", "berth", "sail", "dock"]));
        // The arrow keys walk through it.
        tab.keys("body", "s").await;
        tab.keys("#narrow", &Key::Down.to_string()).await;
        tab.until("document.activeElement.hash === '#L1'").await;
        tab.keys(":focus", &Key::Down.to_string()).await;
        tab.until(&format!("document.activeElement.hash === '#L{BERTH}'")).await;
        // The panels next to the text are hidden, also on the next page, until requested.
        tab.keys("body", "b").await;
        tab.open(FILE).await;
        assert_eq!(shown(tab, ".side").await, json!([]));
        tab.keys("body", "s").await;
        assert_eq!(shown(tab, names).await, json!(["Harbor", "berth", "sail", "dock"]));
    });
}

#[test]
fn what_is_around_the_first_line_stays_in_sight() {
    let journey = async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        assert_eq!(shown(tab, "#around li").await, json!([]));
        let around = |line: u64, wanted: &str| {
            let scroll =
                format!("document.querySelector('#L{line}').scrollIntoView({{ block: 'center' }})");
            let wanted = format!(
                "[...document.querySelectorAll('#around li')].map((row) => row.textContent).join('|') === '{wanted}'"
            );
            async move {
                tab.run(&scroll).await;
                tab.until(&wanted).await;
            }
        };
        around(55, &format!("1class Harbor:|{BERTH}    def berth(self):")).await;
        let current = "document.querySelector('.outline [aria-current]')?.hash";
        tab.until(&format!("{current} === '#L{BERTH}'")).await;
        around(118, &format!("1class Harbor:|{SAIL}    def sail(self):")).await;
        tab.until(&format!("{current} === '#L{SAIL}'")).await;
        // It is at the top of the view, and its rows lead to their places.
        let top = "return document.querySelector('#around ol').getBoundingClientRect().top";
        assert!(tab.run(top).await.as_f64().unwrap() >= 0.0);
        tab.run("document.querySelector('#around li:last-child code').click()").await;
        tab.until(&format!("location.hash === '#L{SAIL}'")).await;
    };
    journeys_in(code, &["--window-size=1280,900"], &journey);
    journeys_in(code, &["--window-size=360,800"], &journey);
}

#[test]
fn a_name_leads_to_its_definitions_and_references() {
    let journey = async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        click_name(tab, DOCK - 2, "berth", "").await;
        tab.until("document.querySelectorAll('#card ul:first-of-type li').length === 1").await;
        tab.until("document.querySelector('#card ul:last-of-type li')").await;
        let card = tab.text("#card").await;
        assert!(card.contains("def berth(self):") && card.contains("method of Harbor"), "{card}");
        assert!(card.contains("main.py:4") && card.contains("in main"), "{card}");
        assert_eq!(
            tab.run("return document.documentElement.scrollWidth <= window.innerWidth").await,
            true
        );
        assert_eq!(tab.run(AUDIT).await, json!([]));
        // The same name is marked in the whole file, but not longer names: berth_1 is another.
        assert_eq!(tab.run("return CSS.highlights.get('same').size").await, 3);
        // Esc closes the card; keywords, and words in comments, open none; a selection stays a selection.
        tab.keys("body", &Key::Escape.to_string()).await;
        tab.until("document.querySelector('#card').hidden").await;
        click_name(tab, DOCK - 2, "return", "").await;
        click_name(tab, DOCK - 3, "berth", "").await;
        tab.run("getSelection().selectAllChildren(document.querySelector('#L1 code'))").await;
        click_name(tab, 1, "Harbor", "").await;
        assert_eq!(tab.run("return document.querySelector('#card').hidden").await, true);
        tab.run("getSelection().removeAllRanges()").await;
        // Titles lead to the pages with all results.
        click_name(tab, DOCK - 2, "berth", "").await;
        // Titles move when references arrive.
        tab.until("document.querySelector('#card ul:last-of-type li')").await;
        tab.follow("#card h3:last-of-type a").await;
        tab.until("location.pathname === '/references'").await;
        assert_eq!(tab.text("h1").await, "References of berth");
        // Ctrl leads to the only definition, or to the page of several.
        tab.open(FILE).await;
        click_name(tab, DOCK - 2, "berth", "ctrlKey: true").await;
        tab.until(&format!("location.pathname === '/file' && location.hash === '#L{BERTH}'")).await;
        tab.open(FILE).await;
        click_name(tab, DOCK, "dock", "ctrlKey: true").await;
        tab.until("location.pathname === '/definitions'").await;
        assert!(tab.text("main").await.contains("2 definitions"));
    };
    journeys_in(code, &["--window-size=1280,900"], &journey);
    journeys_in(code, &["--window-size=360,800"], &journey);
}

#[test]
fn without_scripts_a_form_looks_names_up() {
    journeys_in(
        code,
        &["--window-size=1280,900", "--blink-settings=scriptEnabled=false"],
        &async |tab: &Tab<'_>| {
            tab.open(FILE).await;
            assert!(tab.text(".outline ul").await.contains("berth"));
            for scripted in ["#narrow", "#wide", "#copy-lines"] {
                let part = tab.client.find(Locator::Css(scripted)).await.unwrap();
                assert!(!part.is_displayed().await.unwrap(), "{scripted}");
            }
            tab.keys(".look-up [name=name]", "berth").await;
            tab.follow(".look-up button:first-of-type").await;
            // This element shows that the new page has been read.
            assert_eq!(tab.text("h1 > code").await, "berth");
            let address = tab.address().await;
            assert!(
                address.contains("/definitions?from=one%2Fsrc%2Fharbor.py%3A1&name=berth"),
                "{address}"
            );
            assert!(tab.text("main").await.contains("def berth(self):"));
            tab.open(FILE).await;
            tab.keys(".look-up [name=name]", "berth").await;
            tab.follow(".look-up button:last-of-type").await;
            assert_eq!(tab.text("h1 > code").await, "berth");
            assert_eq!(tab.text("h1").await, "References of berth");
            // An outline leads to lines.
            tab.open(FILE).await;
            tab.click(".outline .h2 a").await;
            tab.arrives(&format!("#L{BERTH}")).await;
        },
    );
}

#[test]
fn lines_are_chosen_copied_and_kept_in_the_address() {
    journeys_in(code, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        tab.run("navigator.clipboard.writeText = async (said) => { window.copied = said; }").await;
        tab.click("#L3 .no").await;
        tab.until("location.hash === '#L3' && document.querySelectorAll('#text .on').length === 1")
            .await;
        let shift = |line: u64| {
            format!(
                "document.querySelector('#L{line} .no').dispatchEvent(new MouseEvent('click', {{ bubbles: true, cancelable: true, shiftKey: true }}))"
            )
        };
        tab.run(&shift(5)).await;
        tab.until(
            "location.hash === '#L3-L5' && document.querySelectorAll('#text .on').length === 3",
        )
        .await;
        // In the other direction, from its start.
        tab.run(&shift(BERTH)).await;
        tab.until("location.hash === '#L2-L3'").await;
        tab.keys("body", "C").await;
        tab.until("window.copied === '    def berth(self):\\n        berth_0 = dock(0)\\n'").await;
        // They are restored on a page that is opened with them or with their numbers.
        tab.client.refresh().await.unwrap();
        tab.until("document.querySelectorAll('#text .on').length === 2").await;
        tab.run("window.prompt = () => '10-12'").await;
        tab.keys("body", "l").await;
        tab.until(
            "location.hash === '#L10-L12' && document.querySelectorAll('#text .on').length === 3",
        )
        .await;
    });
}

#[test]
fn results_say_in_what_a_line_stands() {
    let journey = async |tab: &Tab<'_>| {
        tab.open("/search?q=berth+repo:one+file:harbor&wait=1").await;
        let around =
            "return [...document.querySelectorAll('.lines .in')].map((e) => e.textContent)";
        let told: Vec<String> = serde_json::from_value(tab.run(around).await).unwrap();
        // Neighbours in the same symbol name it once.
        assert!(told.contains(&"Harbor.berth".to_owned()), "{told:?}");
        assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:?}");
        assert_eq!(
            tab.run("return document.documentElement.scrollWidth <= window.innerWidth").await,
            true
        );
        assert_eq!(tab.run(AUDIT).await, json!([]));
        // The same applies to lines shown on demand.
        tab.click(".file [data-more]").await;
        tab.until("[...document.querySelectorAll('.lines .in')].some((e) => e.textContent === 'Harbor.sail')").await;
        tab.run("[...document.querySelectorAll('.lines .in')].find((e) => e.textContent === 'Harbor.sail').firstElementChild.click()").await;
        tab.until(&format!("location.pathname === '/file' && location.hash === '#L{SAIL}'")).await;
    };
    journeys_in(code, &["--window-size=1280,900"], &journey);
    journeys_in(code, &["--window-size=360,800"], &journey);
}

#[test]
fn everyone_can_read_code() {
    for size in ["--window-size=1280,900", "--window-size=1000,800", "--window-size=360,800"] {
        journeys_in(code, &[size], &async |tab: &Tab<'_>| {
            for page in READING {
                for theme in ["light", "dark"] {
                    tab.open(page).await;
                    tab.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                    tab.run("document.querySelectorAll('.fold').forEach((box) => { box.checked = true; })").await;
                    assert_eq!(tab.run(AUDIT).await, json!([]), "{page} {theme} {size}");
                    let fits = "return document.documentElement.scrollWidth <= window.innerWidth";
                    assert_eq!(tab.run(fits).await, true, "{page} {size}");
                }
            }
        });
    }
}

/// The same files, with a SCIP index that tells which `dock` each file means.
fn indexed() -> Fixture {
    let fixture = code();
    let (here, there) = (harbor(), "def dock():\n    pass\n");
    let symbol = "s pip one 1 dock().";
    let in_first_line =
        [("dock", 0, symbol, 0), ("dock", here.matches("dock").count() - 1, symbol, DEFINES)];
    let one = document("src/harbor.py", &here, Unit::Utf32, &in_first_line);
    let two =
        document("other.py", there, Unit::Utf32, &[("dock", 0, "s pip two 1 dock().", DEFINES)]);
    for (repo, told) in [("one", one), ("two", two)] {
        fixture.write("index.scip", index("scip-test", &[told]));
        fixture.run(&["scip", repo, "index.scip"]).code(0);
    }
    fixture
}

#[test]
fn what_an_index_tells_of_a_name_is_shown_first() {
    journeys_in(indexed, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        click_name(tab, BERTH + 1, "dock", "").await;
        tab.until("document.querySelectorAll('#card ul:first-of-type li').length === 2").await;
        let first = "return [...document.querySelectorAll('#card ul:first-of-type li')].map((e) => e.textContent)";
        let told = tab.run(first).await.to_string();
        assert!(
            told.contains("precise function · this file")
                && told.contains("search function · other.py"),
            "{told}"
        );
        // Ctrl leads to the right function, though another one has the same name.
        tab.keys("body", &Key::Escape.to_string()).await;
        click_name(tab, BERTH + 1, "dock", "ctrlKey: true").await;
        tab.until(&format!("location.pathname === '/file' && location.hash === '#L{DOCK}'")).await;
    });
}

#[test]
fn what_a_file_was_and_where_its_lines_come_from() {
    let journey = async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        // The address becomes that of exactly this text.
        tab.run("navigator.clipboard.writeText = async (said) => { window.copied = said; }").await;
        tab.click(&format!("#L{BERTH} .no")).await;
        tab.keys("body", "y").await;
        tab.until("window.copied === location.href && location.hash === '#L2'").await;
        let hash = "document.querySelector('h1').dataset.hash";
        tab.until(&format!("new URLSearchParams(location.search).get('hash') === {hash}")).await;
        tab.client.refresh().await.unwrap();
        tab.until("document.querySelector('#L2.on') && !document.querySelector('.notice')").await;
        // Blame: a commit is shown once for its lines, and leads to the history.
        tab.follow("a[href^='/blame']").await;
        tab.until("location.pathname === '/blame'").await;
        assert_eq!(tab.text("#L2 .by a").await, "Berths");
        assert_eq!(tab.run("return document.querySelectorAll('.by time').length").await, 2);
        tab.follow("#L1 .by a").await;
        tab.until("location.pathname === '/history' && document.querySelector('tr:target')").await;
        assert!(tab.text("tr:target").await.contains("<b>everything that ships need</b>"));
        // The text at that commit, and the current text.
        tab.follow("tr:target a[href*='hash=']").await;
        tab.until(
            "location.pathname === '/file' && document.querySelectorAll('#text li').length === 2",
        )
        .await;
        assert!(tab.text(".notice").await.contains("This is the version with the hash"));
        tab.follow(".notice a").await;
        tab.until("document.querySelectorAll('#text li').length > 100").await;
    };
    journeys_in(code, &["--window-size=1280,900"], &journey);
    journeys_in(code, &["--window-size=360,800"], &journey);
    journeys_in(code, &["--blink-settings=scriptEnabled=false"], &async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        // Without scripts, a menu is opened by its title.
        tab.click(".actions summary").await;
        tab.follow("#permalink").await;
        assert!(tab.address().await.contains("hash="));
        tab.follow("a[href^='/history']").await;
        assert!(tab.text(".history").await.contains("Berths"));
    });
}

#[test]
fn style_and_scripts_are_small() {
    journeys_in(code, &[], &async |tab: &Tab<'_>| {
        tab.open(FILE).await;
        let sent = "const all = performance.getEntriesByType('resource').filter((e) => e.name.includes('/static/'));
                    return [all.length, all.reduce((bytes, e) => bytes + e.encodedBodySize, 0)]";
        let (files, bytes): (usize, usize) = serde_json::from_value(tab.run(sent).await).unwrap();
        assert_eq!(files, 3);
        assert!(
            (1..=24_000).contains(&bytes),
            "style and scripts take {bytes} bytes as they are sent"
        );
    });
}

#[test]
fn nothing_hides_what_matches() {
    let long = || {
        let fixture = Fixture::new();
        fixture
            .write("one/a.py", format!("def harbor():\n    return '{}'\n", "needle ".repeat(60)));
        fixture.write("one/b.py", "def needle():\n    pass\n");
        fixture.ingest();
        fixture
    };
    for colours in ["--window-size=1280,900", "--blink-settings=preferredColorScheme=0"] {
        journeys_in(long, &["--window-size=1280,900", colours], &async |tab: &Tab<'_>| {
            tab.open("/search?q=needle&sort=path&wait=1").await;
            assert_eq!(tab.text(".lines .in").await, "harbor");
            // Each match within its card is visible.
            let seen = "const card = document.querySelector('.file').getBoundingClientRect();
                 const boxes = [...document.querySelectorAll('.file mark')].map((mark) => [mark, mark.getBoundingClientRect()]);
                 const within = boxes.filter(([, box]) => box.left >= card.left && box.right <= card.right);
                 const top = (box) => document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                 return [within.length > 5, within.filter(([mark, box]) => !mark.contains(top(box))).length]";
            assert_eq!(tab.run(seen).await, json!([true, 0]));
            // Code of a selected card looks like that of any other.
            let style = |card: &str| {
                format!(
                    "const style = getComputedStyle(document.querySelector('{card} code'));
                     return [style.fontWeight, style.color, style.borderBottomStyle]"
                )
            };
            tab.keys("body", "j").await;
            tab.until("document.querySelector('.file.here')").await;
            let (selected, other) = (style(".file.here"), style(".file:not(.here)"));
            assert_eq!(tab.run(&selected).await, tab.run(&other).await);
        });
    }
}
