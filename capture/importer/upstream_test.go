package importer

import (
	"net/url"
	"testing"

	"github.com/reprise-dev/reprise/capture"
)

// The name of an upstream is part of every match key: a client that is pointed
// at the same place has to come under the same name.
func TestUpstreamNames(t *testing.T) {
	t.Parallel()
	given := []capture.Upstream{{Name: "mine", URL: &url.URL{Scheme: "https", Host: "models.example.com"}}}
	us := newUpstreams(given)
	for _, tt := range []struct{ address, want string }{
		{"https://api.openai.com/v1/x", "openai"},
		{"https://api.openai.com/v2/y", "openai"},
		{"http://api.openai.com/v1/x", "api.openai.com"},
		{"https://models.example.com/x", "mine"},
		{"https://api.mistral.ai/v1/x", "mistral"},
		{"https://one.openai.azure.com/x", "azure"},
		{"https://two.openai.azure.com/x", "azure-2"},
		{"https://bedrock-runtime.us-east-1.amazonaws.com/x", "bedrock"},
		{"http://localhost:8787/x", "localhost-8787"},
		{"https://localhost:8787/x", "localhost-8787-2"},
		{"http://[::1]:80/x", "---1--80"},
	} {
		u, err := url.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := us.name(u); got != tt.want {
			t.Errorf("name(%s) = %s, want %s", tt.address, got, tt.want)
		}
	}
	if len(us.list) != 10 {
		t.Errorf("%d upstreams, want 10", len(us.list))
	}
}
