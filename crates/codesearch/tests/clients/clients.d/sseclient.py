"""sseclient-py reads /search/stream to its end."""
import json
import os

import requests
import sseclient

base = os.environ["BASE"]
answer = requests.get(f"{base}/search/stream", params={"q": "tide", "limit": 0}, stream=True, timeout=60)
events = [(event.event, json.loads(event.data), event.id) for event in sseclient.SSEClient(answer).events()]
assert answer.headers["content-encoding"] in ("gzip", "zstd"), answer.headers
assert events[0][0] == "begin" and events[-1][0] == "done" and events[-1][2] == "end", events
files = sum(len(data["files"]) for name, data, _ in events if name == "files")
whole = requests.get(f"{base}/search", params={"q": "tide", "limit": 0}, timeout=60).json()
assert files == len(whole["files"]) == events[-1][1]["stats"]["files"], (files, len(whole["files"]))
print(f"{files} files")
