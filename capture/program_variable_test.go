package capture

import (
	"slices"
	"testing"
)

// goose asks a host under /v1 and a base as it is, so that one without a
// version must not come to it as a host.
func TestGooseIsGivenNoHostForABaseWithoutAVersion(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{"http://gw/v1": true, "http://gw/v1/": true, "http://gw/api": false, "http://gw": false} {
		o := RunOptions{Command: []string{"goose", "run"}, Env: []string{"HOME=" + t.TempDir(), "OPENAI_BASE_URL=" + base}, Dir: t.TempDir()}
		r, _, err := o.planRedirect()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.upstreams, func(u Upstream) bool { return u.Name == "openai" })
		if got := slices.ContainsFunc(r.upstreams[i].Vars, func(v Variable) bool { return v.Name == "OPENAI_HOST" }); got != want {
			t.Errorf("OPENAI_BASE_URL=%s: OPENAI_HOST set = %v, want %v", base, got, want)
		}
	}
}
