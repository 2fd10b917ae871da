//! What each page must look like: hits in sight, members below their containers, one row of header and of actions, sizes
//! of what is clicked, at the widths of a desk and of a phone.

use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::{Value, json};

use super::audit::AUDIT;
use super::tab::{Tab, journeys_in};
use crate::harness::{Fixture, eventually_async};

const DESK: &str = "--window-size=1280,900";
const PHONE: &str = "--window-size=390,844";

/// What is clicked, smaller than 24 px in a direction (<https://www.w3.org/TR/WCAG22/#target-size-minimum>).
const SMALL: &str = "
    const all = [...document.querySelectorAll(
        'header a, header button, header summary, .tabs a, .side a, .orders a, .chosen a, .actions a, .actions button, .actions summary, .more a, .fold + label, .before')];
    return all.map((e) => [e, e.getBoundingClientRect()])
        .filter(([e, box]) => box.width > 0 && box.right > 0 && getComputedStyle(e).visibility === 'visible' && Math.min(box.width, box.height) < 23.5)
        .map(([e, box]) => `${e.outerHTML.slice(0, 80)} ${box.width}x${box.height}`)";

const FITS: &str = "return document.documentElement.scrollWidth <= window.innerWidth";

/// Texts of the elements that a selector matches.
async fn texts(tab: &Tab<'_>, selector: &str) -> Value {
    tab.run(&format!(
        "return [...document.querySelectorAll(\"{selector}\")].map((e) => e.textContent.trim().replace(/\\s+/g, ' '))"
    ))
    .await
}

/// Signatures, long lines, Markdown, methods beside their types and in other files.
pub(super) fn places() -> Fixture {
    let fixture = Fixture::new();
    let go = "package p\n\ntype Ship struct{ name string }\n\nfunc free() {}\n\nfunc (s *Ship) Sail(\n\tto string,\n\tfast bool,\n) \
              error {\n\treturn nil // needle in Sail\n}\n\nfunc other() {}\n\nfunc (h Harbor) Open() {\n\t// needle in Open\n}\n";
    fixture.write("one/ship.go", go);
    fixture.write(
        "one/long.js",
        format!(
            "let a = 1;\nlet text = '{}needle in a long line {}';\n",
            "x ".repeat(120),
            "y ".repeat(120)
        ),
    );
    fixture.write(
        "one/docs/guide.md",
        "# Guide\n\nSee [the ship](../ship.go), [below](#more) or [elsewhere](javascript:alert(1)).\n\n<script>alert(2)</script>\n\n![a \
         picture](https://example.org/x.png)\n\n## More\n\n```go\nfunc main() {}\n```\n",
    );
    fixture.write(
        "one/docs/CHANGELOG.md",
        "# Lanterns\n\nLanterns, lanterns: the lanterns of lanterns are lanterns now.\n",
    );
    fixture.write(
        "one/docs/lamps.md",
        "# Lamps of the harbor\n\nA text on lamps, and once on lanterns.\n",
    );
    fixture.write("a-very-long-name-of-a-repository/with-an-end/file.txt", "a word and a needle\n");
    fixture.commit("one", "All of it");
    fixture.write("one/ship.go", format!("{go}\nfunc last() {{}}\n"));
    fixture.commit("one", "The last function");
    fixture.ingest();
    fixture
}

/// The pages of [`places`].
pub(super) const POINTS: [&str; 12] = [
    "/",
    "/search?q=needle&wait=1",
    "/search?q=nedle&wait=1",
    "/file?repo=one&path=ship.go&q=needle#L11",
    "/file?repo=one&path=docs/guide.md&rendered=1",
    "/blame?repo=one&path=ship.go",
    "/history?repo=one&path=ship.go",
    "/definitions?name=Sail",
    "/references?name=Ship",
    "/repos",
    "/stats",
    "/docs?q=lanterns",
];

