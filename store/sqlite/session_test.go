package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// session makes the traffic of an agent that sends its whole history with
// every call, from a seed.
type session struct {
	rng      *rand.Rand
	words    []string
	history  []string // messages, as JSON
	tools    string
	turn     int
	unique   int // bytes of messages and responses
	requests int // bytes of requests and responses
}

func newSession(seed uint64) *session {
	s := &session{rng: rand.New(rand.NewPCG(seed, 7))}
	for range 2500 {
		s.words = append(s.words, s.word())
	}
	var tools []string
	for i := range 20 {
		var props []string
		for range 3 + s.rng.IntN(4) {
			props = append(props, fmt.Sprintf(`%q:{"type":"string","description":%q}`, s.pick(), s.prose(12)))
		}
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d_%s","description":%q,"parameters":{"type":"object","properties":{%s},"required":[]}}}`, i, s.pick(), s.prose(30), strings.Join(props, ",")))
	}
	s.tools = strings.Join(tools, ",")
	s.history = append(s.history, message("system", s.prose(300)))
	return s
}

// word draws a word; pick draws one of the vocabulary, few of them often.
func (s *session) word() string {
	const vowels, consonants = "aeiou", "bcdfghklmnprstvw"
	var b strings.Builder
	for range 1 + s.rng.IntN(4) {
		b.WriteByte(consonants[s.rng.IntN(len(consonants))])
		b.WriteByte(vowels[s.rng.IntN(len(vowels))])
		if s.rng.IntN(3) == 0 {
			b.WriteByte(consonants[s.rng.IntN(len(consonants))])
		}
	}
	return b.String()
}

func (s *session) pick() string {
	f := s.rng.Float64()
	return s.words[int(f*f*f*float64(len(s.words)))]
}

func (s *session) prose(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.pick())
		if s.rng.IntN(11) == 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func (s *session) code(lines int) string {
	var b strings.Builder
	for i := range lines {
		switch s.rng.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "\tif err := %s.%s(ctx, %s); err != nil {\n\t\treturn err\n\t}\n", s.pick(), s.pick(), s.pick())
		case 1:
			fmt.Fprintf(&b, "\t%s := %s[%d]\n", s.pick(), s.pick(), s.rng.IntN(1000))
		case 2:
			fmt.Fprintf(&b, "\t// %s\n", s.prose(6))
		default:
			fmt.Fprintf(&b, "func %s%d(%s int) %s {\n", s.pick(), i, s.pick(), s.pick())
		}
	}
	return b.String()
}

func (s *session) table(rows int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%016x","name":%q,"path":"src/%s/%s.go","line":%d,"text":%q}`, s.rng.Uint64(), s.pick(), s.pick(), s.pick(), s.rng.IntN(3000), s.prose(5))
	}
	return b.String() + "]"
}

func message(role, content string) string {
	return fmt.Sprintf(`{"role":%q,"content":%q}`, role, content)
}

