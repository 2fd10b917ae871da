//! Small texts in each language: kinds, containers, and ends of definitions.

use query::SymbolKind;
use symbols::{Reason, Taken, take};

/// Returns a line for each symbol: its kind, its name after those of its containers, its line and its last line.
fn outline(language: &str, text: &str) -> Vec<String> {
    let Taken { symbols, given_up } = take(language, text).unwrap();
    assert_eq!(given_up, None);
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let lines: Vec<String> = symbols
        .iter()
        .map(|symbol| {
            let mut name = text[symbol.name.clone()].to_owned();
            let mut above = symbol.parent;
            while let Some(parent) = above {
                name = format!("{} > {name}", &text[symbols[parent].name.clone()]);
                above = symbols[parent].parent;
            }
            assert_eq!(line(symbol.name.start), symbol.line);
            format!("{} {name} {}-{}", symbol.kind.word(), symbol.line, line(symbol.end))
        })
        .collect();
    assert!(symbols.is_sorted_by(|a, b| a.name.start < b.name.start));
    lines
}

fn check(language: &str, text: &str, expected: &[&str]) {
    let found = outline(language, text);
    assert_eq!(found, expected, "{language}:\n{}", found.join("\n"));
}

#[test]
fn go() {
    check(
        "go",
        "package sail
type Ship struct {
\tName, Port string
}
type Mover interface{ Move(to string) error }
type Knots = int
const (
\tSlow = iota
\tFast
)
var fleet, spare []Ship
func (s *Ship) Move(to string) error {
\tlocal := func() {}
\treturn nil
}
func New[T any]() *Ship { return nil }
func (d Dock[T]) Free() {}
",
        &[
            "package sail 1-1",
            "struct Ship 2-4",
            "field Ship > Name 3-3",
            "field Ship > Port 3-3",
            "interface Mover 5-5",
            "method Mover > Move 5-5",
            "type Knots 6-6",
            "constant Slow 8-8",
            "constant Fast 9-9",
            "variable fleet 11-11",
            "variable spare 11-11",
            "method Ship > Move 12-15",
            "function New 16-16",
            "implementation Dock 17-17",
            "method Dock > Free 17-17",
        ],
    );
}

#[test]
fn rust() {
    check(
        "rust",
        "pub mod tide {
    pub struct Tide<T> { height: T }
    pub enum Phase { Ebb, Flow(u8) }
    union Raw { a: u8 }
}
trait Rise { type Unit; const MAX: u8; fn rise(&self); }
impl<T> Rise for tide::Tide<T> {
    fn rise(&self) {
        fn inner() {}
        let local = 1;
    }
}
static COUNT: u8 = 0;
type Alias = u8;
macro_rules! wave { () => {}; }
async fn run() {}
",
        &[
            "module tide 1-5",
            "struct tide > Tide 2-2",
            "field tide > Tide > height 2-2",
            "enum tide > Phase 3-3",
            "enum-member tide > Phase > Ebb 3-3",
            "enum-member tide > Phase > Flow 3-3",
            "union tide > Raw 4-4",
            "field tide > Raw > a 4-4",
            "trait Rise 6-6",
            "type Rise > Unit 6-6",
            "constant Rise > MAX 6-6",
            "method Rise > rise 6-6",
            "implementation tide > Tide 7-12",
            "method tide > Tide > rise 8-11",
            "function tide > Tide > rise > inner 9-9",
            "variable COUNT 13-13",
            "type Alias 14-14",
            "macro wave 15-15",
            "function run 16-16",
        ],
    );
}

#[test]
fn c() {
    check(
        "c",
        "#define LIMIT 10
#define MIN(a, b) ((a) < (b) ? (a) : (b))
struct ship { int sails; char *(*name)(void); };
typedef struct { int x; } point;
typedef unsigned long knots, *knots_ptr;
enum phase { EBB, FLOW = 2 };
union raw { int i; };
extern int elsewhere;
static int fleet[3], spare = 1;
int declared(struct ship *s);
static char *
move(struct ship *s)
{
#define INNER 1
    int local;
    return 0;
}
struct packed { int p; } __packed;
static __always_inline __alloc_size(1) void *allocate(int n)
{
    return 0;
}
static __u32 count;
",
        &[
            "macro LIMIT 1-2",
            "macro MIN 2-3",
            "struct ship 3-3",
            "field ship > sails 3-3",
            "field ship > name 3-3",
            "field point > x 4-4",
            "struct point 4-4",
            "type knots 5-5",
            "type knots_ptr 5-5",
            "enum phase 6-6",
            "enum-member phase > EBB 6-6",
            "enum-member phase > FLOW 6-6",
            "union raw 7-7",
            "field raw > i 7-7",
            "variable fleet 9-9",
            "variable spare 9-9",
            "function move 12-17",
            "macro move > INNER 14-15",
            "struct packed 18-18",
            "field packed > p 18-18",
            "function allocate 19-22",
            "variable count 23-23",
        ],
    );
}

