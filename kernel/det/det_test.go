package det_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/det"
)

func read(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

type primitives struct {
	RNG struct {
		Vectors []struct {
			Seed  det.Seed `json:"job_seed"`
			Label string
			N     uint64
			U64   string
			Float string
			Intn  uint64 `json:"intn_10"`
		}
	}
	Jitter struct {
		Vectors []struct {
			RunID   string `json:"run_id"`
			Attempt int
			Base    int64   `json:"base_ms"`
			Factor  float64 `json:"multiplier"`
			Max     int64   `json:"jitter_max_ms"`
			Delay   int64   `json:"delay_ms"`
			Without int64   `json:"delay_without_jitter_ms"`
		}
	} `json:"seed_jitter"`
	Retry struct {
		Vectors []struct {
			Seed  det.Seed `json:"job_seed"`
			Retry bool
		}
	} `json:"mace_retry_bit"`
}

// spec: M-11
func TestDrawsFollowTheirVectors(t *testing.T) {
	t.Parallel()
	var p primitives
	read(t, "primitives.json", &p)
	if len(p.RNG.Vectors) != 12 || len(p.Retry.Vectors) != 6 {
		t.Fatal("vectors are missing")
	}
	for _, v := range p.RNG.Vectors {
		s := v.Seed.Stream(v.Label)
		s.Seek(v.N)
		if got := s.Uint64(); strconv.FormatUint(got, 10) != v.U64 {
			t.Errorf("draw %d of %s/%s = %d, want %s", v.N, v.Seed, v.Label, got, v.U64)
		}
		if s.Position() != v.N+1 {
			t.Errorf("position after draw %d = %d", v.N, s.Position())
		}
		s.Seek(v.N)
		if got := s.Intn(10); got != v.Intn {
			t.Errorf("Intn(10) at %d of %s/%s = %d, want %d", v.N, v.Seed, v.Label, got, v.Intn)
		}
		s.Seek(v.N)
		f, _ := new(big.Rat).SetFrac64(int64(s.Frac53()), 1<<53).Float64()
		if got := strconv.FormatFloat(f, 'g', -1, 64); got != v.Float {
			t.Errorf("Frac53 at %d of %s/%s = %s, want %s", v.N, v.Seed, v.Label, got, v.Float)
		}
		d := v.Seed.Draw(v.Label, v.N)
		if err := v.Seed.Verify(d); err != nil {
			t.Error(err)
		}
		d.Value++
		if err := v.Seed.Verify(d); !errors.Is(err, det.ErrDraw) {
			t.Errorf("Verify of a changed draw = %v", err)
		}
	}
	for _, v := range p.Retry.Vectors {
		if got := v.Seed.RetryBit(); got != v.Retry {
			t.Errorf("RetryBit(%s) = %t, want %t", v.Seed, got, v.Retry)
		}
	}
}

func TestStreamsDoNotShiftEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := det.Seed(rapid.String().Draw(t, "seed"))
		a, b := seed.Stream("a"), seed.Stream("b")
		alone := seed.Stream("a")
		for range rapid.IntRange(0, 20).Draw(t, "draws") {
			if rapid.Bool().Draw(t, "other") {
				b.Uint64()
			}
			if got, want := a.Uint64(), alone.Uint64(); got != want {
				t.Fatalf("draw of a = %d, want %d", got, want)
			}
		}
	})
}

func TestIntnStaysBelowItsBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Uint64Range(1, 1<<63+1).Draw(t, "k")
		if got := det.Seed("s").Stream("l").Intn(k); got >= k {
			t.Fatalf("Intn(%d) = %d", k, got)
		}
	})
	// With half of all draws refused, some are passed over, and counted.
	s := det.Seed("s").Stream("l")
	for range 64 {
		s.Intn(1<<63 + 1)
	}
	if s.Position() <= 64 {
		t.Errorf("64 numbers below 2^63+1 took %d draws", s.Position())
	}
}

