"""ripgrepy, which runs rg --json, with codesearch search in the place of rg."""
import os

from ripgrepy import Ripgrepy

work, program = os.environ["WORK"], os.environ["CODESEARCH"]
rg = os.path.join(work, "rg")
with open(rg, "w") as script:
    # It appends the pattern and a path; the path is that of the index.
    script.write(f"""#!/usr/bin/env bash
args=("${{@:1:$#-2}}")
exec '{program}' search --limit 0 "${{args[@]}}" -e "${{@: -2:1}}"
""")
os.chmod(rg, 0o755)
found = Ripgrepy("[Tt]ide", os.environ["SAMPLE"], rg_path=rg).json().run().as_dict
assert found and all(match["type"] == "match" for match in found), found[:3]
for match in found:
    data = match["data"]
    for part in data["submatches"]:
        text = data["lines"]["text"].encode()[part["start"]:part["end"]].decode()
        assert text == part["match"]["text"] and text.lower() == "tide", match
print(f"{len(found)} matches")