#[test]
fn c_plus_plus() {
    let text = "namespace a::b {
class EXPORT Ship final : public Base {
 public:
  explicit Ship(int n);
  ~Ship();
  virtual int sails() const = 0;
  bool operator==(const Ship& o) const { return true; }
  int count_ = 0;
  SEA_EXPORT static bool afloat(int n);
  SEA_DEPRECATED(\"no\")
  SEA_INLINE std::string name() const;
};
template <typename T> struct Box { T value; };
using Knots = int;
int Ship::sails() const {
  return 1;
}
Ship::Ship(int n) {}
void Other::run() {}
void free_function() {}
int declared();
SEA_TYPE typed(int n) { return 0; }
}
";
    let expected = [
        "namespace a 1-23",
        "namespace a > b 1-23",
        "class a > b > Ship 2-12",
        "constructor a > b > Ship > Ship 4-4",
        "method a > b > Ship > ~Ship 5-5",
        "method a > b > Ship > sails 6-6",
        "method a > b > Ship > operator== 7-7",
        "field a > b > Ship > count_ 8-8",
        "method a > b > Ship > afloat 9-9",
        "method a > b > Ship > name 11-11",
        "struct a > b > Box 13-13",
        "field a > b > Box > value 13-13",
        "type a > b > Knots 14-14",
        "method a > b > Ship > sails 15-17",
        "constructor a > b > Ship > Ship 18-18",
        "implementation a > b > Other 19-19",
        "method a > b > Other > run 19-19",
        "function a > b > free_function 20-20",
        "function a > b > typed 22-22",
    ];
    check("c++", text, &expected);
    // A C++ header that is taken for C.
    check("c", text, &expected);
}

#[test]
fn python() {
    check(
        "python",
        "LIMIT = 3
fleet: list = []
a, b = 1, 2
square = lambda x: x * x
class Ship(Base):
    sails = 2
    crew: int
    def __init__(self):
        self.x = 1
        local = 2
    @property
    async def name(self):
        def inner(): pass
        return 1
def free(): pass
",
        &[
            "constant LIMIT 1-1",
            "variable fleet 2-2",
            "variable a 3-3",
            "variable b 3-3",
            "function square 4-4",
            "class Ship 5-14",
            "field Ship > sails 6-6",
            "field Ship > crew 7-7",
            "constructor Ship > __init__ 8-10",
            "method Ship > name 12-14",
            "function Ship > name > inner 13-13",
            "function free 15-15",
        ],
    );
}

#[test]
fn javascript() {
    check(
        "javascript",
        "const LIMIT = 3, move = (x) => { const local = 1; };
let fleet;
function run() { function inner() {} var local; }
class Ship extends Base {
  #crew = 1;
  static make = () => {};
  constructor() {}
  get sails() { return 1; }
}
const api = { open() {}, close: function () {}, size: 1 };
Ship.prototype.dock = function () {};
exports.start = () => {};
module.exports = class Port {};
describe('x', () => { const local = 1; });
export default function () {}
",
        &[
            "constant LIMIT 1-1",
            "function move 1-1",
            "variable fleet 2-2",
            "function run 3-3",
            "function run > inner 3-3",
            "class Ship 4-9",
            "field Ship > #crew 5-5",
            "method Ship > make 6-6",
            "constructor Ship > constructor 7-7",
            "method Ship > sails 8-8",
            "constant api 10-10",
            "method api > open 10-10",
            "method api > close 10-10",
            "method Ship > dock 11-11",
            "function start 12-12",
            "class Port 13-13",
        ],
    );
}

#[test]
fn typescript() {
    check(
        "typescript",
        "export interface Ship<T> { name: string; move(to: T): void }
export type Knots = number;
export enum Phase { Ebb, Flow = 2 }
export abstract class Boat implements Ship<string> {
  private crew: number = 1;
  abstract move(to: string): void;
}
namespace harbour { export const depth = 3; }
declare module 'port' { function open(): void; }
const cast = <any>window;
",
        &[
            "interface Ship 1-1",
            "property Ship > name 1-1",
            "method Ship > move 1-1",
            "type Knots 2-2",
            "enum Phase 3-3",
            "enum-member Phase > Ebb 3-3",
            "enum-member Phase > Flow 3-3",
            "class Boat 4-7",
            "field Boat > crew 5-5",
            "method Boat > move 6-6",
            "namespace harbour 8-8",
            "constant harbour > depth 8-8",
            "namespace port 9-9",
            "function port > open 9-9",
            "constant cast 10-10",
        ],
    );
    check(
        "typescript",
        "export const Page: FC<Props> = ({ a }) => <div>{a}<br/></div>;\nfunction Other<T,>() { return <b>x</b>; }\n",
        &["function Page 1-1", "function Other 2-2"],
    );
}