#[test]
fn the_header_is_one_row_and_everything_can_be_hit() {
    for (size, least) in [(DESK, 0.6), (PHONE, 0.6)] {
        journeys_in(places, &[size], &async |tab: &Tab<'_>| {
            for page in POINTS {
                tab.open(page).await;
                assert_eq!(tab.run(SMALL).await, json!([]), "{page} {size}");
                assert_eq!(tab.run(FITS).await, true, "{page} {size}");
                if page == "/" {
                    continue;
                }
                let sizes = "const box = document.querySelector('.box').getBoundingClientRect();
                             return [document.querySelector('header').offsetHeight, box.width / innerWidth]";
                let (height, width): (f64, f64) =
                    serde_json::from_value(tab.run(sizes).await).unwrap();
                assert!(height <= 60.0, "{page} {size}: {height} px");
                assert!(width >= least, "{page} {size}: {width} of the width");
            }
            // One menu has the rest, for keys, too.
            tab.open("/repos").await;
            let open = "return document.querySelector('header .menu').open";
            tab.run("document.querySelector('header .menu summary').focus()").await;
            tab.keys(":focus", &Key::Enter.to_string()).await;
            assert_eq!(tab.run(open).await, true);
            let entries = tab.text("header .menu > div").await;
            for entry in ["Status", "Syntax", "Live", "Theme", "Keys"] {
                assert!(entries.contains(entry), "{entries}");
            }
            assert_eq!(entries.contains("Repositories"), size == PHONE, "{entries}");
            assert_eq!(tab.run(SMALL).await, json!([]), "{size}");
            assert_eq!(tab.run(FITS).await, true);
            tab.keys(":focus", &Key::Escape.to_string()).await;
            assert_eq!(tab.run(open).await, false);
        });
    }
    journeys_in(places, &["--blink-settings=scriptEnabled=false"], &async |tab: &Tab<'_>| {
        tab.open("/").await;
        tab.click("header .menu summary").await;
        tab.follow("header .menu a[href='/stats']").await;
        assert_eq!(tab.text("h1").await, "Status");
    });
}

#[test]
fn the_first_page_has_one_large_box() {
    for size in [DESK, PHONE] {
        journeys_in(places, &[size], &async |tab: &Tab<'_>| {
            tab.open("/").await;
            let sizes = "const box = document.querySelector('.box').getBoundingClientRect();
                         return [document.querySelectorAll('main input').length, box.height >= 44, box.width >= Math.min(innerWidth * 0.9, 800)]";
            assert_eq!(tab.run(sizes).await, json!([0, true, true]));
            assert_eq!(texts(tab, ".examples li").await.as_array().unwrap().len(), 3);
            let said = tab.text(".intro").await;
            assert!(said.contains("indexed just now") || said.contains(" min ago"), "{said}");
            // Results that are typed take the place of the page; the box goes up, and one goes on typing.
            tab.keys("#q", "needle").await;
            tab.until("document.querySelector('.file .open') && document.querySelector('header').offsetHeight <= 60").await;
            assert_eq!(tab.run("return document.activeElement.id").await, "q");
        });
    }
}

/// Tells of each card whether its first hit is in sight: within the card, and with nothing over it.
const HITS: &str = "return [...document.querySelectorAll('.file:has(mark)')].map((card) => {
    card.scrollIntoView({ block: 'center' });
    const [outer, box] = [card, card.querySelector('.lines mark')].map((e) => e.getBoundingClientRect());
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.left >= outer.left && box.right <= outer.right && Boolean(top?.closest('mark'));
})";

#[test]
fn hits_are_in_sight_and_cards_say_where() {
    for size in [DESK, "--window-size=900,800", PHONE] {
        journeys_in(places, &[size], &async |tab: &Tab<'_>| {
            tab.open("/search?q=needle&wait=1&sort=path").await;
            let headers = texts(tab, ".file h2 > span").await;
            let expected = [
                "a-very-long-name-of-a-repository › with-an-end/file.txt",
                "one › long.js",
                "one › ship.go",
            ];
            assert_eq!(headers, json!(expected));
            assert_eq!(tab.run(HITS).await, json!([true, true, true]), "{size}");
            // A long line begins near its match.
            let long = "return [...document.querySelectorAll('.file code')].find((code) => code.textContent.includes('long line')).textContent";
            let long = tab.run(long).await;
            let long = long.as_str().unwrap();
            assert!(long.starts_with("… x ") && long.find("needle").unwrap() < 45, "{long}");
            // The symbol around stands above its lines, as a row of its own.
            let rows = "return [...document.querySelectorAll('.file:last-of-type .lines li')].map((li) =>
                li.matches('.in') ? `in ${li.textContent.trim()}` : li.querySelector('mark') ? 'hit' : 'line')";
            assert_eq!(
                tab.run(rows).await,
                json!([
                    "in Ship.Sail",
                    "line",
                    "hit",
                    "line",
                    "in Harbor.Open",
                    "line",
                    "hit",
                    "line"
                ])
            );
            let overlaps = "const boxes = (s) => [...document.querySelectorAll(s)].map((e) => e.getBoundingClientRect());
                return boxes('.lines .in').filter((a) => boxes('mark').some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length";
            assert_eq!(tab.run(overlaps).await, 0, "{size}");
            assert_eq!(tab.run(AUDIT).await, json!([]));
        });
    }
    // Of a long name in a narrow list, the end is in sight.
    journeys_in(places, &[DESK], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle&wait=1").await;
        let cut = "const name = document.querySelector(\".side a[title^='a-very-long'] span\");
            const [outer, inner] = [name, name.firstElementChild].map((e) => e.getBoundingClientRect());
            return [name.scrollWidth > name.clientWidth, Math.abs(inner.right - outer.right) < 2, inner.left < outer.left]";
        assert_eq!(tab.run(cut).await, json!([true, true, true]));
    });
}