// next makes the request and the response of one turn.
func (s *session) next() (request, response []byte) {
	s.turn++
	add := func(m string) {
		s.history = append(s.history, m)
		s.unique += len(m)
	}
	// The parts of a turn vary in size; together they are some 6 KB.
	add(message("user", s.prose(60+s.rng.IntN(60))))
	add(message("tool", s.table(8+s.rng.IntN(10))))
	add(message("tool", s.code(20+s.rng.IntN(45))))
	request = fmt.Appendf(nil, `{"model":"model-1","temperature":0,"messages":[%s],"tools":[%s]}`, strings.Join(s.history, ","), s.tools)
	answer := fmt.Sprintf(`{"role":"assistant","content":%q,"tool_calls":[{"id":"call_%016x","type":"function","function":{"name":"tool_1","arguments":%q}}]}`, s.prose(120), s.rng.Uint64(), s.code(10))
	response = fmt.Appendf(nil, `{"id":"chatcmpl-%016x","object":"chat.completion","created":%d,"model":"model-1","choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, s.rng.Uint64(), 1700000000+s.turn*17, answer, len(request)/4, len(answer)/4)
	add(answer)
	s.requests += len(request) + len(response)
	return request, response
}

// recorder appends calls and outcomes with their attachments, as a recording
// proxy does.
type recorder struct {
	t     *testing.T
	s     *sqlite.Store
	w     *ledgertest.Writer
	scope blob.Scope
	seen  map[canon.Digest]bool
	rng   *rand.Rand
	parts []blob.Part
}

func newRecorder(t *testing.T, s *sqlite.Store) *recorder {
	t.Helper()
	r := &recorder{t: t, s: s, w: ledgertest.NewWriter(t, s), seen: map[canon.Digest]bool{}, rng: rand.New(rand.NewPCG(1, 2))}
	r.scope = blob.Scope{ID: string(r.w.Lease.Run), Key: r.salt()}
	if _, err := s.Scope(t.Context(), r.scope.ID, &r.scope); err != nil {
		t.Fatal(err)
	}
	r.w.Append(t, s, "open")
	return r
}

func (r *recorder) salt() (s canon.Salt) {
	for i := range s {
		s[i] = byte(r.rng.Uint32())
	}
	return s
}

func (r *recorder) append(kind ledger.Kind, body canon.Value, bytes []byte) {
	r.t.Helper()
	var chunks []blob.Chunk
	bw := blob.NewWriter(r.scope, r.salt(), true, func(c blob.Chunk) error {
		if !r.seen[c.ID] {
			r.seen[c.ID] = true
			c.Bytes = append([]byte(nil), c.Bytes...)
			chunks = append(chunks, c)
		}
		return nil
	})
	for p := bytes; len(p) > 0; {
		n := min(len(p), 32<<10)
		if _, err := bw.Write(p[:n]); err != nil {
			r.t.Fatal(err)
		}
		p = p[n:]
	}
	part, bind, err := bw.Close()
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := ledger.Prepare(ledger.Draft{
		Run: r.w.Lease.Run, Kind: kind, Body: body, Scope: r.scope.ID, Salt: r.salt(), T: fmt.Sprintf("2026-11-21T10:00:00.%06dZ", r.w.At.Count),
		Att:   []ledger.Attachment{{Name: "bytes", Type: "application/json", Size: part.Size, Bind: bind}},
		Parts: []blob.Part{part},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	e, _ := r.w.At.Next(r.w.Lease.Run, p)
	b := &ledger.Batch{Lease: r.w.Lease, At: r.w.At, Entries: []ledger.Entry{e}, Chunks: chunks}
	if err := r.s.Append(r.t.Context(), b); err != nil {
		r.t.Fatal(err)
	}
	r.w.Done(b)
	r.parts = append(r.parts, part)
}

func (r *recorder) turn(request, response []byte) {
	r.t.Helper()
	str := canon.String
	header := func(name, value string) canon.Value { return canon.Array(str(name), str(value)) }
	r.append(ledger.KindCall, canon.Object(
		canon.M("class", str("read")), canon.M("kind", str("model")), canon.M("name", str("chat")), canon.M("match", str(canon.SHA256(request).String())),
		canon.M("data", canon.Object(canon.M("method", str("POST")), canon.M("url", str("https://api.example.com/v1/chat/completions")), canon.M("headers", canon.Array(
			header("content-type", "application/json"), header("user-agent", "agent/1.0"), header("authorization", "{redacted:authorization}")))))), request)
	r.append(ledger.KindOutcome, canon.Object(
		canon.M("status", str("ok")),
		canon.M("data", canon.Object(canon.M("code", canon.Int(200)), canon.M("headers", canon.Array(
			header("content-type", "application/json"), header("x-request-id", fmt.Sprintf("req_%016x", r.rng.Uint64())))))),
		canon.M("refs", canon.Object(canon.M("call", canon.Int(r.w.At.Count-1))))), response)
}

// stored returns how many bytes the files of a folder have.
func stored(t *testing.T, dir string) (sum int64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// recordSession records that many turns, closes the store, checks that every
// byte of one turn in so many can be rebuilt and returns what is on the disk.
func recordSession(t *testing.T, turns, check int) (size int64, made *session) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	r := newRecorder(t, s)
	made = newSession(42)
	for range turns {
		r.turn(made.next())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	size = stored(t, dir)
	s = open(t, dir)
	again := newSession(42)
	get := func(id canon.Digest) ([]byte, error) { return s.Get(t.Context(), r.scope.ID, id) }
	for e, err := range s.Read(t.Context(), r.w.Lease.Run, 1) {
		if err != nil {
			t.Fatal(err)
		}
		h, err := ledger.ParseHeader(e.Header)
		if err != nil {
			t.Fatal(err)
		}
		if h.Kind != ledger.KindCall {
			continue
		}
		request, response := again.next()
		if (turns-again.turn)%check != 0 {
			continue
		}
		for i, want := range [][]byte{request, response} {
			var got bytes.Buffer
			part := r.parts[h.N-1+int64(i)]
			if i == 0 {
				part = e.Parts[0]
			}
			if err := blob.Rebuild(part, get, &got); err != nil {
				t.Fatalf("entry %d: Rebuild = %v", h.N, err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Fatalf("entry %d: rebuilt bytes differ", h.N)
			}
		}
	}
	return size, made
}

func TestRepeatedHistoryIsStoredOnce(t *testing.T) {
	t.Parallel()
	size100, made := recordSession(t, 100, 1)
	t.Logf("100 turns: %d bytes raw, %d unique, %d stored", made.requests, made.unique, size100)
	if size100 > 1_000_000 {
		t.Errorf("100 turns take %d bytes, want at most 1,000,000", size100)
	}
	if testing.Short() {
		return
	}
	size400, _ := recordSession(t, 400, 50)
	t.Logf("400 turns: %d bytes stored, %.2f times as much", size400, float64(size400)/float64(size100))
	if float64(size400) > 4.5*float64(size100) {
		t.Errorf("400 turns take %d bytes, %.2f times those of 100; want at most 4.5", size400, float64(size400)/float64(size100))
	}
}
