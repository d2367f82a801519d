package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium of 400 by 800 pixels. It is driven as the W3C says in "WebDriver":
// by JSON over HTTP to a chromedriver.
type browser struct {
	t       *testing.T
	session string // its address
}

// elementKey is the name under which WebDriver hands out an element.
const elementKey = "element-6066-11e4-a52e-4f735466cecf"

// newBrowser starts a browser that ends with the test, and holds that nothing of it is left then.
// Where there is no chromedriver the test is skipped.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	driver, err := exec.LookPath("chromedriver")
	if err != nil {
		t.Skip("there is no chromedriver, so the page is not tried in a browser: " +
			"install the packages chromium and chromium-driver of Debian, or any Chrome with its ChromeDriver")
	}
	home := t.TempDir()
	address, said := "", ""
	for try := 0; try < 5 && address == ""; try++ {
		address, said = startDriver(t, driver, home)
	}
	require.NotEmpty(t, address, "chromedriver does not start: %s", said)
	b := &browser{t: t, session: address + "/session"}
	args := []string{
		"--headless=new", "--user-data-dir=" + filepath.Join(home, "data"),
		"--no-sandbox",            // which root and containers cannot have; the only page is ours
		"--disable-dev-shm-usage", // which is small in containers
		"--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
	}
	var made struct{ SessionID string }
	b.do(http.MethodPost, "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome",
		"goog:chromeOptions": map[string]any{"args": args, "mobileEmulation": map[string]any{
			"deviceMetrics": map[string]any{"width": 400, "height": 800, "pixelRatio": 1, "mobile": true, "touch": false},
		}},
	}}}, &made)
	b.session += "/" + made.SessionID
	t.Cleanup(func() { b.do(http.MethodDelete, "", nil, nil) })
	return b
}

// startDriver starts a chromedriver with a home of its own, and returns its address; "" and what it
// said if it ends. It does if the port that it was given for IPv6 is in use for IPv4.
func startDriver(t *testing.T, driver, home string) (address, said string) {
	t.Helper()
	cmd := exec.Command(driver, "--port=0")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that what it starts is found
	out, in, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = in, in
	require.NoError(t, cmd.Start())
	require.NoError(t, in.Close())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = out.Close()
		noneIsLeft(t, cmd.Process.Pid, home)
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if port := startedOn.FindStringSubmatch(lines.Text()); port != nil {
			return "http://127.0.0.1:" + port[1], said
		}
	}
	return "", said
}

var startedOn = regexp.MustCompile(`started successfully on port (\d+)`)

// noneIsLeft holds that every process of a browser ends, and kills those that do not.
func noneIsLeft(t *testing.T, session int, home string) {
	t.Helper()
	var left map[int]string
	if assert.Eventually(t, func() bool {
		left = processesOf(session, home)
		return len(left) == 0
	}, time.Minute, 50*time.Millisecond) {
		return
	}
	for pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	require.Empty(t, left, "processes that a closed browser leaves")
}

// processesOf returns the processes that live in a session or with a home, with their commands.
func processesOf(session int, home string) map[int]string {
	found := map[int]string{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		stat, _ := os.ReadFile(filepath.Join(folder, "stat")) // pid (name) state parent group session …
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 4 || fields[0] == "Z" {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if fields[3] == strconv.Itoa(session) || bytes.Contains(command, []byte(home)) || bytes.Contains(environ, []byte("HOME="+home)) {
			pid, _ := strconv.Atoi(filepath.Base(folder))
			found[pid] = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// do makes a request below the session, and reads the value of the response.
func (b *browser) do(method, path string, body, value any) {
	b.t.Helper()
	require.NoError(b.t, b.try(method, path, body, value))
}

func (b *browser) try(method, path string, body, value any) error {
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body)
	}
	req, err := http.NewRequest(method, b.session+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Timeout: 2 * time.Minute}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, data)
	}
	return json.Unmarshal(data, &struct{ Value any }{value})
}

// open goes to an address.
func (b *browser) open(url string) {
	b.t.Helper()
	b.do(http.MethodPost, "/url", map[string]any{"url": url}, nil)
}

// reload does what the button of that name does.
func (b *browser) reload() {
	b.t.Helper()
	b.do(http.MethodPost, "/refresh", map[string]any{}, nil)
}

// find returns the elements of the page that a CSS selector names.
func (b *browser) find(selector string) (ids []string, err error) {
	var found []map[string]string
	err = b.try(http.MethodPost, "/elements", map[string]any{"using": "css selector", "value": selector}, &found)
	for _, e := range found {
		ids = append(ids, e[elementKey])
	}
	return ids, err
}

// one returns the only element that a CSS selector names, once there is one.
func (b *browser) one(selector string) string {
	b.t.Helper()
	var ids []string
	b.until(selector, func() (err error) {
		if ids, err = b.find(selector); err == nil && len(ids) != 1 {
			err = fmt.Errorf("there are %d", len(ids))
		}
		return err
	})
	return ids[0]
}

// click clicks on the only element that a CSS selector names.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do(http.MethodPost, "/element/"+b.one(selector)+"/click", map[string]any{}, nil)
}

// write types a text into the only element that a CSS selector names.
func (b *browser) write(selector, text string) {
	b.t.Helper()
	b.do(http.MethodPost, "/element/"+b.one(selector)+"/value", map[string]any{"text": text}, nil)
}

// texts returns what can be read in the elements that a CSS selector names.
func (b *browser) texts(selector string) ([]string, error) {
	ids, err := b.find(selector)
	texts := make([]string, len(ids))
	for i, id := range ids {
		if err == nil {
			err = b.try(http.MethodGet, "/element/"+id+"/text", nil, &texts[i])
		}
	}
	return texts, err
}

// reads waits until exactly these texts can be read in the elements that a CSS selector names.
func (b *browser) reads(selector string, want ...string) {
	b.t.Helper()
	b.until(selector, func() error {
		have, err := b.texts(selector)
		if err == nil && fmt.Sprintf("%q", have) != fmt.Sprintf("%q", want) {
			err = fmt.Errorf("it reads %q, not %q", have, want)
		}
		return err
	})
}

// until waits until something about the page is so.
func (b *browser) until(what string, isSo func() error) {
	b.t.Helper()
	err := isSo()
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = isSo() {
		time.Sleep(20 * time.Millisecond)
	}
	require.NoError(b.t, err, what)
}

// script runs JavaScript in the page, and reads what it returns.
func (b *browser) script(code string, value any) {
	b.t.Helper()
	b.do(http.MethodPost, "/execute/sync", map[string]any{"script": code, "args": []any{}}, value)
}
