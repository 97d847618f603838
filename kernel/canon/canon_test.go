package canon_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func ExampleEncode() {
	v := canon.Object(
		canon.M("tool", canon.String("read_file")),
		canon.M("limit", canon.Int(20)),
		canon.M("cursor", canon.Value{}), // absent: left out
	)
	b, err := canon.Encode(v, canon.Native)
	fmt.Println(string(b), err)
	fmt.Println(canon.Check(b, canon.Native))
	// Output:
	// {"limit":20,"tool":"read_file"} <nil>
	// <nil>
}

func ExampleDiff() {
	a, _ := canon.Parse([]byte(`{"model":"m","messages":["hello","bye"]}`))
	b, _ := canon.Parse([]byte(`{"model":"m","messages":["hello","well","bye"],"seed":7}`))
	for _, d := range canon.Diff(a, b, 10) {
		fmt.Println(d.Pointer, d.A, d.B)
	}
	// Output:
	// /messages/1 absent "well"
	// /seed absent 7
}

// What is no I-JSON is refused by code, whichever way it is read.
func TestRefusals(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, in string
		want     fault.Code
	}{
		{"empty", "", canon.ErrSyntax},
		{"byte order mark", "\uFEFF{}", canon.ErrSyntax},
		{"trailing data", "{} {}", canon.ErrSyntax},
		{"trailing comma", "[1,]", canon.ErrSyntax},
		{"comment", "[1/**/]", canon.ErrSyntax},
		{"single quotes", "'a'", canon.ErrSyntax},
		{"NaN", "NaN", canon.ErrSyntax},
		{"infinity", "-Infinity", canon.ErrSyntax},
		{"leading zero", "01", canon.ErrSyntax},
		{"leading plus", "+1", canon.ErrSyntax},
		{"bare point", "1.", canon.ErrSyntax},
		{"bare exponent", "1e+", canon.ErrSyntax},
		{"hexadecimal", "0x1", canon.ErrSyntax},
		{"overflow", "1e400", canon.ErrNumber},
		{"overflow below", "-1e400", canon.ErrNumber},
		{"overflow of digits", "[1" + strings.Repeat("0", 400) + "]", canon.ErrNumber},
		{"duplicate name", `{"a":1,"b":2,"a":3}`, canon.ErrDuplicateName},
		{"duplicate name, escaped", `{"a":1,"\u0061":2}`, canon.ErrDuplicateName},
		{"duplicate name, deep", `[{"x":{"é":1,"\u00e9":1}}]`, canon.ErrDuplicateName},
		{"duplicate name, pair", `{"😀":1,"\ud83d\ude00":2}`, canon.ErrDuplicateName},
		{"high surrogate", `"\ud800"`, canon.ErrSyntax},
		{"low surrogate", `"\udc00"`, canon.ErrSyntax},
		{"surrogates reversed", `"\udc00\ud800"`, canon.ErrSyntax},
		{"surrogate and letter", `"\ud800a"`, canon.ErrSyntax},
		{"surrogate in a name", `{"\ud800":1}`, canon.ErrSyntax},
		{"invalid UTF-8", "\"\xff\"", canon.ErrSyntax},
		{"overlong UTF-8", "\"\xc0\xaf\"", canon.ErrSyntax},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", canon.ErrSyntax},
		{"cut UTF-8", "\"\xe2\x82\"", canon.ErrSyntax},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", canon.ErrSyntax},
		{"control in a string", "\"a\nb\"", canon.ErrSyntax},
		{"unknown escape", `"\x41"`, canon.ErrSyntax},
		{"cut escape", `"\u00`, canon.ErrSyntax},
		{"unterminated string", `"abc`, canon.ErrSyntax},
		{"unterminated long string", `"abcdefghijklmnopqrstuvwxyz`, canon.ErrSyntax},
		{"too deep", deep(canon.MaxDepth + 1), canon.ErrDepth},
		{"too deep objects", strings.Repeat(`{"a":`, canon.MaxDepth+1) + "1" + strings.Repeat("}", canon.MaxDepth+1), canon.ErrDepth},
	} {
		if _, err := canon.Parse([]byte(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: Parse = %v, want %s", c.name, err, c.want)
		}
		if _, err := canon.Canonicalize([]byte(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: Canonicalize = %v, want %s", c.name, err, c.want)
		}
		for _, p := range canon.Profiles() {
			if err := canon.Check([]byte(c.in), p); !errors.Is(err, c.want) {
				t.Errorf("%s: Check(%s) = %v, want %s", c.name, p, err, c.want)
			}
		}
	}
	if _, err := canon.Parse([]byte(deep(canon.MaxDepth))); err != nil {
		t.Errorf("nesting of exactly %d: %v", canon.MaxDepth, err)
	}
}

// The forms that a checker must tell from canonical bytes although they denote
// the same value.
func TestCheckRefusesOtherForms(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		" 1", "1 ", "[1, 2]", `{"a": 1}`, `{"a":1 }`, `{ "a":1}`, "[ ]", "{ }", "[1]\n",
		`{"b":1,"a":2}`, `{"aa":1,"a":2}`, `{"😀":1,"` + "\U0001F5FF" + `":1}`, `{"\uFB33":1,"😀":2}`, "{\"\uFB33\":1,\"😀\":2}",
		`{"\"":1,"!":2}`, `{"a":1,"\t":2}`, `{"\n":1,"\b":2}`, `{"\\":1,"A":2}`,
		`"\u0061"`, `"\/"`, `"\u000A"`, `"\u000a"`, `"\u0008"`, `"\u001F"`, `"\u0020"`, `"\u007f"`, `"\u00e9"`, `"\ud83d\ude00"`,
		"-0", "1.0", "1e2", "1E2", "0.10", "1e+2", "-0.0", "1e-400", "10e-1", "0.0000001", "1.5e0", "333333333.33333329", "9007199254740993.5",
	} {
		for _, p := range []canon.Profile{canon.Native, canon.JCS, canon.Foreign} {
			if err := canon.Check([]byte(in), p); !errors.Is(err, canon.ErrNotCanonical) {
				t.Errorf("Check(%s, %s) = %v, want %s", in, p, err, canon.ErrNotCanonical)
			}
		}
	}
}

