//! A small standard library. Each file has a trap for ranking in large trees.

/// Paths and texts.
pub(super) const FILES: [(&str, &str); 28] = [
    (
        "std/os/file.go",
        r"package os

// ReadFile reads the named file and returns what it holds.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// WriteFile writes data to the named file.
func WriteFile(name string, data []byte) error {
	return nil
}
",
    ),
    (
        "std/tools/vcs/host.go",
        r#"package vcs

// A Host reads files of a revision.
type Host struct{}

func (h *Host) ReadFile(rev, file string, max int) ([]byte, error) { return os.ReadFile(file) }

func check(h *Host) {
	h.ReadFile("a", "b", 1)
	h.ReadFile("a", "c", 1)
	h.ReadFile("a", "d", 1)
}
"#,
    ),
    (
        "std/ioutil/ioutil.go",
        r#"package ioutil

import "std/os"

// ReadFile hands over.
func ReadFile(name string) ([]byte, error) {
	return os.ReadFile(name)
}
"#,
    ),
    (
        "std/tools/use_a.go",
        r#"package tools

func a() {
	data, err := os.ReadFile("a")
	use(data, err)
}
"#,
    ),
    (
        "std/tools/use_b.go",
        r#"package tools

func b() {
	data, err := os.ReadFile("b")
	use(data, err)
	r := bufio.NewReader(f)
}
"#,
    ),
    (
        "std/tools/use_c.go",
        r"package tools

func c() {
	r := bufio.NewReader(f)
	json.Unmarshal(data, &v)
}
",
    ),
    (
        "std/tools/use_d.go",
        r"package tools

func d() {
	r := bufio.NewReader(f)
	json.Unmarshal(data, &w)
	xml.Unmarshal(data, &w)
}
",
    ),
    (
        "std/tools/read_the_file_list.md",
        r"How to read a file list: read it, then file it.
",
    ),
    (
        "std/bufio/bufio.go",
        r"package bufio

// Reader buffers another reader.
type Reader struct {
	buf []byte
	rd  io.Reader
}

// NewReader returns a Reader with a buffer of the usual size.
func NewReader(rd io.Reader) *Reader {
	return newSize(rd, 4096)
}
",
    ),
    (
        "std/tools/slice/slicereader.go",
        r"package slice

type Reader struct{ b []byte }

func NewReader(b []byte) *Reader { return &Reader{b} }
",
    ),
    (
        "std/io/io.go",
        r#"package io

// Reader is the interface of what can be read.
type Reader interface {
	Read(p []byte) (n int, err error)
}

// ErrUnexpectedEOF says that the end came too soon.
var ErrUnexpectedEOF = errors.New("unexpected EOF")
"#,
    ),
    (
        "std/tools/dwarf/type.go",
        r"package dwarf

// A Type is a type; an interface is a type, too. A Reader reads a type.
type Type interface {
	Common() *CommonType
}

type CommonType struct {
	Name   string
	Reader *Reader // the interface of the type
}
",
    ),
    (
        "std/encoding/json/decode.go",
        r"package json

// Unmarshal parses data and stores it in v.
func Unmarshal(data []byte, v any) error {
	var d decodeState
	return d.unmarshal(v)
}
",
    ),
    (
        "std/encoding/json/stream.go",
        r"package json

// A Decoder reads values from a stream.
type Decoder struct {
	r io.Reader
}

// NewDecoder returns a new decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: r}
}
",
    ),
    (
        "std/encoding/xml/read.go",
        r"package xml

// Unmarshal parses data and stores it in v.
func Unmarshal(data []byte, v any) error {
	return NewDecoder(bytes.NewReader(data)).Decode(v)
}
",
    ),
    (
        "std/tools/tenant/tenanttype/type.go",
        r"package tenanttype

// Unmarshal, Unmarshal and Unmarshal again: json and xml of a tenant, for its decoder.
func (t *Tenant) Unmarshal(data []byte) error { return json.Unmarshal(data, t) }
",
    ),
    (
        "std/tools/cover/json.go",
        r#"package cover

// json of a report, and the decoder of it.
func report() string {
	return "json decoder"
}
"#,
    ),
    (
        "std/net/http/server.go",
        r"package http

// A Handler responds to a request.
type Handler interface {
	ServeHTTP(ResponseWriter, *Request)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ResponseWriter, *Request)

// ServeHTTP calls f.
func (f HandlerFunc) ServeHTTP(w ResponseWriter, r *Request) {
	f(w, r)
}

// ServeHTTP dispatches the request.
func (mux *ServeMux) ServeHTTP(w ResponseWriter, r *Request) {
	h := mux.handler(r)
	h.ServeHTTP(w, r)
}

// A Server serves.
type Server struct {
	Addr string
}
",
    ),
    (
        "std/net/http/client.go",
        r"package http

// A Client asks servers.
type Client struct {
	Timeout Duration
}

// Get asks for an address.
func (c *Client) Get(url string) (*Response, error) {
	return c.do(url)
}
",
    ),
    (
        "std/tools/vcweb/insecure.go",
        r"package vcweb

func (h *insecure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.inner.ServeHTTP(w, r)
}
",
    ),
    (
        "std/tools/grpc/clientconn.go",
        r"package grpc

// Dial takes an http.Client, keeps the http.Client, and closes the http.Client.
func Dial(c *http.Client) {
	use(c)
}
",
    ),
    (
        "std/net/http/server_test.go",
        r"package http

type Server struct{}

func TestServer(t *testing.T) {
	s := &Server{}
	s.ServeHTTP(nil, nil)
}
",
    ),
    (
        "crate/src/fs.rs",
        r"//! Files.

use std::io;

/// Reads a directory.
pub fn read_dir(path: &Path) -> io::Result<ReadDir> {
    inner(path)
}

pub struct OpenOptions {
    read: bool,
}
",
    ),
    (
        "crate/src/walk.rs",
        r"use crate::fs::read_dir;

fn walk(path: &Path) {
    for entry in fs::read_dir(path) {
        walk(entry);
    }
    let open = OpenOptions { read: true };
}
",
    ),
    (
        "crate/src/lib.rs",
        r"pub mod fs;
mod walk;
pub use fs::read_dir;
pub use fs::OpenOptions;
",
    ),
    (
        "crate/vendor/old/fs.rs",
        r"pub fn read_dir(path: &str) {
    panic!()
}
",
    ),
    (
        "crate/tests/fs.rs",
        r#"fn read_dir() {
    fs::read_dir("x");
}
"#,
    ),
    (
        "crate/py/loader.py",
        r#"# Licence of the loader: read the terms of the loader before you use the loader.
import loader
from loader import loader as base


def main():
    loader("a")


class Loader:
    """A loader."""

    def load(self):
        loader("b")
        loader("c")
        loader("d")
        loader("e")
        loader("f")
        loader("g")
        loader("h")
        loader("i")
        loader("j")


def loader(name):
    return Loader()
"#,
    ),
];
