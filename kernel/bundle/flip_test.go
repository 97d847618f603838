package bundle_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// The types of records, as the format numbers them.
const (
	tFormat = iota + 1
	tRun
	tManifest
	tChunk
	tHeader
	tBody
	tWithheld
	tAttachment
	tWithheldAttachment
	tHead
	tEnd
)

const magicSize, frameSize = 16, 9

// record is one record of a bundle, and the entry to which it belongs.
type record struct {
	typ      byte
	at, size int // of its bytes, behind the frame
	entry    int64
}

// recordsOf takes a bundle apart, by a reading of the format of its own.
func recordsOf(raw []byte) []record {
	var out []record
	entry := int64(-1)
	for at := magicSize; at < len(raw); {
		r := record{typ: raw[at], at: at + frameSize, size: int(binary.BigEndian.Uint64(raw[at+1:]))}
		switch r.typ {
		case tRun:
			entry = -1
		case tHeader:
			entry++
		}
		if r.entry = entry; r.typ == tChunk {
			r.entry++
		}
		out = append(out, r)
		at = r.at + r.size
	}
	return out
}

// resum makes the digest at the end right again, as who holds the file can.
func resum(raw []byte) {
	sum := canon.SHA256(raw[:len(raw)-frameSize-32])
	copy(raw[len(raw)-32:], sum[:])
}

// eachByte calls f for every byte of raw, on all cores, with a copy that f may
// change and must put back.
func eachByte(raw []byte, f func(raw []byte, at int)) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			mine := bytes.Clone(raw)
			for at := w; at < len(raw); at += workers {
				f(mine, at)
			}
		})
	}
	wg.Wait()
}

// verifyAny verifies what may be no bundle any more, as archive.VerifyBundle
// does: with the keys of its own manifests under the root that is trusted.
func verifyAny(raw []byte) (*ledger.Verification, fault.Code) {
	b, err := bundle.Parse(raw)
	if err != nil {
		return nil, fault.CodeOf(err)
	}
	run := bundletest.RunID("a")
	ev := b.Evidence(run)
	var broken error
	if m := b.Manifests(run); len(m) == 1 && bytes.Equal(m[0], sampleManifest) {
		ev.Keys = sampleKeys // spares most of the signatures
	} else if ev.Keys, broken = sign.NewKeyring([]sign.PublicKey{bundletest.Key("root").Public()}, b.Manifests(run)); fault.CodeOf(broken) == fault.Code(sign.ErrUntrusted) {
		broken = nil
	}
	v, err := ledger.Verify(context.Background(), ev)
	if err != nil {
		return nil, fault.CodeOf(err)
	}
	if broken != nil {
		v.Fail(ledger.PhaseSignatures, ledger.Finding{Code: fault.CodeOf(broken), N: -1, Where: "key manifests"})
	}
	if f := v.First(); f != nil {
		return v, f.Code
	}
	return v, nil
}

var (
	sampleKeys     = bundletest.Keyring()
	sampleManifest = bundletest.Manifests()[0]
)

func TestEveryFlippedBitOfABundleIsFound(t *testing.T) {
	t.Parallel()
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"))
	eachByte(raw, func(bad []byte, at int) {
		for bit := range 8 {
			bad[at] ^= 1 << bit
			b, err := bundle.Parse(bad)
			if err == nil && b.Damage() == nil {
				t.Errorf("byte %d, bit %d: the file is taken for whole", at, bit)
			}
			bad[at] ^= 1 << bit
		}
	})
}

// places says which codes a flip in the bytes of a record of a type may give.
var places = map[byte][]fault.Code{
	tFormat:     {bundle.ErrMalformed, bundle.ErrVersion},
	tRun:        {bundle.ErrMalformed},
	tManifest:   {sign.ErrManifest, sign.ErrEnvelope, sign.ErrKey},
	tChunk:      {ledger.ErrBindMismatch},
	tHeader:     {ledger.ErrIDMismatch, ledger.ErrHeader},
	tBody:       {ledger.ErrBindMismatch},
	tAttachment: {ledger.ErrBindMismatch, bundle.ErrMalformed, bundle.ErrTruncated},
	tHead:       {sign.ErrEnvelope, ledger.ErrHead, ledger.ErrHeadMismatch, ledger.ErrHeadSignature},
	tEnd:        {bundle.ErrDigest},
}

// A sample of the bits is looked at, and all of them if REPRISE_EXHAUSTIVE is
// set, as make check does.
func TestAFlippedBitIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	every := os.Getenv("REPRISE_EXHAUSTIVE") != ""
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"))
	recs := recordsOf(raw)
	for _, mended := range []bool{false, true} {
		t.Run(fmt.Sprintf("digest mended %v", mended), func(t *testing.T) {
			t.Parallel()
			eachByte(raw, func(bad []byte, at int) {
				if mended && at >= len(raw)-32 {
					return // a digest that is mended is not flipped any more
				}
				bits := []int{at % 8}
				switch {
				case every:
					bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
				case mended && at%3 != 0, !mended && at%11 != 0:
					return
				}
				for _, bit := range bits {
					flipped(t, bad, raw, at, bit, mended, recs)
				}
			})
		})
	}
}