#[test]
fn more_files_than_are_ranked_are_the_top_results() {
    let many = || {
        let fixture = Fixture::new();
        for n in 0..620 {
            fixture.write(&format!("one/{n}.txt"), "needle\n");
        }
        fixture.ingest();
        fixture
    };
    journeys_in(many, &[DESK], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle&wait=1").await;
        let truth = tab.text(".truth").await;
        let (_, files) = truth.split_once("Top results from ").unwrap();
        let files: usize = files.split_once("+ files").unwrap().0.parse().unwrap();
        assert!((500..620).contains(&files), "{truth}");
        assert!(truth.contains("narrow the query for the rest"), "{truth}");
    });
}

#[test]
fn what_is_typed_wrong_is_said_and_mended() {
    journeys_in(places, &[DESK], &async |tab: &Tab<'_>| {
        for (query, why) in [
            ("needle(", "A \"(\" is not closed"),
            ("needle or", "ends with an operator"),
            ("needle [a", "a bracket"),
            ("ne", "from three letters on"),
        ] {
            tab.open("/").await;
            tab.keys("#q", query).await;
            tab.until("document.querySelector('main').dataset.why").await;
            let said = tab.run("return [document.querySelector('main').dataset.why, document.querySelector('#told').textContent]").await;
            assert!(said[0].as_str().unwrap().contains(why), "{query}: {said}");
            assert_eq!(said[0], said[1]);
            let shown =
                "return getComputedStyle(document.querySelector('main'), '::before').content";
            assert!(tab.run(shown).await.as_str().unwrap().len() > 10);
        }
        // It goes away with its reason.
        tab.open("/").await;
        tab.keys("#q", "needle(").await;
        tab.until("document.querySelector('main').dataset.why").await;
        tab.keys("#q", &Key::Backspace.to_string()).await;
        tab.until("document.querySelector('.file') && !document.querySelector('main').dataset.why")
            .await;
        // A mistyped name gets the nearest one, alone and beside another word.
        for query in ["Sial", "needle+Sial", "sym:Sial"] {
            // Hints have a time limit, which the first ones of a server may exceed.
            let came = eventually_async(async || {
                tab.open(&format!("/search?q={query}&wait=1")).await;
                tab.text(".nothing").await.contains("a similar name, Sail")
            });
            assert!(came.await, "{query}");
        }
        tab.open("/search?q=Sial&wait=1").await;
        tab.run("[...document.querySelectorAll('.nothing a')].find((a) => a.textContent === 'Sail').click()").await;
        tab.until("document.querySelector('.file mark')?.textContent === 'Sail'").await;
        // Enter in the box goes to the first result, and on from there.
        tab.open("/search?q=needle&wait=1").await;
        tab.keys("body", "/").await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until("document.activeElement === document.querySelector('.file.here .open')").await;
        tab.keys(":focus", "j").await;
        tab.until("document.activeElement === document.querySelectorAll('.file .open')[1]").await;
        // Another query is searched for.
        tab.run("document.querySelector('#q').value = 'Open'").await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until("new URLSearchParams(location.search).get('q') === 'Open'").await;
    });
}

