"""The report's page in a real browser: light, dark and 400 px wide. It asks the network for nothing, and nothing is wider than
the screen but what scrolls by itself. Skipped where there is no Chromium. page_test.py PAGE [FOLDER for pictures]"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
LOOKS = {"light": (1000, 1), "dark": (1000, 0), "phone": (400, 1)}
# Added for the test only: measures the page, and leaves the answer where --dump-dom shows it.
PROBE = """<script>
const wide=[...document.querySelectorAll('main *')].filter(e=>!e.closest('.wide')&&!e.closest('svg')&&e.getBoundingClientRect().right>innerWidth+1);
const cut=[...document.querySelectorAll('svg text')].filter(e=>{const b=e.getBoundingClientRect(),s=e.closest('svg').getBoundingClientRect();return b.left<s.left-1||b.right>s.right+1});
document.body.dataset.probe=JSON.stringify({width:innerWidth,wide:wide.map(e=>e.tagName+' '+e.textContent.slice(0,40)),cut:cut.map(e=>e.textContent),
 background:getComputedStyle(document.body).backgroundColor,loaded:performance.getEntriesByType('resource').map(e=>e.name),tables:document.querySelectorAll('table').length,charts:document.querySelectorAll('svg').length});
</script>"""


def main():
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not browser:
        print("skipped: no Chromium here (apt-get install chromium)")
        return 77
    page = pathlib.Path(sys.argv[1]).resolve()
    wrong, backgrounds = [], {}
    with tempfile.TemporaryDirectory() as folder:
        probed = pathlib.Path(folder) / "page.html"
        probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
        for look, (width, scheme) in LOOKS.items():
            common = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/{look}",
                      f"--window-size={width},1400", f"--blink-settings=preferredColorScheme={scheme}"]
            dom = subprocess.run([*common, "--dump-dom", probed.as_uri()], capture_output=True, text=True, timeout=120).stdout
            if 'data-probe="' not in dom:
                wrong.append(f"{look}: the page did not load")
                continue
            answer = json.loads(dom.split('data-probe="')[1].split('"')[0].replace("&quot;", '"').replace("&amp;", "&"))
            backgrounds[look] = answer["background"]
            for kind in ("wide", "cut", "loaded"):
                wrong += [f"{look}: {kind}: {what}" for what in answer[kind]]
            if answer["tables"] < 6 or answer["charts"] < 2:
                wrong.append(f"{look}: only {answer['tables']} tables and {answer['charts']} charts")
            if len(sys.argv) > 2:
                subprocess.run([*common, f"--screenshot={sys.argv[2]}/{look}.png", page.as_uri()], capture_output=True, timeout=120)
    if backgrounds.get("light") == backgrounds.get("dark"):
        wrong.append(f"light and dark look the same: {backgrounds.get('light')}")
    print("\n".join(wrong) or f"the page is well in {', '.join(LOOKS)}")
    return 1 if wrong else 0


sys.exit(main())
