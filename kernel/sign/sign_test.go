package sign_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

func key(name string) *sign.PrivateKey {
	seed := sha256.Sum256([]byte("sign_test " + name))
	k, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		panic(err)
	}
	return k
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSignaturesOfWycheproof(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/wycheproof_ed25519.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID                  int
		Flag, Key, Msg, Sig string
		Valid               bool
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 80 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		k, err := sign.ParseKey(unhex(t, c.Key))
		if err != nil {
			t.Errorf("case %d: the key is refused: %v", c.ID, err)
			continue
		}
		if got := k.Verify(unhex(t, c.Msg), unhex(t, c.Sig)); got != c.Valid {
			t.Errorf("case %d (%s): Verify = %v, want %v", c.ID, c.Flag, got, c.Valid)
		}
	}
}

// Under such a key one signature fits many messages.
func TestKeysOfSmallOrderAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	} {
		if _, err := sign.ParseKey(unhex(t, s)); !errors.Is(err, sign.ErrKey) || !strings.Contains(err.Error(), "small order") {
			t.Errorf("ParseKey(%s) = %v, want %v: small order", s, err, sign.ErrKey)
		}
	}
}

func TestKeysInAnotherSpellingAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		// x = 0 with the sign bit set
		"0100000000000000000000000000000000000000000000000000000000000080",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		// y not reduced
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"f1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", // of large order
		// no point of the curve
		"0200000000000000000000000000000000000000000000000000000000000000",
	} {
		if _, err := sign.ParseKey(unhex(t, s)); !errors.Is(err, sign.ErrKey) {
			t.Errorf("ParseKey(%s) = %v, want %v", s, err, sign.ErrKey)
		}
	}
}

// The edge cases of CCTV: keys of small or mixed order and in other spellings.
// Of those that are taken, the signatures that verify are counted, so that
// another rule of verification is noticed.
func TestEdgeCasesOfCCTV(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/cctv_ed25519.txt")
	if err != nil {
		t.Fatal(err)
	}
	var keys []sign.PublicKey
	cases, accepted := 0, 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if f[0] == "key" {
			k, err := sign.ParseKey(unhex(t, f[1]))
			if (err == nil) != (f[2] == "taken") {
				t.Errorf("ParseKey(%s) = %v, want it %s", f[1], err, f[2])
			}
			keys = append(keys, k)
			continue
		}
		n, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatal(err)
		}
		cases++
		if keys[n].Verify([]byte(strings.ReplaceAll(f[4], "_", " ")), unhex(t, f[3])) {
			accepted++
		}
	}
	if len(keys) != 22 || cases != 388 || accepted != 86 {
		t.Errorf("of %d cases under %d keys %d signatures verify, want 86 of 388 under 22", cases, len(keys), accepted)
	}
}

func TestAKeyHasOneFormAndOneID(t *testing.T) {
	t.Parallel()
	k := key("a").Public()
	again, err := sign.ParseSPKI(k.SPKI())
	if err != nil || again != k {
		t.Errorf("ParseSPKI(SPKI()) = %v, %v", again, err)
	}
	if want := canon.Digest(sha256.Sum256(k.SPKI())); k.ID() != want {
		t.Errorf("ID() = %s, want %s", k.ID(), want)
	}
	for _, bad := range [][]byte{nil, k.Raw(), append(k.SPKI(), 0), k.SPKI()[1:], append([]byte{0x31}, k.SPKI()[1:]...)} {
		if _, err := sign.ParseSPKI(bad); !errors.Is(err, sign.ErrKey) {
			t.Errorf("ParseSPKI(%x) = %v, want %v", bad, err, sign.ErrKey)
		}
	}
	for _, size := range []int{0, 31, 33, 64} {
		if _, err := sign.ParseKey(make([]byte, size)); !errors.Is(err, sign.ErrKey) {
			t.Errorf("ParseKey of %d bytes = %v", size, err)
		}
		if _, err := sign.NewPrivateKey(make([]byte, size)); !errors.Is(err, sign.ErrKey) {
			t.Errorf("NewPrivateKey of %d bytes = %v", size, err)
		}
	}
}

func TestTheZeroKeyVerifiesNothing(t *testing.T) {
	t.Parallel()
	var zero sign.PublicKey
	if zero.Verify(nil, make([]byte, 64)) || !zero.IsZero() || key("a").Public().IsZero() {
		t.Error("the zero key counts as a key")
	}
}

func TestAMACIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	k := bytes.Repeat([]byte{7}, 32)
	tag, err := sign.MAC(k, []byte("ab"), []byte("c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sign.CheckMAC(k, tag[:], []byte("abc")); err != nil {
		t.Errorf("CheckMAC = %v", err)
	}
	for _, bad := range [][]byte{nil, {}, tag[:16], append(bytes.Clone(tag[:]), 0), make([]byte, 32)} {
		if err := sign.CheckMAC(k, bad, []byte("abc")); !errors.Is(err, sign.ErrMAC) {
			t.Errorf("CheckMAC of %x = %v, want %v", bad, err, sign.ErrMAC)
		}
	}
	if _, err := sign.MAC(k[:15], []byte("abc")); !errors.Is(err, sign.ErrKey) {
		t.Errorf("MAC under a short key = %v", err)
	}
}

const typ = "application/vnd.test+json"