#[test]
fn a_file_has_members_below_their_types_and_one_row_of_actions() {
    for size in [DESK, PHONE] {
        journeys_in(places, &[size], &async |tab: &Tab<'_>| {
            tab.open("/file?repo=one&path=ship.go&q=needle#L14").await;
            tab.run("document.querySelector('#unfold').checked = true").await;
            let levels = "return [...document.querySelectorAll('.outline li')].map((li) => `${li.className} ${li.querySelector('span').textContent}`)";
            let expected = [
                "h1 p",
                "h1 Ship",
                "h2 name",
                "h2 Sail",
                "h1 free",
                "h1 other",
                "h1 Harbor",
                "h2 Open",
                "h1 last",
            ];
            assert_eq!(tab.run(levels).await, json!(expected));
            // The symbol of the line that was asked for is the current one.
            let current = "document.querySelector('.outline [aria-current] span')?.textContent";
            for (line, name) in [(14, "other"), (9, "Sail"), (17, "Open"), (3, "name")] {
                tab.run(&format!("location.hash = '#L{line}'")).await;
                tab.until(&format!("{current} === '{name}'")).await;
            }
            let tops = "const all = [...document.querySelector('.actions').children].map((e) => e.getBoundingClientRect()).filter((box) => box.width);
                        return all.length > 3 && Math.max(...all.map((box) => box.top)) < Math.min(...all.map((box) => box.bottom))";
            assert_eq!(tab.run(tops).await, true, "{size}");
            // Blame tells the author and the date, and what was before a commit.
            tab.follow("a[href^='/blame']").await;
            tab.until("location.pathname === '/blame'").await;
            let by = tab.run("return document.querySelector('#L19 .by').textContent").await;
            assert!(by.as_str().unwrap().contains("The last function"), "{by}");
            for part in [".by > span", ".by time"] {
                let part = tab.client.find(Locator::Css(part)).await.unwrap();
                assert!(
                    part.is_displayed().await.unwrap() && !part.text().await.unwrap().is_empty()
                );
            }
            tab.click("#L19 .before").await;
            tab.until("location.search.includes('before=') && !document.querySelector('#L20')")
                .await;
            assert!(tab.text("main [role=status]").await.contains("18 lines at commit"));
            assert_eq!(tab.run("return document.querySelectorAll('.before').length").await, 0);
        });
    }
    // A commit that is none of the file's has nothing before it.
    journeys_in(places, &[DESK], &async |tab: &Tab<'_>| {
        tab.open(&format!("/blame?repo=one&path=ship.go&before={}", "0".repeat(40))).await;
        assert!(tab.text("main").await.contains("No text of this file from before"));
    });
}

#[test]
fn markdown_is_a_document_or_text() {
    let journey = async |tab: &Tab<'_>| {
        tab.open("/file?repo=one&path=docs/guide.md").await;
        assert!(tab.text("#text").await.contains("# Guide"));
        tab.follow(".either a:last-child").await;
        assert_eq!(tab.text(".prose h2").await, "Guide");
        assert_eq!(
            tab.run(
                "return document.images.length + document.querySelectorAll('main script').length"
            )
            .await,
            0
        );
        assert_eq!(texts(tab, ".prose a").await, json!(["the ship", "below", "a picture"]));
        assert!(tab.client.get_alert_text().await.is_err());
        assert!(tab.text(".prose").await.contains("func main() {}"));
        // The outline leads to headings.
        tab.run("const box = document.querySelector('#unfold'); if (box) box.checked = true").await;
        tab.click(".outline .h2 a").await;
        tab.until("location.hash === '#L9' && document.querySelector('h3#L9')").await;
        tab.follow(".prose a").await;
        tab.until("new URLSearchParams(location.search).get('path') === 'ship.go'").await;
    };
    for size in [DESK, PHONE] {
        journeys_in(places, &[size], &journey);
    }
    journeys_in(places, &["--blink-settings=scriptEnabled=false"], &async |tab: &Tab<'_>| {
        tab.open("/file?repo=one&path=docs/guide.md").await;
        tab.follow(".either a:last-child").await;
        assert_eq!(tab.text(".prose h2").await, "Guide");
    });
}