func TestShuffleKeepsEveryThing(t *testing.T) {
	t.Parallel()
	things := []int{0, 1, 2, 3, 4, 5, 6, 7}
	det.Seed("s").Stream("l").Shuffle(len(things), func(i, j int) { things[i], things[j] = things[j], things[i] })
	sum := 0
	for _, x := range things {
		sum |= 1 << x
	}
	if sum != 255 {
		t.Errorf("after Shuffle: %v", things)
	}
}

// spec: M-41, M-42, M-43, M-44
func TestIDsFollowTheirVectors(t *testing.T) {
	t.Parallel()
	var v struct {
		Deterministic []struct {
			Seed               det.Seed
			Namespace, Payload string
			Counter            uint64
			ID                 string
		} `json:"deterministic_id"`
		Spec []struct{ Kind, Rule, Input, Hex string } `json:"spec_ids"`
	}
	read(t, "ids.json", &v)
	for _, d := range v.Deterministic {
		if got := d.Seed.ID(d.Namespace, d.Payload, strconv.FormatUint(d.Counter, 10)); got != d.ID {
			t.Errorf("%s.ID(%s, %s, %d) = %s, want %s", d.Seed, d.Namespace, d.Payload, d.Counter, got, d.ID)
		}
	}
	n := 0
	for _, s := range v.Spec {
		if !strings.HasPrefix(s.Rule, "sha256(") {
			continue
		}
		n++
		if got := det.ID(strings.Split(s.Input, ":")...); got != s.Hex {
			t.Errorf("%s: ID(%s) = %s, want %s", s.Kind, s.Input, got, s.Hex)
		}
	}
	if n < 7 || len(v.Deterministic) < 6 {
		t.Errorf("%d and %d vectors", n, len(v.Deterministic))
	}
}

func TestSeededInstantsFollowTheirVectors(t *testing.T) {
	t.Parallel()
	var v struct {
		Timestamps []struct {
			Seed      det.Seed
			Counter   uint64
			Timestamp string
		} `json:"deterministic_timestamp"`
	}
	read(t, "ids.json", &v)
	if len(v.Timestamps) < 20 {
		t.Fatal("vectors are missing")
	}
	for _, ts := range v.Timestamps {
		want, err := det.ParseInstant(ts.Timestamp)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ts.Seed.Instant(det.Epoch, ts.Counter); err != nil || got != want {
			t.Errorf("%q.Instant(%d) = %s, %v, want %s", ts.Seed, ts.Counter, got, err, want)
		}
	}
}

func TestInstantRefusesWhatItCannotHold(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "2025-01-01", "2025-01-01T00:00:00", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2262-06-01T00:00:00Z"} {
		if got, err := det.ParseInstant(s); !errors.Is(err, det.ErrInstant) {
			t.Errorf("ParseInstant(%q) = %v, %v", s, got, err)
		}
	}
	i, err := det.ParseInstant("2025-01-01T01:00:00.5+01:00")
	if err != nil || i.String() != "2025-01-01T00:00:00.5Z" {
		t.Errorf("ParseInstant = %s, %v", i, err)
	}
	if _, err := det.Instant(1<<63 - 1).Add(time.Nanosecond); !errors.Is(err, det.ErrInstant) {
		t.Errorf("Add beyond the last instant = %v", err)
	}
	if _, err := det.Instant(1<<63 - 1).Sub(-2); !errors.Is(err, det.ErrInstant) {
		t.Errorf("Sub beyond 64 bits = %v", err)
	}
	if d, err := i.Sub(det.Epoch); err != nil || d != 500*time.Millisecond {
		t.Errorf("Sub = %v, %v", d, err)
	}
}

// spec
func TestBackoffFollowsItsVectors(t *testing.T) {
	t.Parallel()
	var p primitives
	read(t, "primitives.json", &p)
	if len(p.Jitter.Vectors) != 8 {
		t.Fatal("vectors are missing")
	}
	for _, v := range p.Jitter.Vectors {
		b := det.Backoff{BaseMS: v.Base, Multiplier: strconv.FormatFloat(v.Factor, 'f', 1, 64), JitterEnabled: true, JitterMaxMS: v.Max}
		if got, err := b.Delay(v.RunID, v.Attempt); err != nil || got != v.Delay {
			t.Errorf("Delay(%s, %d) = %d, %v, want %d", v.RunID, v.Attempt, got, err, v.Delay)
		}
		b.JitterEnabled = false
		if got, err := b.Delay(v.RunID, v.Attempt); err != nil || got != v.Without {
			t.Errorf("Delay(%s, %d) without jitter = %d, %v, want %d", v.RunID, v.Attempt, got, err, v.Without)
		}
	}
}