func sealed(t testing.TB, k *sign.PrivateKey, typ string, payload []byte) sign.Envelope {
	t.Helper()
	e, err := sign.Seal(k, typ, payload)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The published vector of DSSE fixes what is signed.
func TestWhatIsSignedIsThatOfDSSE(t *testing.T) {
	t.Parallel()
	k := key("a")
	e := sealed(t, k, "http://example.com/HelloWorld", []byte("hello world"))
	if !k.Public().Verify([]byte("DSSEv1 29 http://example.com/HelloWorld 11 hello world"), e.Sig) {
		t.Error("another text was signed")
	}
}

func TestAnEnvelopeHasOneSpelling(t *testing.T) {
	t.Parallel()
	good := sealed(t, key("a"), typ, []byte(`{"a":1}`))
	text := string(good.Encode())
	if e, err := sign.ParseEnvelope([]byte(text)); err != nil || e.Check(key("a").Public(), typ) != nil {
		t.Fatalf("ParseEnvelope = %v", err)
	}
	payload := base64.StdEncoding.EncodeToString(good.Payload)
	for _, c := range []struct{ name, text string }{
		{"nothing", ""},
		{"no object", "[]"},
		{"white space", " " + text},
		{"a member more", strings.Replace(text, `{"payload"`, `{"a":1,"payload"`, 1)},
		{"members in another order", strings.Replace(text, `"payload":"`+payload+`","payloadType":"`+typ+`"`, `"payloadType":"`+typ+`","payload":"`+payload+`"`, 1)},
		{"two signatures", strings.Replace(text, `}]}`, `},{"keyid":"","sig":""}]}`, 1)},
		{"no signature", text[:strings.Index(text, `[`)] + `[]}`},
		{"key id in capitals", strings.Replace(text, good.KeyID.String(), strings.ToUpper(good.KeyID.String()), 1)},
		{"base64 without padding", strings.Replace(text, `==","payloadType`, `","payloadType`, 1)},
		{"base64 with loose bits", strings.Replace(text, payload, strings.Replace(payload, "Q==", "R==", 1), 1)},
		{"base64 with a line break", strings.Replace(text, payload, payload[:4]+`\n`+payload[4:], 1)},
		{"an escape", strings.Replace(text, "application", `\u0061pplication`, 1)},
		{"too large", `{"payload":"` + strings.Repeat("A", sign.MaxEnvelope) + `"`},
	} {
		if _, err := sign.ParseEnvelope([]byte(c.text)); !errors.Is(err, sign.ErrEnvelope) {
			t.Errorf("%s: ParseEnvelope = %v, want %v", c.name, err, sign.ErrEnvelope)
		}
	}
}

func TestAnEnvelopeHoldsForItsKeyTypeAndPayload(t *testing.T) {
	t.Parallel()
	k := key("a")
	good := sealed(t, k, typ, []byte(`{"a":1}`))
	for _, c := range []struct {
		name string
		edit func(e *sign.Envelope)
		code fault.Code
	}{
		{"another payload", func(e *sign.Envelope) { e.Payload = []byte(`{"a":2}`) }, sign.ErrSignature},
		{"another type", func(e *sign.Envelope) { e.Type = "text/plain" }, sign.ErrEnvelope},
		{"another key id", func(e *sign.Envelope) { e.KeyID[0] ^= 1 }, sign.ErrSignature},
		{"a stripped signature", func(e *sign.Envelope) { e.Sig = nil }, sign.ErrSignature},
		{"a short signature", func(e *sign.Envelope) { e.Sig = e.Sig[:63] }, sign.ErrSignature},
		{"a flipped bit", func(e *sign.Envelope) { e.Sig = append([]byte{e.Sig[0] ^ 1}, e.Sig[1:]...) }, sign.ErrSignature},
		{"signed by another", func(e *sign.Envelope) { *e = sealed(t, key("b"), typ, e.Payload) }, sign.ErrSignature},
		{"signed by another, key id forged", func(e *sign.Envelope) { id := e.KeyID; *e = sealed(t, key("b"), typ, e.Payload); e.KeyID = id }, sign.ErrSignature},
	} {
		e := good
		c.edit(&e)
		if err := e.Check(k.Public(), typ); fault.CodeOf(err) != c.code {
			t.Errorf("%s: Check = %v, want %v", c.name, err, c.code)
		}
	}
}

func TestEveryFlippedBitOfAnEnvelopeIsRefused(t *testing.T) {
	t.Parallel()
	k := key("a")
	e := sealed(t, k, typ, []byte(`{"count":3}`))
	raw := e.Encode()
	for at := range raw {
		for bit := range 8 {
			raw[at] ^= 1 << bit
			if got, err := sign.ParseEnvelope(raw); err == nil && got.Check(k.Public(), typ) == nil {
				t.Errorf("byte %d, bit %d: accepted", at, bit)
			}
			raw[at] ^= 1 << bit
		}
	}
}

func FuzzWhatParsesAsAnEnvelopeIsItsOwnEncoding(f *testing.F) {
	e := sign.Envelope{Type: typ, Payload: []byte("{}"), Sig: []byte("sig")}
	f.Add(e.Encode())
	f.Add([]byte(`{"payload":"","payloadType":"","signatures":[{"keyid":"","sig":""}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := sign.ParseEnvelope(b); err == nil && !bytes.Equal(e.Encode(), b) {
			t.Errorf("%q became %q", b, e.Encode())
		}
	})
}

func TestEnvelopesOfAnyPayloadComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := sign.Envelope{
			Type: rapid.String().Draw(t, "type"), Payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
			KeyID: canon.SHA256(nil), Sig: rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "sig"),
		}
		got, err := sign.ParseEnvelope(e.Encode())
		if err != nil || got.Type != e.Type || !bytes.Equal(got.Payload, e.Payload) || !bytes.Equal(got.Sig, e.Sig) {
			t.Fatalf("ParseEnvelope(Encode(%+v)) = %+v, %v", e, got, err)
		}
	})
}
