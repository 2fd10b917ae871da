import http.server
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from lighthouse import checks, config, notify


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = 200 if self.path == "/healthz" else 503
        self.send_response(code)
        self.end_headers()
        self.wfile.write(b'{"status": "ok", "build": 123456789}')

    def log_message(self, *args):
        pass


class HttpTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Page)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def run_check(self, path, **extra):
        return checks.run_one(
            config.CheckConfig(name="page", kind="http", target=self.base + path, **extra)
        )

    def test_good_page(self):
        result = self.run_check("/healthz", expect="123456789")
        self.assertTrue(result.ok, result.detail)
        self.assertEqual(result.status, "ok")

    def test_missing_text(self):
        result = self.run_check("/healthz", expect="lantern lit")
        self.assertFalse(result.ok)
        self.assertIn("lantern lit", result.detail)

    def test_bad_status(self):
        result = self.run_check("/other")
        self.assertEqual((result.ok, result.detail), (False, "status 503"))


class TcpTest(unittest.TestCase):
    def test_open_and_closed(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            check = config.CheckConfig(name="port", kind="tcp", target=f"127.0.0.1:{port}")
            self.assertTrue(checks.run_one(check).ok)
        self.assertFalse(checks.run_one(check).ok)


class StateTest(unittest.TestCase):
    good = checks.Result("relay", True, "connected")
    bad = checks.Result("relay", False, "refused")

    def test_first_sight(self):
        self.assertEqual(notify.State().update([self.good], 100, 60), [])
        self.assertEqual(notify.State().update([self.bad], 100, 60), [self.bad])

    def test_change_and_repeat(self):
        state = notify.State()
        state.update([self.good], 100, 60)
        self.assertEqual(state.update([self.bad], 110, 60), [self.bad])
        self.assertEqual(state.update([self.bad], 150, 60), [])
        self.assertEqual(state.update([self.bad], 170, 60), [self.bad])
        self.assertEqual(state.entries["relay"]["since"], 110)
        self.assertEqual(state.update([self.good], 180, 60), [self.good])
        self.assertEqual(state.update([self.good], 900, 60), [])

    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deep" / "state.json"
            state = notify.State()
            state.update([self.bad], 100, 60)
            state.save(path)
            self.assertEqual(notify.State.load(path).entries, state.entries)

    def test_damaged_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.json"
            path.write_text("{")
            with self.assertLogs("lighthouse.notify", "WARNING"):
                self.assertEqual(notify.State.load(path).entries, {})


class ConfigTest(unittest.TestCase):
    check = {"name": "a", "kind": "tcp", "target": "host:25"}

    def assert_error(self, text, raw):
        with self.assertRaises(config.ConfigError) as caught:
            config.parse(raw)
        self.assertIn(text, str(caught.exception))

    def test_errors(self):
        self.assert_error("no [[check]]", {})
        self.assert_error("unknown table: chek", {"chek": []})
        self.assert_error("two checks", {"check": [self.check, self.check]})
        self.assert_error("target is missing", {"check": [{"name": "a", "kind": "tcp"}]})
        self.assert_error("colour", {"check": [self.check | {"colour": "red"}]})
        self.assert_error("host:port", {"check": [self.check | {"target": "host"}]})
        self.assert_error("at most 60", {"check": [self.check | {"timeout": 300}]})
        self.assert_error(
            "url must begin", {"check": [self.check], "notify": [{"kind": "webhook"}]}
        )

    def test_defaults(self):
        parsed = config.parse({"check": [self.check]})
        self.assertEqual(parsed.repeat_after, 3600)
        self.assertEqual([n.kind for n in parsed.notify], ["log"])


if __name__ == "__main__":
    unittest.main()