func TestWhichNumbersAProfileHolds(t *testing.T) {
	t.Parallel()
	const no = ""
	for _, c := range []struct{ token, native, jcs, foreign string }{
		{"0", "0", "0", "0"},
		{"-1", "-1", "-1", "-1"},
		{"9007199254740991", "9007199254740991", "9007199254740991", "9007199254740991"},
		{"-9007199254740991", "-9007199254740991", "-9007199254740991", "-9007199254740991"},
		{"9007199254740992", no, "9007199254740992", "9007199254740992"},
		{"9007199254740993", no, no, "9007199254740993"},
		{"18446744073709551615", no, no, "18446744073709551615"},
		{"100000000000000000000", no, "100000000000000000000", "100000000000000000000"},
		{"1000000000000000000000", no, "1e+21", "1000000000000000000000"},
		{"-0", no, "0", "0"},
		{"1.0", no, "1", "1"},
		{"1e2", no, "100", "100"},
		{"0.1", no, "0.1", "0.1"},
		{"1e-400", no, "0", "0"},
		{"333333333.33333329", no, "333333333.3333333", "333333333.3333333"},
		{"1E30", no, "1e+30", "1e+30"},
	} {
		v, err := canon.Number(c.token)
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range map[canon.Profile]string{canon.Native: c.native, canon.JCS: c.jcs, canon.Foreign: c.foreign} {
			got, err := canon.Encode(v, p)
			if string(got) != want || (want == no) != errors.Is(err, canon.ErrNumber) {
				t.Errorf("Encode(%s, %s) = %s, %v, want %s", c.token, p, got, err, want)
			}
			if want == no {
				continue
			}
			if err := canon.Check(got, p); err != nil {
				t.Errorf("Check(%s, %s) = %v", got, p, err)
			}
		}
	}
}