#[test]
fn java() {
    check(
        "java",
        "package com.sea.ship;
public class Ship<T> implements Moves {
    static final int LIMIT = 3;
    private int sails, masts;
    Ship() {}
    void move() { Runnable r = new Runnable() { public void run() {} }; }
    enum Phase { EBB, FLOW { void x() {} }; }
    interface Moves { int MAX = 1; void move(); }
    record Point(int x) {}
    @interface Mark { String value(); }
}
",
        &[
            "package com 1-1",
            "package com > sea 1-1",
            "package com > sea > ship 1-1",
            "class Ship 2-11",
            "constant Ship > LIMIT 3-3",
            "field Ship > sails 4-4",
            "field Ship > masts 4-4",
            "constructor Ship > Ship 5-5",
            "method Ship > move 6-6",
            "method Ship > move > run 6-6",
            "enum Ship > Phase 7-7",
            "enum-member Ship > Phase > EBB 7-7",
            "enum-member Ship > Phase > FLOW 7-7",
            "method Ship > Phase > FLOW > x 7-7",
            "interface Ship > Moves 8-8",
            "constant Ship > Moves > MAX 8-8",
            "method Ship > Moves > move 8-8",
            "class Ship > Point 9-9",
            "interface Ship > Mark 10-10",
            "method Ship > Mark > value 10-10",
        ],
    );
}

#[test]
fn c_sharp() {
    check(
        "c#",
        "using Alias = System.Int32;
namespace Sea.Ships;
public class Ship : Base {
    const int Limit = 3;
    private int sails;
    public string Name { get; set; }
    public event Handler Moved;
    public Ship() {}
    ~Ship() {}
    public static Ship operator +(Ship a, Ship b) => a;
    void IMoves.Move() { void Inner() {} }
}
public struct Point { public int X; }
interface IMoves { void Move(); }
enum Phase { Ebb, Flow = 2 }
delegate void Handler(int x);
record Log(string Text);
",
        &[
            "type Alias 1-1",
            "namespace Sea 2-18",
            "namespace Sea > Ships 2-18",
            "class Sea > Ships > Ship 3-12",
            "constant Sea > Ships > Ship > Limit 4-4",
            "field Sea > Ships > Ship > sails 5-5",
            "property Sea > Ships > Ship > Name 6-6",
            "field Sea > Ships > Ship > Moved 7-7",
            "constructor Sea > Ships > Ship > Ship 8-8",
            "method Sea > Ships > Ship > ~Ship 9-9",
            "method Sea > Ships > Ship > operator + 10-10",
            "method Sea > Ships > Ship > Move 11-11",
            "function Sea > Ships > Ship > Move > Inner 11-11",
            "struct Sea > Ships > Point 13-13",
            "field Sea > Ships > Point > X 13-13",
            "interface Sea > Ships > IMoves 14-14",
            "method Sea > Ships > IMoves > Move 14-14",
            "enum Sea > Ships > Phase 15-15",
            "enum-member Sea > Ships > Phase > Ebb 15-15",
            "enum-member Sea > Ships > Phase > Flow 15-15",
            "type Sea > Ships > Handler 16-16",
            "class Sea > Ships > Log 17-17",
        ],
    );
}

#[test]
fn ruby() {
    check(
        "ruby",
        "module Sea
  LIMIT = 3
  class Port::Ship < Base
    attr_reader :sails, :masts
    def initialize(a)
    end
    def self.make; end
    def moved?
      local = 1
    end
    alias_method :dock, :moved?
  end
end
def free; end
",
        &[
            "module Sea 1-13",
            "constant Sea > LIMIT 2-2",
            "implementation Sea > Port 3-3",
            "class Sea > Port > Ship 3-12",
            "property Sea > Port > Ship > sails 4-4",
            "property Sea > Port > Ship > masts 4-4",
            "constructor Sea > Port > Ship > initialize 5-6",
            "method Sea > Port > Ship > make 7-7",
            "method Sea > Port > Ship > moved? 8-10",
            "method Sea > Port > Ship > dock 11-11",
            "function free 14-14",
        ],
    );
}