// flipped flips one bit, verifies, and demands the right place and code.
func flipped(t *testing.T, bad, raw []byte, at, bit int, mended bool, recs []record) {
	t.Helper()
	defer copy(bad, raw)
	bad[at] ^= 1 << bit
	if mended {
		resum(bad)
	}
	v, code := verifyAny(bad)
	switch {
	case code == nil:
		t.Errorf("byte %d, bit %d: accepted", at, bit)
		return
	case at < magicSize:
		return
	case v == nil:
		if code != fault.Code(bundle.ErrVersion) {
			t.Errorf("byte %d, bit %d: %s", at, bit, code)
		}
		return
	case v.Level != ledger.LevelChain:
		t.Errorf("byte %d, bit %d: level %s", at, bit, v.Level)
	}
	i := slices.IndexFunc(recs, func(r record) bool { return at < r.at+r.size })
	wantPlace(t, at, recs[i], v.First())
}

func wantPlace(t *testing.T, at int, r record, f *ledger.Finding) {
	t.Helper()
	if at < r.at { // in its frame: the records from here on cannot be told apart
		// A record with another length may still be one; then its bytes are
		// wrong. An attachment that becomes a head is missed where it was; an
		// end that becomes a head is none.
		moved := r.typ == tAttachment && f.Code == fault.Code(ledger.ErrBadContent) ||
			r.typ == tEnd && f.Code == fault.Code(sign.ErrEnvelope) || slices.Contains(places[r.typ], f.Code)
		if !moved && f.Code != fault.Code(bundle.ErrMalformed) && f.Code != fault.Code(bundle.ErrTruncated) {
			t.Errorf("byte %d, frame of a record of type %d: %s", at, r.typ, f.Code)
		}
		if r.typ > tManifest && r.typ < tEnd && f.N != r.entry && f.N != r.entry+1 {
			t.Errorf("byte %d, frame of a record of type %d in entry %d: found in entry %d", at, r.typ, r.entry, f.N)
		}
		return
	}
	// A manifest belongs to no entry, so the digest of the file goes first.
	if !slices.Contains(places[r.typ], f.Code) && (r.typ != tManifest || f.Code != fault.Code(bundle.ErrDigest)) {
		t.Errorf("byte %d, in a record of type %d: %s (%s)", at, r.typ, f.Code, f.Msg)
	}
	if r.typ > tManifest && r.typ < tEnd && f.N != r.entry {
		t.Errorf("byte %d, in a record of type %d of entry %d: %s found in entry %d", at, r.typ, r.entry, f.Code, f.N)
	}
}

// Every record that is dropped, doubled, swapped with the next or put
// elsewhere is found by the order of records alone, or by what it carries.
func TestEveryMovedRecordIsFound(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	raw := bundletest.Bundle(bundle.Options{}, l)
	other := bundletest.Bundle(bundle.Options{}, bundletest.Sample("b"))
	recs, theirs := recordsOf(raw), recordsOf(other)
	frame := func(from []byte, r record) []byte { return from[r.at-frameSize : r.at+r.size] }
	build := func(parts ...[]byte) []byte {
		out := bytes.Join(parts, nil)
		resum(out)
		return out
	}
	for i, r := range recs[:len(recs)-1] {
		start, end := r.at-frameSize, r.at+r.size
		next := recs[i+1]
		nextEnd := next.at + next.size
		for _, c := range []struct {
			name string
			raw  []byte
		}{
			{"dropped", build(raw[:start], raw[end:])},
			{"doubled", build(raw[:end], raw[start:])},
			{"swapped", build(raw[:start], raw[end:nextEnd], raw[start:end], raw[nextEnd:])},
			{"from another run", build(raw[:start], frame(other, theirs[i]), raw[end:])},
			{"cut behind", build(raw[:end], raw[len(raw)-frameSize-32:])},
		} {
			if c.name == "swapped" && next.typ == tEnd {
				continue
			}
			v, code := verifyAny(c.raw)
			whole := v != nil && code == nil && v.Level > ledger.LevelChain && v.Unsigned == 0 && v.Withheld == 0 && v.Sealed
			switch {
			case c.name == "from another run" && bytes.Equal(c.raw, raw): // the manifests are the same
			case c.name == "cut behind" && i == len(recs)-2: // nothing was cut
			case c.name == "dropped" && r.typ == tHead && i < len(recs)-2:
				// A head in the middle says nothing that a later one does not.
				if !whole {
					t.Errorf("without the head of record %d: %v", i, code)
				}
			case c.name == "doubled" && r.typ == tHead:
				// Said twice, the same.
				if !whole {
					t.Errorf("with the head of record %d twice: %v", i, code)
				}
			case whole:
				t.Errorf("record %d of type %d %s: accepted", i, r.typ, c.name)
			}
			if c.name == "cut behind" && r.typ == tHead && i < len(recs)-2 {
				if code != nil || v.Sealed || v.Level != ledger.LevelSigned {
					t.Errorf("cut behind the head of record %d: %v, level %s", i, code, v.Level)
				}
			}
		}
	}
}
