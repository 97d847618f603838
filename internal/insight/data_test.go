package insight_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/store/memory"
)

// states finds what an answer states of tokens, without knowing its protocol.
var states = regexp.MustCompile(`"(prompt_tokens|completion_tokens|input_tokens|output_tokens|promptTokenCount|candidatesTokenCount|inputTokens|outputTokens|prompt_eval_count|eval_count|prompt_token_count|generation_token_count|inputTextTokenCount|inputTokenCount|total_input_tokens)"\s*:\s*\d`)

// totals finds the total that most answers state besides.
var totals = regexp.MustCompile(`"(?:total_tokens|totalTokenCount|totalTokens)"\s*:\s*(\d+)`)

// wanted is the share of the answers that state tokens in which they must be
// found, in percent.
const wanted = 95

// TestTokensOfRealAnswersAreFound reads real recordings as a user would: they
// are imported, and the timeline of the run says the tokens of its calls.
func TestTokensOfRealAnswersAreFound(t *testing.T) {
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	folders, err := filepath.Glob(filepath.Join(root, "llm_*"))
	if err != nil || len(folders) == 0 {
		t.Skip("REPRISE_DATA has no folder llm_*")
	}
	var stated, found, models, asked, totalled, equal int
	var lost []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".httprr"}, filepath.Ext(path)) {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			store := memory.New(nil)
			cfg := drive.Config{Store: store, Now: time.Now, Rand: rand.Reader, Holder: "test"}
			res, err := importer.Import(t.Context(), cfg, bytes.NewReader(b), filepath.Base(path), importer.Options{})
			if err != nil {
				return nil //nolint:nilerr // what is no recording is counted elsewhere
			}
			prices, err := insight.Prices(nil)
			if err != nil {
				return err
			}
			r := drive.NewReader(store, res.Run)
			for c, err := range insight.Calls(t.Context(), store, res.Run, prices) {
				if err != nil {
					return err
				}
				if c.Kind != capture.KindModel || c.Outcome < 0 || c.HTTP >= 300 || strings.Contains(c.Name, "count") {
					continue
				}
				asked++
				if c.Model != "" {
					models++
				}
				text := plain(t, r, c.Outcome)
				if !states.Match(text) {
					continue
				}
				if all := totals.FindAllSubmatch(text, -1); all != nil && c.Usage != nil {
					totalled++
					sum, err := c.Usage.Total()
					if err == nil && strconv.FormatInt(sum, 10) == string(all[len(all)-1][1]) {
						equal++
					} else {
						lost = append(lost, fmt.Sprintf("%s entry %d %s: %+v is not %s in all", strings.TrimPrefix(path, root), c.Outcome, c.Name, *c.Usage, all[len(all)-1][1]))
					}
				}
				stated++
				if c.Usage != nil {
					found++
				} else {
					lost = append(lost, fmt.Sprintf("%s entry %d %s (%s)", strings.TrimPrefix(path, root), c.Outcome, c.Name, c.Protocol))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("tokens found in %d of %d answers that state them; a model in %d of %d", found, stated, models, asked)
	for _, l := range lost {
		t.Log("not found: ", l)
	}
	t.Logf("%d of %d stated totals are the sum of what was found", equal, totalled)
	if equal*100 < totalled*wanted {
		t.Errorf("%d of %d stated totals are the sum of what was found, want %d percent", equal, totalled, wanted)
	}
	if stated == 0 || found*100 < stated*wanted {
		t.Errorf("tokens are found in %d of %d answers, want %d percent", found, stated, wanted)
	}
	if models*100 < asked*wanted {
		t.Errorf("a model is found in %d of %d calls, want %d percent", models, asked, wanted)
	}
}

// plain returns an answer so that what it states can be searched for.
func plain(t *testing.T, r *drive.Reader, n int64) []byte {
	t.Helper()
	d, err := insight.Load(context.Background(), r, n)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for i := range d.Parts {
		out = append(out, d.Parts[i].Plain...)
		for e := range protocol.EventStream(d.Parts[i].Plain) {
			for _, m := range regexp.MustCompile(`"bytes":"([^"]*)"`).FindAllSubmatch(e.Payload, -1) {
				b, _ := base64.StdEncoding.DecodeString(string(m[1]))
				out = append(out, b...)
			}
		}
	}
	return out
}