// The document rounds the sum of base and jitter, not each of them: 337.5 and
// 0.5 are 338.
//
// spec: A-126
func TestBackoffRoundsTheSumOnce(t *testing.T) {
	t.Parallel()
	b := det.Backoff{BaseMS: 100, Multiplier: "1.5", JitterEnabled: true, JitterMaxMS: 50}
	for run := range 10_000 {
		id := "run-" + strconv.Itoa(run)
		hundred := b
		hundred.BaseMS, hundred.JitterMaxMS = 0, 100
		if bucket, err := hundred.Delay(id, 3); err != nil || bucket != 1 {
			continue
		}
		if got, err := b.Delay(id, 3); err != nil || got != 338 {
			t.Errorf("Delay = %d, %v, want 338", got, err)
		}
		return
	}
	t.Fatal("no run id with bucket 1 at attempt 3")
}

func TestDelaysOfAOSFollowTheirVectors(t *testing.T) {
	t.Parallel()
	var v struct {
		Utils []struct {
			RunID   string `json:"run_id"`
			Attempt int
			Delay   int64 `json:"utils_backoff_ms"`
		}
		Contract []struct {
			Seed    string
			Attempt int
			Delay   int64 `json:"delay_ms"`
		} `json:"error_contract"`
	}
	read(t, "backoff.json", &v)
	if len(v.Utils) != 24 || len(v.Contract) != 16 {
		t.Fatal("vectors are missing")
	}
	for _, u := range v.Utils {
		if got, err := det.DelayUtils(u.RunID, u.Attempt); err != nil || got != u.Delay {
			t.Errorf("DelayUtils(%s, %d) = %d, %v, want %d", u.RunID, u.Attempt, got, err, u.Delay)
		}
	}
	for _, c := range v.Contract {
		if got, err := det.DelayContract(c.Seed, c.Attempt); err != nil || got != c.Delay {
			t.Errorf("DelayContract(%s, %d) = %d, %v, want %d", c.Seed, c.Attempt, got, err, c.Delay)
		}
	}
}

func TestBackoffRefusesWhatItCannotCompute(t *testing.T) {
	t.Parallel()
	good := det.Backoff{BaseMS: 100, Multiplier: "2"}
	for _, c := range []struct {
		name    string
		change  func(*det.Backoff)
		attempt int
	}{
		{"negative base", func(b *det.Backoff) { b.BaseMS = -1 }, 0},
		{"negative jitter", func(b *det.Backoff) { b.JitterMaxMS = -1 }, 0},
		{"no multiplier", func(b *det.Backoff) { b.Multiplier = "" }, 0},
		{"exponent", func(b *det.Backoff) { b.Multiplier = "1e9" }, 0},
		{"fraction", func(b *det.Backoff) { b.Multiplier = "1/3" }, 0},
		{"long multiplier", func(b *det.Backoff) { b.Multiplier = strings.Repeat("9", 33) }, 0},
		{"negative attempt", func(*det.Backoff) {}, -1},
		{"too many attempts", func(*det.Backoff) {}, 1001},
		{"delay beyond 64 bits", func(*det.Backoff) {}, 60},
	} {
		b := good
		c.change(&b)
		if got, err := b.Delay("r", c.attempt); !errors.Is(err, det.ErrBackoff) {
			t.Errorf("%s: Delay = %d, %v", c.name, got, err)
		}
	}
	if got, err := good.Schedule("r", 4); err != nil || len(got) != 4 || got[3] != 800 {
		t.Errorf("Schedule = %v, %v", got, err)
	}
}
