package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// browser starts a headless browser, or skips if there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium")
	}
	// It keeps its own folder, which is removed when its last process has ended:
	// some write to it for a moment after the browser is gone.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(limit),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := context.WithTimeout(t.Context(), limit)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return ctx
}

// look runs one action in the browser.
func look[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// row is a call on the page, as the browser has laid it out.
type row struct {
	Text                string
	X, Y, Width, Height float64
}

const rowsScript = `[...document.querySelectorAll("main details.call > summary")].map(s => {
	const r = s.getBoundingClientRect();
	return { Text: s.innerText, X: r.x, Y: r.y, Width: r.width, Height: s.parentElement.hidden ? 0 : r.height };
})`

// TestPageShowsEveryCallAndAsksNobody opens the page of a run in a browser.
func TestPageShowsEveryCallAndAsksNobody(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	n := overStdio(t)
	// What a model is told must not act on the page that shows it.
	prompt := `take two notes </pre><script>document.title="owned"</script><img src="` + n.up.URL() + `/x.png">`
	n.must(0, n.with([]string{"record"}, "-prompt", prompt)...)
	asked := len(n.up.Requests())
	n.must(0, "show", "last", "--html", "run.html")
	calls := n.calls("last")

	var mu sync.Mutex
	var sent, problems []string
	err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			sent = append(sent, e.Request.URL)
		case *network.EventLoadingFailed:
			problems = append(problems, e.ErrorText)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	page := "file://" + filepath.Join(n.dir, "run.html")
	look(ctx, t, chromedp.Navigate(page))
	rows := look(ctx, t, chromedp.Evaluate[[]row](rowsScript))
	if len(rows) != len(calls) || len(rows) < 8 {
		t.Fatalf("the page has %d rows, want one for each of the %d calls, which are at least 8", len(rows), len(calls))
	}
	shot := look(ctx, t, chromedp.CaptureScreenshot())
	for i, r := range rows {
		if !strings.Contains(r.Text, calls[i].Name) {
			t.Errorf("row %d is %q, want the call %s", i, r.Text, calls[i].Name)
		}
		if r.Width < 400 || r.Height < 15 || r.X < 0 || r.X+r.Width > 1280 {
			t.Errorf("row %d is laid out at %+v", i, r)
		}
		if r.Y+r.Height < 800 && !inked(t, shot, r) {
			t.Errorf("row %d at %+v is blank on the screenshot", i, r)
		}
	}

	// A row opens and shows what was said; the search leaves what fits.
	look(ctx, t, chromedp.MouseClickXY(rows[0].X+rows[0].Width/2, rows[0].Y+rows[0].Height/2))
	if open := look(ctx, t, chromedp.Evaluate[int](`document.querySelectorAll("details.call[open] pre").length`)); open < 1 {
		t.Error("a click on a row opens nothing")
	}
	look(ctx, t, chromedp.MouseClickXY(300, rows[0].Y-40)) // the search stands above the rows
	look(ctx, t, chromedp.KeyEvent("bought milk"))
	shown := slices.DeleteFunc(look(ctx, t, chromedp.Evaluate[[]row](rowsScript)), func(r row) bool { return r.Height == 0 })
	if len(shown) == 0 || len(shown) == len(rows) {
		t.Errorf("the search shows %d of %d rows, want some", len(shown), len(rows))
	}

	if title := look(ctx, t, chromedp.Title()); strings.Contains(title, "owned") {
		t.Error("a prompt ran as a script on the page")
	}
	time.Sleep(200 * time.Millisecond) // for requests that should not come
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(sent, []string{page}) || len(problems) > 0 {
		t.Errorf("the page sent %q with problems %q, want nothing but itself", sent, problems)
	}
	if got := len(n.up.Requests()); got != asked {
		t.Errorf("the page made %d requests to the upstream", got-asked)
	}
}

// inked reports whether something is drawn in a row: more than one colour.
func inked(t *testing.T, shot []byte, r row) bool {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string]bool{}
	for y := int(r.Y) + 2; y < int(r.Y+r.Height)-2; y++ {
		for x := int(r.X) + 8; x < int(r.X)+300; x++ {
			red, green, blue, _ := img.At(x, y).RGBA()
			colours[fmt.Sprint(red, green, blue)] = true
		}
	}
	return len(colours) > 4 // text with smooth edges
}