#[test]
fn php() {
    check(
        "php",
        "<?php
namespace Sea\\Ships;
define('LIMIT', 3);
const SPARE = 1;
abstract class Ship extends Base implements Moves {
    const MAX = 2;
    private static ?int $sails = 1;
    public function __construct(private int $crew) {}
    abstract function move(): void;
}
interface Moves { function move(): void; }
trait Docks { function dock() {} }
enum Phase: string { case Ebb = 'e'; }
function free() { $local = 1; }
",
        &[
            "namespace Sea 2-15",
            "namespace Sea > Ships 2-15",
            "constant Sea > Ships > LIMIT 3-3",
            "constant Sea > Ships > SPARE 4-4",
            "class Sea > Ships > Ship 5-10",
            "constant Sea > Ships > Ship > MAX 6-6",
            "field Sea > Ships > Ship > sails 7-7",
            "constructor Sea > Ships > Ship > __construct 8-8",
            "field Sea > Ships > Ship > __construct > crew 8-8",
            "method Sea > Ships > Ship > move 9-9",
            "interface Sea > Ships > Moves 11-11",
            "method Sea > Ships > Moves > move 11-11",
            "trait Sea > Ships > Docks 12-12",
            "method Sea > Ships > Docks > dock 12-12",
            "enum Sea > Ships > Phase 13-13",
            "enum-member Sea > Ships > Phase > Ebb 13-13",
            "function Sea > Ships > free 14-14",
        ],
    );
}

#[test]
fn kotlin() {
    check(
        "kotlin",
        "@file:JvmName(\"Ships\")
package com.sea
const val LIMIT = 3
val fleet = 1
typealias Knots = Int
@RunWith(Fast::class)
data class Ship(val name: String, crew: Int) : Base() {
    var sails = 1
    constructor() : this(\"\", 1)
    @Test fun move() { val local = 1 }
    companion object { const val MAX = 1 }
}
interface Moves {
    fun move()
}
enum class Phase { EBB, FLOW }
object Harbour {
    fun open() {}
}
fun String.shout() = this
",
        &[
            "package com 2-2",
            "package com > sea 2-2",
            "constant LIMIT 3-3",
            "variable fleet 4-4",
            "type Knots 5-5",
            "class Ship 7-12",
            "property Ship > name 7-7",
            "property Ship > sails 8-8",
            "constructor Ship > constructor 9-9",
            "method Ship > move 10-10",
            "constant Ship > MAX 11-11",
            "interface Moves 13-15",
            "method Moves > move 14-14",
            "enum Phase 16-16",
            "enum-member Phase > EBB 16-16",
            "enum-member Phase > FLOW 16-16",
            "class Harbour 17-19",
            "method Harbour > open 18-18",
            "function shout 20-20",
        ],
    );
    // Keywords that are names.
    check(
        "kotlin",
        "class Soft {
    val fixed = pack(message { data = 5 })
    fun fill() {
        sealed = data.open(value)
        in_ = 1
        by = 2
    }
}
",
        &["class Soft 1-8", "property Soft > fixed 2-2", "method Soft > fill 3-7"],
    );
}

