package reprisetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/reprisetest"
)

// summarise is what is tested: it asks a model.
func summarise(client *http.Client, base, text string) (string, error) {
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, "In three words: "+text)
	resp, err := client.Post(base+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the model answered %s", resp.Status)
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

// shelf plays the model when the recording is made.
type shelf struct{}

func (shelf) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: -1,
		Body:          io.NopCloser(strings.NewReader(`{"choices":[{"message":{"role":"assistant","content":"parcel came late"}}]}`)),
	}, nil
}

// A recording stands beside the test that uses it. It is made by
// REPRISE_RECORD=1 go test.
func TestSummarise(t *testing.T) {
	rec := reprisetest.Replay(t, "testdata/summary.reprise", &reprisetest.Options{Transport: shelf{}, Unsigned: true})
	got, err := summarise(rec.Client(), "https://model.example/v1", "the parcel that should have come on Monday came on Friday")
	if want := "parcel came late"; err != nil || got != want {
		t.Errorf("summarise = %q, %v, want %q", got, err, want)
	}
}

func ExampleReplay() {
	var t *testing.T // that of the test
	rec := reprisetest.Replay(t, "testdata/summary.reprise", nil)
	text, err := summarise(rec.Client(), "https://model.example/v1", "the parcel came late")
	fmt.Println(text, err)
}
