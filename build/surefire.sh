#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build/surefire.sh DIR…: sums the Surefire reports under each folder in Surefire's own words. A run without any
# executed test is a failure: a filter that matches nothing must not look green.
set -euo pipefail
python3 - "$@" <<'PY'
import pathlib, sys
import xml.etree.ElementTree as ET
total = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
slow = []
lost = []  # logs that differed once: no second try excuses that
for folder in sys.argv[1:]:
    for report in sorted(pathlib.Path(folder).glob("**/target/surefire-reports/TEST-*.xml")):
        suite = ET.parse(report).getroot()
        for key in total:
            total[key] += int(suite.get(key, 0))
        for case in suite.iter("testcase"):
            for flaky in case.findall("flakyFailure") + case.findall("flakyError"):
                said = (flaky.get("message") or "") + (flaky.text or "")
                first = said.strip().splitlines()[0] if said.strip() else ""
                print(f"  passed at the second try only: {case.get('classname')}.{case.get('name')}: {first}")
                if "Difference[" in said and "within" not in said:
                    lost.append(f"{case.get('classname')}.{case.get('name')}")
        slow.append((float(suite.get("time", "0").replace(",", "")), suite.get("name"), suite.get("tests")))
for seconds, name, tests in sorted(slow, reverse=True):
    print(f"  {seconds:7.1f} s  {tests:>3} tests  {name}")
print("Tests run: {tests}, Failures: {failures}, Errors: {errors}, Skipped: {skipped}".format(**total))
if total["tests"] - total["skipped"] <= 0:
    print("surefire: no test was executed in", *sys.argv[1:])
    sys.exit(1)
if lost:
    print("surefire: messages were lost, repeated or reordered at the first try of", *lost)
sys.exit(1 if total["failures"] or total["errors"] or lost else 0)
PY
