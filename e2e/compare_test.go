package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestComparisonPageIsReadFromTheKeyboard opens the page of a test run of two
// recordings in a browser: the one that differs is open and says why, both are
// reached and opened by keys, and nobody is asked for anything.
func TestComparisonPageIsReadFromTheKeyboard(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	n := overStdio(t)
	evil := `take two notes </pre><script>document.title="owned"</script><img src="` + n.up.URL() + `/x.png">`
	n.must(0, n.with([]string{"record"}, "-prompt", "take two notes")...)
	n.must(0, "export", "last", "-o", "other.reprise")
	n.must(0, n.with([]string{"record"}, "-prompt", evil)...)
	n.must(0, "export", "last", "-o", "same.reprise")
	asked := len(n.up.Requests())
	n.must(1, n.with([]string{"test", "other.reprise", "same.reprise", "--html", "test.html"}, "-prompt", evil)...)

	var mu sync.Mutex
	var sent []string
	err := chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, e.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	page := "file://" + filepath.Join(n.dir, "test.html")
	look(ctx, t, chromedp.Navigate(page))
	heads := look(ctx, t, chromedp.Evaluate[[]row](`[...document.querySelectorAll("details.case > summary")].map(s => {
		const r = s.getBoundingClientRect();
		return { Text: s.innerText, X: r.x, Y: r.y, Width: r.width, Height: r.height };
	})`))
	if len(heads) != 2 || !strings.Contains(heads[0].Text, "other.reprise") || !strings.Contains(heads[0].Text, "cause: messages[") {
		t.Fatalf("the page has the cases %+v, want two, the first with its cause", heads)
	}
	shot := look(ctx, t, chromedp.CaptureScreenshot())
	for i, h := range heads {
		if h.Width < 400 || h.Height < 15 || h.X < 0 || h.X+h.Width > 1280 {
			t.Errorf("case %d is laid out at %+v", i, h)
		}
		if h.Y+h.Height < 800 && !inked(t, shot, h) {
			t.Errorf("case %d at %+v is blank on the screenshot", i, h)
		}
	}
	is := func(what, script string, want int) {
		t.Helper()
		if got := look(ctx, t, chromedp.Evaluate[int](script)); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	const open = `document.querySelectorAll("details.case[open]").length`
	const focused = `[...document.querySelectorAll("details.case > summary")].indexOf(document.activeElement)`
	is("cases that are open", open, 1)
	is("both sides of the changed prompt", `+(document.querySelectorAll("table.sides td.was").length > 0 && document.querySelectorAll("table.sides td.now").length > 0)`, 1)
	look(ctx, t, chromedp.KeyEvent("j"))
	is("j goes to the first case", focused, 0)
	look(ctx, t, chromedp.KeyEvent("j"))
	is("j goes on", focused, 1)
	look(ctx, t, chromedp.KeyEvent("\r"))
	is("Enter opens it", open, 2)
	look(ctx, t, chromedp.KeyEvent("k"))
	is("k goes back", focused, 0)
	look(ctx, t, chromedp.KeyEvent("\r"))
	is("Enter closes it", open, 1)
	look(ctx, t, chromedp.KeyEvent("\t"))
	if n := look(ctx, t, chromedp.Evaluate[int](focused)); n == 0 {
		t.Error("Tab stays where it was")
	}
	is("wider than the window", `+(document.documentElement.scrollWidth > innerWidth)`, 0)

	if title := look(ctx, t, chromedp.Title()); strings.Contains(title, "owned") {
		t.Error("a prompt ran as a script on the page")
	}
	time.Sleep(200 * time.Millisecond) // for requests that should not come
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(sent, []string{page}) || len(n.up.Requests()) != asked {
		t.Errorf("the page sent %q, want nothing but itself", sent)
	}
}