#[test]
fn swift() {
    check(
        "swift",
        "typealias Handler = (Int) -> Void
let top = 1
protocol Moves { associatedtype To; var name: String { get }; func move(to: To) -> Bool }
final class Ship: Moves {
    let a = 1, b = 2
    init(a: Int) { let local = 1 }
    func move(to: Int) -> Bool { func inner() {}; return true }
    enum Phase: String { case ebb = \"e\", flow }
    struct Point { var x: Int }
}
extension Port.Dock { func open() {} }
func ==(l: Ship, r: Ship) -> Bool { true }
",
        &[
            "type Handler 1-1",
            "variable top 2-2",
            "interface Moves 3-3",
            "type Moves > To 3-3",
            "property Moves > name 3-3",
            "method Moves > move 3-3",
            "class Ship 4-10",
            "property Ship > a 5-5",
            "property Ship > b 5-5",
            "constructor Ship > init 6-6",
            "method Ship > move 7-7",
            "function Ship > move > inner 7-7",
            "enum Ship > Phase 8-8",
            "enum-member Ship > Phase > ebb 8-8",
            "enum-member Ship > Phase > flow 8-8",
            "struct Ship > Point 9-9",
            "property Ship > Point > x 9-9",
            "implementation Port 11-11",
            "implementation Port > Dock 11-11",
            "method Port > Dock > open 11-11",
            "function == 12-12",
        ],
    );
}

#[test]
fn scala() {
    check(
        "scala",
        "package com.sea
trait Moves[A] { def move(x: Int): Int; val v: Int; type X = Int }
case class Ship(a: Int) extends Moves[Int] {
  val (q, r) = (1, 2)
  var z = 3
  def move(x: Int) = { def inner = 1; val local = 2; inner }
}
object Harbour { def +(o: Int) = o; run { case x => val local = x; local } }
enum Phase { case Ebb, Flow; case Other(x: Int) }
",
        &[
            "package com 1-1",
            "package com > sea 1-1",
            "trait Moves 2-2",
            "method Moves > move 2-2",
            "field Moves > v 2-2",
            "type Moves > X 2-2",
            "class Ship 3-7",
            "field Ship > q 4-4",
            "field Ship > r 4-4",
            "field Ship > z 5-5",
            "method Ship > move 6-6",
            "function Ship > move > inner 6-6",
            "class Harbour 8-8",
            "method Harbour > + 8-8",
            "enum Phase 9-9",
            "enum-member Phase > Ebb 9-9",
            "enum-member Phase > Flow 9-9",
            "enum-member Phase > Other 9-9",
        ],
    );
}

#[test]
fn shell() {
    check(
        "shell",
        "#!/bin/bash
PORT=80
readonly LIMIT=3
export HOME_PORT=x
alias ll='ls -l'
function move {
  local x=1
  INNER=2
}
dock-now() { :; }
DEBUG=1 make
PORT=81
HOME_PORT+=y
",
        &[
            "variable PORT 2-2",
            "constant LIMIT 3-3",
            "variable HOME_PORT 4-4",
            "function ll 5-5",
            "function move 6-9",
            "function dock-now 10-10",
        ],
    );
}

#[test]
fn lua() {
    check(
        "lua",
        "local M = {}
local limit = 3
local function helper() end
function M.open(a) local x = function() end end
function M:close() end
M.start = function() end
limit = limit + 1
each(function() count = 1 end)
return { stop = function() end, ['go'] = function() end }
",
        &[
            "variable M 1-1",
            "variable limit 2-2",
            "function helper 3-3",
            "method M > open 4-4",
            "function M > open > x 4-4",
            "method M > close 5-5",
            "method M > start 6-6",
            "method stop 9-9",
            "method go 9-9",
        ],
    );
}

/// Returns the symbols of a text as `outline` does, without kinds and lines.
fn names(language: &str, text: &str) -> Vec<String> {
    let name = |line: &String| {
        let (_, rest) = line.split_once(' ').unwrap();
        rest.rsplit_once(' ').unwrap().0.to_owned()
    };
    outline(language, text).iter().map(name).collect()
}

#[test]
fn c_with_comments_in_macros() {
    let text = "#define X(a) \\
  do { \\
    /* one */ \\
    f(a); \\
    /* two
       lines */ \\
    g(a); /* it's */ \\
  } while (0) // and /* no end
static int after(int a) { return a; }
#define Y /* c */ 5
struct ship { int sails; };
";
    let expected = ["X", "after", "Y", "ship", "ship > sails"];
    assert_eq!(names("c", text), expected);
    assert_eq!(names("c", &text.replace('\n', "\r\n")), expected);
    assert_eq!(names("c++", text), expected);
    let text = "#define M(x) \\\n  // a class \\\n  /* b */ class x\nclass Ship { int k; };\n";
    assert_eq!(names("c++", text), ["M", "Ship", "Ship > k"]);
}

#[test]
fn c_with_annotations() {
    let text = "noinline int __cpuinit f1(void)
{
	return 0;
}
asmlinkage ssize_t __init f2(int a) { return 0; }
static int v1 __read_mostly = 5;
int __initdata v2;
static const struct abc v3[] __initconst = { { 1 } };
void __attribute__((noreturn)) f3(void) { for (;;); }
int f4(void) __must_check __acquires(l) { return 1; }
struct __packed s1 { int a; };
EXPORT_SYMBOL(f4)
int WINAPI f5(void) { return 0; }
module_init(f5)
static int f6(void) { return 0; }
_Static_assert(sizeof(int) == 4, \"x\");
int v4 = ({ int z = 1; z; });
int old(a, b)
	int a;
	char *b;
{
	return a;
}
";
    let expected =
        ["f1", "f2", "v1", "v2", "v3", "f3", "f4", "s1", "s1 > a", "f5", "f6", "v4", "old"];
    assert_eq!(names("c", text), expected);
}

#[test]
fn c_with_conditions_that_are_no_whole_statements() {
    let text = "int chain(int a)
{
#ifndef FOO
	if (a == 1) {
		x();
	} else
#endif
	if (a == 2) {
		y();
	}
#ifdef B
	else if (a == 3) {
		z();
	}
#endif
	else {
		w();
	}
	return 0;
}
#ifdef A
int two(int a) {
#else
int two(void) {
#endif
	return 1;
}
int after;
int last(int a
#ifdef X
	, int b
#endif
) { return a; }
#ifdef A
  static
#endif
int more(void) { return 1; }
#if 0
 nothing { that's code
#endif
#ifdef __cplusplus
extern \"C\" {
#endif
int inner(void) { return 1; }
#ifdef __cplusplus
}
#endif
enum e { A1,
#ifdef Q
  A2,
#else
  A3,
#endif
};
#ifdef P
int p(void) { return 1; }
#else
int q(void) { return 1; }
#endif
int g(void)
{
#ifdef A
	if (a) {
#endif
		b();
#ifndef A
	c();
#else
	}
#endif
}
int end(void) { return 0; }
";
    let expected = [
        "chain", "two", "after", "last", "more", "inner", "e", "e > A1", "e > A2", "e > A3", "p",
        "q", "g", "end",
    ];
    assert_eq!(names("c", text), expected);
}

#[test]
fn c_with_declarators_of_all_kinds() {
    let text = "int (*f1(int n))(void) { return 0; }
int (*v1)(void);
int (*v2[3])(int);
int (*f2(void))[3] { return 0; }
char *(*(*v3)(int))(void);
int (f3)(int a) { return a; }
";
    assert_eq!(names("c", text), ["f1", "v1", "v2", "f2", "v3", "f3"]);
    assert_eq!(names("c++", text), ["f1", "v1", "v2", "f2", "v3", "f3"]);
}

#[test]
fn c_plus_plus_with_operators() {
    let text = "class A {
  explicit operator bool() const { int local = 1; return local; }
  operator const char *() const;
  bool operator()(int a) const { return true; }
  int& operator[](int i);
  void* operator new[](size_t n);
  auto operator<=>(const A&) const = default;
};
B::operator bool() const { int local = 0; return true; }
long double operator\"\"_km(long double v) { return v; }
auto v = [](int a) { int local; return a; };
void C::D::f() {}
class n::E { int x; };
";
    let expected = [
        "A",
        "A > operator bool",
        "A > operator const char *",
        "A > operator()",
        "A > operator[]",
        "A > operator new[]",
        "A > operator<=>",
        "B",
        "B > operator bool",
        "operator\"\"_km",
        "v",
        "C",
        "C > D",
        "C > D > f",
        "n",
        "n > E",
        "n > E > x",
    ];
    assert_eq!(names("c++", text), expected);
}

#[test]
fn c_plus_plus_with_macros_of_a_framework() {
    let text = "QT_BEGIN_NAMESPACE
class EXPORT_API Window final : public Base<int>
{
    Q_OBJECT
    Q_PROPERTY(bool x READ x WRITE setX)
public:
    explicit Window(Widget *parent = nullptr);
public slots:
    void onClick();
Q_SIGNALS:
    void clicked(int a);
signals:
    void other();
private Q_SLOTS:
    void own() Q_DECL_OVERRIDE { }
protected:
    Q_DISABLE_COPY(Window)
    int m_last;
};
struct DECL(x) Gadget { int g; };
";
    let expected = [
        "Window",
        "Window > Window",
        "Window > onClick",
        "Window > clicked",
        "Window > other",
        "Window > own",
        "Window > m_last",
        "Gadget",
        "Gadget > g",
    ];
    assert_eq!(names("c++", text), expected);
}

#[test]
fn qualified_names_are_in_what_qualifies_them() {
    for (language, text, expected) in [
        (
            "ruby",
            "class A::B::C\n  def d; end\nend\nA::D = 1\ndef A.f; end\n",
            "A,A > B,A > B > C,A > B > C > d,A > D,A > f",
        ),
        ("c#", "namespace A.B { class C {} }\n", "A,A > B,A > B > C"),
        ("php", "<?php\nnamespace A\\B { class C {} }\n", "A,A > B,A > B > C"),
        ("lua", "function a.b.c() end\nfunction a.b:d() end\n", "a,a > b,a > b > c,a > b > d"),
        (
            "javascript",
            "A.B.c = function () {};\nA.B.prototype.d = function () {};\n",
            "A,A > B,A > B > c,A > B > d",
        ),
        (
            "typescript",
            "namespace a.b.c { export const d = 1; }\n",
            "a,a > b,a > b > c,a > b > c > d",
        ),
        ("c++", "template <class T> void A<x::y>::B::f() {}\n", "A,A > B,A > B > f"),
        ("rust", "impl a::b::C { fn d() {} }\n", "a,a > b,a > b > C,a > b > C > d"),
    ] {
        let found: Vec<String> = names(language, text);
        let mut once: Vec<&str> = found.iter().map(String::as_str).collect();
        once.dedup();
        assert_eq!(once.join(","), expected, "{language}");
    }
}

#[test]
fn kotlin_in_one_line() {
    let text = "class A { val a = 1 ; fun b() = 2 ; fun c() { } ; val d = 3 }
object O { fun x() {} ; fun y() {} }
interface I { fun p() ; fun q() }
enum class E { X, Y ; fun e() {} }
class C { companion object { const val Q = 1 ; val R = 2 } ; fun last() {} }
fun top() = 1 ; val v = \"a ; b\" ; val w = 2
class G { var g = 1 ; private set ; val h: Int get() = 2 ;; fun i() {} }
";
    let expected = [
        "A", "A > a", "A > b", "A > c", "A > d", "O", "O > x", "O > y", "I", "I > p", "I > q", "E",
        "E > X", "E > Y", "E > e", "C", "C > Q", "C > R", "C > last", "top", "v", "w", "G",
        "G > g", "G > h", "G > i",
    ];
    assert_eq!(names("kotlin", text), expected);
}

/// Checks that keywords which may be names in some places are kept there, and others are never names.
#[test]
fn reserved_words_are_names_only_where_the_language_lets_them() {
    for (language, text, expected) in [
        (
            "javascript",
            "class A { delete() {} static new = 1 }\nexports.default = () => {};\n",
            "A,A > delete,A > new,default",
        ),
        ("typescript", "interface A { delete(): void; new: number }\n", "A,A > delete,A > new"),
        ("ruby", "def class; end\nclass A\n  def end; end\nend\n", "class,A,A > end"),
        ("kotlin", "fun `class`() {}\n", "`class`"),
        ("c#", "class @class { int @int; }\n", "@class,@class > @int"),
        ("rust", "fn r#type() {}\nfn union() {}\n", "r#type,union"),
        ("php", "<?php\nclass A { function list() {} const FOR = 1; }\n", "A,A > list,A > FOR"),
        ("python", "def match(): pass\ntype = 1\n", "match,type"),
        ("go", "package p\nfunc len() {}\n", "p,len"),
        ("c", "#define inline\nstruct a { int class, new; };\n", "inline,a,a > class,a > new"),
        ("shell", "done=1\n", "done"),
        ("scala", "class A(a: Int) { def this() = this(1) }\n", "A,A > this"),
    ] {
        assert_eq!(names(language, text).join(","), expected, "{language}");
    }
    for text in
        ["int f() {\n} else if (x) {\n}\n", "switch (a) { case 1: { } }\n", "int int(void) { }\n"]
    {
        for language in ["c", "c++"] {
            let words = ["if", "else", "int", "switch", "case", "return"];
            let found = names(language, text);
            assert!(!found.iter().any(|name| words.contains(&name.as_str())), "{text}: {found:?}");
        }
    }
}

#[test]
fn markdown() {
    check(
        "markdown",
        "---
title: x
---
# The *sea*
text
## [Ships](x.md)

```
# no heading
```
### Sails
Second
------
",
        &[
            "heading The *sea* 4-14",
            "heading The *sea* > Ships 6-12",
            "heading The *sea* > Ships > Sails 11-12",
            "heading The *sea* > Second 12-14",
        ],
    );
}

#[test]
fn a_language_without_symbols_has_none() {
    assert_eq!(take("plain text", "fn x() {}"), None);
    assert!(symbols::languages().contains(&"rust") && !symbols::languages().contains(&"json"));
}

#[test]
fn what_a_text_must_not_be_is_said() {
    let given_up = |language: &str, text: &str| take(language, text).unwrap().given_up;
    let large = "// a line\n".repeat(symbols::MAX_BYTES / 10 + 1);
    assert_eq!(given_up("go", &large), Some(Reason::TooLarge));
    assert_eq!(given_up("javascript", &"var a=1;".repeat(100)), Some(Reason::Minified));
    assert_eq!(
        given_up("c", &format!("int x = \n{};", "(\n".repeat(501))),
        Some(Reason::TooNested)
    );
    let long = format!("fn a() {{}}\nfn {}() {{}}\n{}", "x".repeat(1001), "\n".repeat(20));
    let taken = take("rust", &long).unwrap();
    assert_eq!((taken.symbols.len(), taken.given_up), (1, Some(Reason::LongName)));
    let many = "a=1\n".repeat(40_000);
    let taken = take("python", &many).unwrap();
    assert_eq!((taken.symbols.len(), taken.given_up), (32_767, Some(Reason::TooMany)));
    assert_eq!(taken.symbols[0].kind, SymbolKind::Variable);
}

/// Tests texts that make parsers slow or fill stacks. They are short here: longer ones are parsed in a separate
/// process.
#[test]
fn hostile_texts_end() {
    let units = [
        "(",
        "[",
        "{",
        "<",
        "if x\n",
        "if (x) ",
        "a ? ",
        "!",
        "- ",
        "x = ",
        "x.",
        "not ",
        "else ",
        "`",
        "\"",
        "${",
        "$(",
        "#{",
        "/*",
        "case x:",
        "class A {\n",
        "class A\n",
        "def f\n",
        "fn f() {\n",
        "do ",
        "function(){",
        "<a>",
        "@",
        "#if x\n",
        "begin ",
        "end ",
        "}",
        ")",
        "]",
        "\\\n",
        "'",
        "int ",
        "template<",
        "a<b",
        "*",
        "&",
        ": ",
        ", ",
        "=> ",
        "-> ",
        "f(g,",
        "# ",
        "> ",
        "* ",
        "\u{e9}",
        "\t",
        "\r",
    ];
    for language in symbols::languages() {
        for unit in units {
            take(language, &unit.repeat(400 / unit.len())).unwrap();
            let lines = format!("{}\n", unit.repeat(8)).repeat(300 / unit.len());
            take(language, &lines).unwrap();
        }
    }
}

#[cfg(feature = "all-languages")]
mod rarer {
    use super::check;

    #[test]
    fn haskell() {
        check(
            "haskell",
            "module Sea.Ship where
import Data.List
data Ship = Ship { sails :: Int, name :: String } | Wreck
newtype Knots = Knots Int
type Crew = [String]
class Moves a where
  move :: a -> Int
move' :: Int -> Int
move' 0 = 1
move' n = n
free = 1
",
            &[
                "implementation Sea 1-1",
                "module Sea > Ship 1-1",
                "type Ship 3-3",
                "enum-member Ship > Ship 3-3",
                "field Ship > Ship > sails 3-3",
                "field Ship > Ship > name 3-3",
                "enum-member Ship > Wreck 3-3",
                "type Knots 4-4",
                "enum-member Knots > Knots 4-4",
                "type Crew 5-5",
                "trait Moves 6-7",
                "method Moves > move 7-7",
                "function move' 8-8",
                "function free 11-11",
            ],
        );
    }

    #[test]
    fn ocaml() {
        check(
            "ocaml",
            "type ship = { sails : int }
type phase = Ebb | Flow of int
let limit = 3
let rec move x = let local = 1 in local
module Sea = struct let f = fun x -> x end
external now : unit -> int = \"now\"
class boat = object method sail = 1 end
",
            &[
                "type ship 1-1",
                "field ship > sails 1-1",
                "type phase 2-2",
                "enum-member phase > Ebb 2-2",
                "enum-member phase > Flow 2-2",
                "variable limit 3-3",
                "function move 4-4",
                "module Sea 5-5",
                "function Sea > f 5-5",
                "function now 6-6",
                "class boat 7-7",
                "method boat > sail 7-7",
            ],
        );
        check("ocaml", "val move : int -> int\ntype t\n", &["function move 1-1", "type t 2-2"]);
    }

    #[test]
    fn erlang() {
        check(
            "erlang",
            "-module(ship).
-define(LIMIT, 3).
-record(ship, {sails, name}).
-type knots() :: integer().
move(0) -> 1;
move(N) -> N.
move(N, M) -> N + M.
",
            &[
                "module ship 1-1",
                "macro LIMIT 2-2",
                "struct ship 3-3",
                "field ship > sails 3-3",
                "field ship > name 3-3",
                "type knots 4-4",
                "function move 5-5",
                "function move 7-7",
            ],
        );
    }

    #[test]
    fn elixir() {
        check(
            "elixir",
            "defmodule Sea.Ship do
  @limit 3
  @type t :: integer
  defstruct [:sails]
  def move(x) when x > 1, do: x
  defp stop, do: 1
  defmacro go(x) do
    x
  end
end
",
            &[
                "implementation Sea 1-10",
                "module Sea > Ship 1-10",
                "constant Sea > Ship > limit 2-2",
                "type Sea > Ship > t 3-3",
                "function Sea > Ship > move 5-5",
                "function Sea > Ship > stop 6-6",
                "macro Sea > Ship > go 7-9",
            ],
        );
    }

    #[test]
    fn zig() {
        check(
            "zig",
            "const limit = 3;
pub const Ship = struct {
    sails: u8,
    pub fn move(self: Ship) void { const local = 1; _ = local; }
};
const Phase = enum { ebb, flow };
fn free() void {}
",
            &[
                "constant limit 1-1",
                "struct Ship 2-5",
                "field Ship > sails 3-3",
                "method Ship > move 4-4",
                "enum Phase 6-6",
                "field Phase > ebb 6-6",
                "field Phase > flow 6-6",
                "function free 7-7",
            ],
        );
    }

    #[test]
    fn sql() {
        check(
            "sql",
            "create table sea.ships (id int primary key, name text);
create view fleet as select 1;
create index ships_name on ships (name);
create function move(x int) returns int as $$ select 1 $$ language sql;
",
            &[
                "implementation sea 1-1",
                "struct sea > ships 1-1",
                "field sea > ships > id 1-1",
                "field sea > ships > name 1-1",
                "struct fleet 2-2",
                "variable ships_name 3-3",
                "function move 4-4",
            ],
        );
    }

    #[test]
    fn protocol_buffer() {
        check(
            "protocol buffer",
            "syntax = \"proto3\";
package sea.ship;
message Ship {
  string name = 1;
  oneof kind { int32 sails = 2; }
  enum Phase { EBB = 0; }
}
service Harbour { rpc Move (Ship) returns (Ship); }
",
            &[
                "package sea 2-2",
                "package sea > ship 2-2",
                "struct Ship 3-7",
                "field Ship > name 4-4",
                "field Ship > kind 5-5",
                "field Ship > kind > sails 5-5",
                "enum Ship > Phase 6-6",
                "enum-member Ship > Phase > EBB 6-6",
                "interface Harbour 8-8",
                "method Harbour > Move 8-8",
            ],
        );
    }
}