#[test]
fn definitions_show_the_place_and_the_whole_signature() {
    for size in [DESK, PHONE] {
        journeys_in(places, &[size], &async |tab: &Tab<'_>| {
            tab.open("/definitions?name=Sail").await;
            assert_eq!(texts(tab, ".file h2").await, json!(["one › ship.go"]));
            assert_eq!(
                texts(tab, ".file .lines li").await,
                json!([
                    "method of Ship",
                    "7func (s *Ship) Sail(",
                    "8 to string,",
                    "9 fast bool,",
                    "10) error {"
                ])
            );
            let places = "const [card, place, lines] = ['.file', '.file h2 .repo', '.file .lines'].map((s) => document.querySelector(s).getBoundingClientRect());
                          return place.left - card.left < 20 && lines.top >= place.bottom";
            assert_eq!(tab.run(places).await, true);
        });
    }
}

#[test]
fn the_finder_finds_symbols() {
    journeys_in(places, &[DESK], &async |tab: &Tab<'_>| {
        tab.open("/repos").await;
        tab.keys("body", "t").await;
        tab.keys("#finder input", "Sail").await;
        tab.until("[...document.querySelectorAll('#found li')].some((li) => li.textContent.includes('method of Ship'))").await;
        assert_eq!(
            tab.run("return document.querySelector('#found li span').textContent").await,
            "Sail"
        );
        tab.keys("#finder input", &Key::Enter.to_string()).await;
        tab.until("location.pathname === '/file' && location.hash === '#L7'").await;
    });
}

#[test]
fn lists_are_sorted_and_begin_with_what_matters() {
    let journey = async |tab: &Tab<'_>| {
        tab.open("/repos").await;
        let names = "a-very-long-name-of-a-repository";
        assert_eq!(tab.text(".list tbody th").await, names);
        for (column, first) in [("files", "one"), ("text", "one")] {
            tab.follow(&format!(".list a[href='/repos?sort={column}']")).await;
            assert_eq!(
                tab.text("[aria-sort=descending]")
                    .await
                    .split_whitespace()
                    .next()
                    .unwrap()
                    .to_lowercase(),
                column
            );
            assert_eq!(tab.text(".list tbody th").await, first, "{column}");
        }
        let row = tab.text(".list tbody tr").await;
        assert!(
            (row.contains("main") || row.contains("master")) && row.contains("just now")
                || row.contains(" min ago"),
            "{row}"
        );
        assert_eq!(tab.text(".list tbody td code").await.len(), 10);
        // What hides underscores is not there, before one points at it.
        for (page, links) in [
            ("/", ".largest a"),
            ("/repos", ".list a"),
            ("/repos?repo=one", ".list a"),
            ("/files?q=ship", ".paths a"),
            ("/definitions?name=Sail", ".file a"),
            ("/search?q=needle&wait=1", ".file a"),
        ] {
            tab.open(page).await;
            let lines = format!(
                "return [...new Set([...document.querySelectorAll('{links}')].map((a) => getComputedStyle(a).textDecorationLine))]"
            );
            assert_eq!(tab.run(&lines).await, json!(["none"]), "{page}");
        }
        tab.open("/stats").await;
        let facts = tab.text("dl").await;
        assert!(facts.starts_with("Indexed") && facts.contains("Failed searches"), "{facts}");
        // Change logs come last, though this one has the word more often, and in its title.
        tab.open("/docs?q=lanterns").await;
        assert_eq!(texts(tab, ".doc .path").await, json!(["docs/lamps.md", "docs/CHANGELOG.md"]));
        // Nobody signs in to a server without tokens.
        tab.open("/sign-in").await;
        assert_eq!(tab.text("h1").await, "Page not found");
    };
    journeys_in(places, &[DESK], &journey);
    journeys_in(places, &[PHONE], &journey);
    journeys_in(places, &["--blink-settings=scriptEnabled=false"], &async |tab: &Tab<'_>| {
        tab.open("/repos").await;
        tab.follow(".list a[href='/repos?sort=files']").await;
        assert_eq!(
            tab.text("[aria-sort=descending]").await.split_whitespace().next(),
            Some("Files")
        );
        assert_eq!(tab.text(".list tbody th").await, "one");
    });
}

#[test]
fn everyone_can_read_these_pages() {
    for size in [DESK, PHONE] {
        journeys_in(places, &[size], &async |tab: &Tab<'_>| {
            for page in POINTS {
                for theme in ["light", "dark"] {
                    tab.open(page).await;
                    tab.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                    tab.run("document.querySelectorAll('.fold').forEach((box) => { box.checked = true; }); document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
                    assert_eq!(tab.run(AUDIT).await, json!([]), "{page} {theme} {size}");
                }
            }
        });
    }
}