func TestEncodeRefusesWhatHasNoForm(t *testing.T) {
	t.Parallel()
	deep := canon.Null()
	for range canon.MaxDepth + 1 {
		deep = canon.Array(deep)
	}
	for _, c := range []struct {
		name string
		v    canon.Value
		p    canon.Profile
		want fault.Code
	}{
		{"absent", canon.Value{}, canon.Native, canon.ErrProfile},
		{"unknown profile", canon.Null(), "native", canon.ErrProfile},
		{"duplicate name", canon.Object(canon.M("a", canon.Int(1)), canon.M("a", canon.Int(1))), canon.Native, canon.ErrDuplicateName},
		{"invalid UTF-8", canon.String("\xff"), canon.Native, canon.ErrSyntax},
		{"invalid UTF-8 name", canon.Object(canon.M("\xff", canon.Int(1))), canon.JCS, canon.ErrSyntax},
		{"too deep", deep, canon.Native, canon.ErrDepth},
		{"double in Thymos", number("1.0"), canon.Thymos, canon.ErrNumber},
		{"beyond 64 bits in Thymos", number("18446744073709551616"), canon.Thymos, canon.ErrNumber},
		{"negative zero in Thymos", number("-0"), canon.Thymos, canon.ErrNumber},
	} {
		dst := []byte("kept")
		got, err := canon.Append(dst, c.v, c.p)
		if !errors.Is(err, c.want) || string(got) != "kept" {
			t.Errorf("%s: Append = %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	if err := canon.Check([]byte("1"), "native"); !errors.Is(err, canon.ErrProfile) {
		t.Errorf("Check in an unknown profile = %v", err)
	}
}

func number(token string) canon.Value {
	v, err := canon.Number(token)
	if err != nil {
		panic(err)
	}
	return v
}

func TestNumberRefusesOtherTokens(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]fault.Code{
		"": canon.ErrSyntax, "-": canon.ErrSyntax, "1 ": canon.ErrSyntax, "01": canon.ErrSyntax, "1e": canon.ErrSyntax,
		"NaN": canon.ErrSyntax, "1_0": canon.ErrSyntax, "1e400": canon.ErrNumber, strings.Repeat("9", 400): canon.ErrNumber,
	} {
		if got, err := canon.Number(token); !errors.Is(err, want) {
			t.Errorf("Number(%q) = %v, %v, want %s", token, got, err, want)
		}
	}
}

func TestValueAnswersByItsKind(t *testing.T) {
	t.Parallel()
	v := canon.Object(
		canon.M("z", canon.String("text")),
		canon.M("gone", canon.Value{}),
		canon.M("list", canon.Array(canon.Int(1), canon.Value{}, canon.Bool(true))),
		canon.M("big", number("18446744073709551615")),
	)
	if got, want := v.String(), `{"z":"text","list":[1,null,true],"big":18446744073709551615}`; got != want {
		t.Errorf("String = %s, want %s", got, want)
	}
	if v.Len() != 3 || v.Has("gone") || !v.Has("z") || v.Get("z").Str() != "text" || v.Get("list").Str() != "" {
		t.Error("members are not found")
	}
	if n, ok := v.Get("list").At(0).AsInt(); n != 1 || !ok {
		t.Errorf("AsInt = %d, %t", n, ok)
	}
	if _, ok := v.Get("big").AsInt(); ok {
		t.Error("AsInt of more than 64 bits")
	}
	if token, ok := v.Get("big").Token(); token != "18446744073709551615" || !ok {
		t.Errorf("Token = %s, %t", token, ok)
	}
	if b, ok := v.Get("list").At(2).AsBool(); !b || !ok {
		t.Error("AsBool of true")
	}
	if _, ok := v.AsBool(); ok {
		t.Error("AsBool of an object")
	}
	if !v.Get("list").At(3).IsZero() || !v.Get("list").At(-1).IsZero() || !v.At(0).IsZero() || !v.Get("list").Get("z").IsZero() {
		t.Error("what is not there is not absent")
	}
	if (canon.Value{}).Kind() != canon.Absent || canon.Null().IsZero() || !canon.Null().IsNull() {
		t.Error("null and absent are confused")
	}
}

func TestWithAndWithoutLeaveTheValueAlone(t *testing.T) {
	t.Parallel()
	v := canon.Object(canon.M("b", canon.Int(1)), canon.M("a", canon.Int(2)))
	for _, c := range []struct {
		got  canon.Value
		want string
	}{
		{v.With("b", canon.Int(3)), `{"b":3,"a":2}`},
		{v.With("c", canon.Null()), `{"b":1,"a":2,"c":null}`},
		{v.With("b", canon.Value{}), `{"a":2}`},
		{v.Without("a", "x"), `{"b":1}`},
		{v.Without(), `{"b":1,"a":2}`},
		{canon.Value{}.With("a", canon.Int(1)), `{"a":1}`},
		{v, `{"b":1,"a":2}`},
	} {
		if c.got.String() != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestEqualIsCanonicalEquality(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`1`, `1.0`, true},
		{`100`, `1e2`, true},
		{`-0`, `0`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740993`, true},
		{`"\u0061"`, `"a"`, true},
		{`[1,2]`, `[2,1]`, false},
		{`null`, `false`, false},
		{`{"a":null}`, `{}`, false},
		{`"1"`, `1`, false},
	} {
		if got := parse(t, c.a).Equal(parse(t, c.b)); got != c.want {
			t.Errorf("Equal(%s, %s) = %t", c.a, c.b, got)
		}
	}
	if (canon.Value{}).Equal(canon.Null()) || !(canon.Value{}).Equal(canon.Value{}) {
		t.Error("absent equals absent and nothing else")
	}
}

func parse(t testing.TB, s string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(s))
	if err != nil {
		t.Fatalf("Parse(%s): %v", s, err)
	}
	return v
}

// The examples of RFC 6901, section 5.
func TestPointer(t *testing.T) {
	t.Parallel()
	v := parse(t, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`)
	for ptr, want := range map[string]string{
		"": v.String(), "/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3",
		"/g|h": "4", `/i\j`: "5", `/k"l`: "6", "/ ": "7", "/m~0n": "8",
	} {
		if got, ok := v.Pointer(ptr); !ok || got.String() != want {
			t.Errorf("Pointer(%s) = %s, %t, want %s", ptr, got, ok, want)
		}
		if err := canon.CheckPointer(ptr); err != nil {
			t.Errorf("CheckPointer(%s) = %v", ptr, err)
		}
	}
	for _, ptr := range []string{"/foo/2", "/foo/-", "/foo/00", "/foo/-1", "/foo/ 1", "/x", "/foo/0/x", "/foo/99999999999999999999"} {
		if got, ok := v.Pointer(ptr); ok {
			t.Errorf("Pointer(%s) = %s", ptr, got)
		}
	}
	for _, ptr := range []string{"foo", "/m~", "/m~2n"} {
		if _, ok := v.Pointer(ptr); ok || !errors.Is(canon.CheckPointer(ptr), canon.ErrPointer) {
			t.Errorf("%s is taken for a pointer", ptr)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, a, b, want string }{
		{"equal", `{"a":[1,{"b":1.0}]}`, `{"a":[1.0,{"b":1}]}`, ``},
		{"root", `1`, `"1"`, ` 1 "1"`},
		{"kind", `{"a":{}}`, `{"a":[]}`, `/a {} []`},
		{"null is not absent", `{"a":null}`, `{}`, `/a null absent`},
		{"by name", `{"b":1,"a":1,"c":1}`, `{"c":2,"a":2,"d":2}`, `/a 1 2; /b 1 absent; /c 1 2; /d absent 2`},
		{"element changed", `[1,2,3]`, `[1,9,3]`, `/1 2 9`},
		{"element inserted", `[1,2,3]`, `[1,9,2,3]`, `/1 absent 9`},
		{"element removed", `[1,2,3]`, `[1,3]`, `/1 2 absent`},
		{"first removed", `[1,2,3]`, `[2,3]`, `/0 1 absent`},
		{"appended", `[1]`, `[1,2,3]`, `/1 absent 2; /2 absent 3`},
		{"repeated", `[1,1]`, `[1,1,1]`, `/2 absent 1`},
		{"inside an element", `[{"x":1},{"y":1}]`, `[{"x":1},{"y":2}]`, `/1/y 1 2`},
		{"escaped names", `{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, `/a~1b/~0 1 2`},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if got := join(canon.Diff(a, b, 0)); got != c.want {
			t.Errorf("%s: Diff = %q, want %q", c.name, got, c.want)
		}
	}
	if got := canon.Diff(parse(t, `[1,2,3,4]`), parse(t, `[5,6,7,8]`), 2); len(got) != 2 {
		t.Errorf("Diff with a limit of 2 = %s", join(got))
	}
}

func join(ds []canon.Difference) string {
	var lines []string
	for _, d := range ds {
		lines = append(lines, fmt.Sprint(d.Pointer, " ", d.A, " ", d.B))
	}
	return strings.Join(lines, "; ")
}

// value draws any value of limited depth.
func value(depth int) *rapid.Generator[canon.Value] {
	text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\\n\u0001\u007fé\uE000\uFB33\uFFFD😀𐀀")), 0, 6, -1))
	token := rapid.SampledFrom([]string{"0", "-0", "1.0", "-1e3", "1e-7", "9007199254740993", "0.1", "5e-324", "1e300", "123456789012345678901234567890"})
	leaf := rapid.OneOf(
		rapid.Just(canon.Null()),
		rapid.Map(rapid.Bool(), canon.Bool),
		rapid.Map(rapid.Int64(), canon.Int),
		rapid.Map(token, number),
		rapid.Map(text, canon.String),
	)
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[canon.Value] { return value(depth - 1) })
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 5), func(vs []canon.Value) canon.Value { return canon.Array(vs...) }),
		rapid.Custom(func(t *rapid.T) canon.Value {
			var members []canon.Member
			for _, name := range rapid.SliceOfNDistinct(text, 0, 12, rapid.ID[string]).Draw(t, "names") {
				members = append(members, canon.M(name, inner.Draw(t, "value")))
			}
			return canon.Object(members...)
		}))
}

func TestCanonicalBytesAreAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "v")
		for _, p := range canon.Profiles() {
			b, err := canon.Encode(v, p)
			if err != nil {
				if !errors.Is(err, canon.ErrNumber) {
					t.Fatalf("Encode(%s): %v", p, err)
				}
				continue
			}
			back, err := canon.Parse(b)
			if err != nil {
				t.Fatalf("Parse(%s): %v", b, err)
			}
			again, err := canon.Encode(back, p)
			if err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%s: %s became %s, %v", p, b, again, err)
			}
			if err := canon.Check(b, p); err != nil {
				t.Fatalf("Check(%s): %v", b, err)
			}
		}
		// The plain text, with its members in any order, leads to the same.
		want, err := canon.Encode(v, canon.Foreign)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := canon.Canonicalize([]byte(v.String())); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("Canonicalize(%s) = %s, %v, want %s", v, got, err, want)
		}
		if !v.Equal(shuffled(v)) {
			t.Fatalf("%s does not equal itself in another order", v)
		}
		if d := canon.Diff(v, shuffled(v), 0); len(d) != 0 {
			t.Fatalf("Diff with itself: %s", join(d))
		}
	})
}

// A difference is reported exactly where values differ, and says what is there.
func TestDiffPointsAtWhatDiffers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := value(2).Draw(t, "a"), value(2).Draw(t, "b")
		ds := canon.Diff(a, b, 0)
		if (len(ds) == 0) != a.Equal(b) {
			t.Fatalf("%d differences, Equal is %t", len(ds), a.Equal(b))
		}
		if back := canon.Diff(b, a, 0); len(back) != len(ds) {
			t.Fatalf("%d differences one way, %d the other", len(ds), len(back))
		}
		for _, d := range ds {
			x, okX := a.Pointer(d.Pointer)
			y, okY := b.Pointer(d.Pointer)
			if !d.A.IsZero() && (!okX || !x.Equal(d.A)) || !d.B.IsZero() && (!okY || !y.Equal(d.B)) {
				t.Fatalf("at %s: %s and %s, reported %s and %s", d.Pointer, x, y, d.A, d.B)
			}
		}
	})
}

// Objects within objects, each out of order, must not cost the square of
// their size.
func TestCanonicalizeIsLinearInDepth(t *testing.T) {
	t.Parallel()
	const depth = canon.MaxDepth
	in := strings.Repeat(`{"b":`, depth) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat(`,"a":1}`, depth)
	want, err := canon.Encode(parse(t, in), canon.Foreign)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := canon.Canonicalize([]byte(in)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Canonicalize: %d bytes, %v, want %d", len(got), err, len(want))
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	data := body(1 << 10)
	large := body(10 << 10)
	var salt canon.Salt
	binder := canon.NewBinder(&salt)
	buf := make([]byte, 0, 64)
	doubles := []byte(`[0.1,1e+21,-5e-324]`)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Check", func() { _ = canon.Check(large, canon.Native) }},
		{"Check of doubles", func() { _ = canon.Check(doubles, canon.JCS) }},
		{"Hash", func() { canon.Hash("tag\n", data) }},
		{"Hash of two parts", func() { canon.Hash("tag\n", data[:32], data[32:64]) }},
		{"Hash of much", func() { canon.Hash("tag\n", large) }},
		{"Bind", func() { canon.Bind(&salt, data) }},
		{"Bind of much", func() { canon.Bind(&salt, large) }},
		{"MAC", func() { canon.MAC(salt[:], data, data[:5]) }},
		{"Binder", func() { binder.Reset(&salt); _, _ = binder.Write(large); binder.Sum() }},
		{"AppendHex", func() { canon.AppendHex(buf, canon.Digest{}) }},
		{"AppendString", func() { canon.AppendString(buf, "a\nb") }},
	} {
		if n := testing.AllocsPerRun(20, c.f); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func TestDigestsAgreeWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 0, 150).Draw(t, "key")
		n := rapid.SampledFrom([]int{0, 1, 31, 63, 64, 65, 1000, 1983, 1984, 1985, 2047, 2048, 2049, 5000}).Draw(t, "size")
		data := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, n)
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		var salt canon.Salt
		copy(salt[:], key)
		reference := func(key []byte) canon.Digest {
			h := hmac.New(sha256.New, key)
			h.Write(data)
			return canon.Digest(h.Sum(nil))
		}
		if got, want := canon.MAC(key, data[:cut], data[cut:]), reference(key); got != want {
			t.Fatalf("MAC = %s, want %s", got, want)
		}
		if got, want := canon.Bind(&salt, data), reference(salt[:]); got != want {
			t.Fatalf("Bind = %s, want %s", got, want)
		}
		b := canon.NewBinder(&canon.Salt{1})
		_, _ = b.Write([]byte("other"))
		b.Reset(&salt)
		_, _ = b.Write(data[:cut])
		b.Sum() // changes nothing
		_, _ = b.Write(data[cut:])
		if got, want := b.Sum(), reference(salt[:]); got != want {
			t.Fatalf("Binder = %s, want %s", got, want)
		}
		if got, want := canon.Hash("tag\n", data[:cut], data[cut:]), canon.SHA256(append([]byte("tag\n"), data...)); got != want {
			t.Fatalf("Hash = %s, want %s", got, want)
		}
	})
}

func TestDigestHasOneSpelling(t *testing.T) {
	t.Parallel()
	d := canon.SHA256([]byte("x"))
	text, err := d.MarshalText()
	if err != nil || string(text) != d.String() {
		t.Fatalf("MarshalText = %s, %v", text, err)
	}
	var back canon.Digest
	if err := back.UnmarshalText(text); err != nil || back != d {
		t.Errorf("UnmarshalText = %s, %v", back, err)
	}
	if d.IsZero() || !(canon.Digest{}).IsZero() {
		t.Error("IsZero")
	}
	for _, s := range []string{"", d.String()[1:], d.String() + "0", strings.ToUpper(d.String()), strings.Repeat("g", 64)} {
		if got, err := canon.ParseDigest(s); !errors.Is(err, canon.ErrDigest) {
			t.Errorf("ParseDigest(%q) = %s, %v", s, got, err)
		}
	}
}

func TestNormalisationKD(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "é": "e\u0301", "ﬁ": "fi", "①": "1", "한": "\u1112\u1161\u11ab", "가": "\u1100\u1161",
		"a\u0315\u0300": "a\u0300\u0315", "ẛ̣": "s\u0323\u0307", "Å": "A\u030a", "½": "1\u20442", "😀": "😀", "\u0344": "\u0308\u0301",
	} {
		got, err := canon.Encode(canon.String(in), canon.MACECode)
		if err != nil || string(got) != `"`+want+`"` {
			t.Errorf("Encode(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestValuesCompareInTests(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(parse(t, `{"a":1,"b":2}`), parse(t, `{"b":2,"a":1}`)); d != "" {
		t.Errorf("cmp.Diff of equal values: %s", d)
	}
}
